/* Norms over the last dimension; a group a row. Defines: XT, LAYER (1 for a layer norm). */
#define T CT(XT)
#define GROUP_TOTAL(result, value)                            \
    {                                                         \
        part[TID] = (value);                                  \
        BARRIER();                                            \
        for (uint half_ = WG / 2; half_ > 0u; half_ >>= 1) {  \
            if (TID < half_) part[TID] += part[TID + half_];  \
            BARRIER();                                        \
        }                                                     \
        result = part[0];                                     \
        BARRIER();                                            \
    }
#define X(i) LOAD(XT, x, from + (i) * p.rows.col_stride)
#if LAYER
KERNEL(layer_norm_row, WG)(IN(XT, x), IN(XT, w), IN(XT, b), OUT(XT, y), PARAMS(NormParams)) {
#else
KERNEL(rms_norm_row, WG)(IN(XT, x), IN(XT, w), OUT(XT, y), PARAMS(NormParams)) {
#endif
    SHARED T part[WG];
    AFTER_INPUTS();
    ulong from;
    STRIDED(from, GRP_X, p.rows.dims, p.rows.strides)
    from += p.rows.offset;
    const ulong cols = p.rows.cols, to = (ulong)GRP_X * cols;
    T total, mean = (T)0, sum = (T)0;
#if LAYER
    for (ulong i = TID; i < cols; i += WG) sum += X(i);
    GROUP_TOTAL(total, sum)
    mean = total / (T)cols;
    sum = (T)0;
#endif
    for (ulong i = TID; i < cols; i += WG) {
        const T v = X(i) - mean;
        sum = FMA(v, v, sum);
    }
    GROUP_TOTAL(total, sum)
    const T scale = (T)1 / sqrt(total / (T)cols + (T)p.eps);
    for (ulong i = TID; i < cols; i += WG) {
        const T w_ = LOAD(XT, w, p.weight_offset + i * p.weight_stride);
        T v = (X(i) - mean) * scale * w_;
#if LAYER
        v += LOAD(XT, b, p.bias_offset + i * p.bias_stride);
#endif
        STORE(XT, y, to + i, v);
    }
}
