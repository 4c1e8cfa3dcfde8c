/* y[r, :] = softmax of x[r, :]; a group a row. Each thread keeps a running maximum and the sum of
   exponentials under it (Milakov and Gimelshein 2018). A row of negative infinities gives zeros; a
   NaN makes its row NaN. Defines: XT, WIDE (1 for f64). */
#define T CT(XT)
KERNEL(softmax_row, WG)(IN(XT, x), OUT(XT, y), PARAMS(Rows)) {
    SHARED T maxima[WG];
    SHARED T sums[WG];
    AFTER_INPUTS();
    ulong from;
    STRIDED(from, GRP_X, p.dims, p.strides)
    from += p.offset;
    const ulong to = (ulong)GRP_X * p.cols;
    T m = -INF, s = (T)0;
    for (ulong i = TID; i < p.cols; i += WG) {
        const T v = LOAD(XT, x, from + i * p.col_stride);
        if (v > m) {
            s = s * exp(m - v) + (T)1;
            m = v;
        } else if (v != (T)-INF) {
            s += exp(v - m);
        }
    }
    maxima[TID] = m;
    sums[TID] = s;
    BARRIER();
    for (uint half_ = WG / 2; half_ > 0u; half_ >>= 1) {
        if (TID < half_) {
            const T a = maxima[TID], b = maxima[TID + half_];
            const T top = a > b ? a : b;
            /* A sum of 0 has no maximum; one that is NaN stays. */
            const T low = sums[TID] == (T)0 ? (T)0 : sums[TID] * exp(a - top);
            const T high = sums[TID + half_] == (T)0 ? (T)0 : sums[TID + half_] * exp(b - top);
            maxima[TID] = top;
            sums[TID] = low + high;
        }
        BARRIER();
    }
    const T top = maxima[0], total = sums[0];
    for (ulong i = TID; i < p.cols; i += WG) {
        const T v = LOAD(XT, x, from + i * p.col_stride);
        STORE(XT, y, to + i, total == (T)0 ? (T)0 : exp(v - top) / total);
    }
}
