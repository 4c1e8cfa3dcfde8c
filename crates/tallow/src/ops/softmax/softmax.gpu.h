/* y[r, :] = softmax of x[r, :]. A row that is not held in registers is read twice: the first time
   with a running maximum and the sum of exponentials under it (Milakov and Gimelshein 2018). A row
   of negative infinities gives zeros; a NaN makes its row NaN. Defines: those of row.gpu.h. */
/* What is subtracted where m is the greatest element. */
#define SHIFT_(m) ((m) == (T)-INF ? (T)0 : (m))
#ifdef HELD
#define WEIGHT_(value) (value)
#else
#define WEIGHT_(value) exp((value) - shift)
#endif
KERNEL(softmax_row, WG)(IN(XT, x), OUT(XT, y), PARAMS(Rows)) {
    ROW_PART(maxima)
    ROW_PART(sums)
    SG_SCRATCH(WG)
    AFTER_INPUTS();
    ROW_PLACE(p)
    T m = (T)-INF, top, s = (T)0, total;
#ifdef HELD
    ROW_READ(x, (T)-INF)
    ROW_EACH(m = v[i] > m ? v[i] : m;)
    ROW_MAX(top, m, maxima)
    const T shift = SHIFT_(top);
    ROW_EACH(v[i] = exp(v[i] - shift); s += v[i];)
#else
    ROW_FOR(x, (T)-INF,
        T most = m;
        ROW_EACH(most = v[i] > most ? v[i] : most;)
        if (most > m) s *= exp(m - most);
        m = most;
        const T under = SHIFT_(m);
        ROW_EACH(s += exp(v[i] - under);)
    )
    ROW_MAX(top, m, maxima)
    const T shift = SHIFT_(top);
    if (m != (T)-INF) s *= exp(m - top);
#endif
    ROW_SUM(total, s, sums)
    const T factor = total == (T)0 ? (T)0 : (T)1 / total;
    ROW_FOR(x, (T)-INF,
        UNROLL
        for (uint k = 0u; k < KEPT; k++) {
            PACK(XT) out;
            UNROLL
            for (uint j = 0u; j < EACH; j++)
                PACK_SET(XT, out, j, WEIGHT_(v[k * EACH + j]) * factor);
            if (live && ROW_AT(k) < cols) PACK_STORE(XT, y, to + ROW_AT(k), out)
        }
    )
}
