/* Norms over the last dimension. Defines: those of row.gpu.h, LAYER (1 for a layer norm). */
#if LAYER
#define BIAS_READ_                                                          \
    PACK(XT) bias;                                                          \
    PACK_LOAD(XT, bias, b, p.bias_offset + ROW_AT(k) * p.bias_stride)
#define BIAS_(j) + PACK_GET(XT, bias, j)
KERNEL(layer_norm_row, WG)(IN(XT, x), IN(XT, w), IN(XT, b), OUT(XT, y), PARAMS(NormParams)) {
#else
#define BIAS_READ_
#define BIAS_(j)
KERNEL(rms_norm_row, WG)(IN(XT, x), IN(XT, w), OUT(XT, y), PARAMS(NormParams)) {
#endif
    ROW_PART(squares)
#if LAYER
    ROW_PART(sums)
    ROW_PART(rests)
#endif
    SG_SCRATCH(WG)
    AFTER_INPUTS();
    ROW_PLACE(p.rows)
    T total, mean = (T)0, rest = (T)0, sum = (T)0;
    ROW_READ(x, (T)0)
#if LAYER
    /* What is away from the first has all digits where a row is nearly constant. */
    const T first = LOAD(XT, x, from);
    ROW_FOR(x, (T)0, ROW_EACH(if (ROW_HAS(i)) sum += v[i] - first;))
    ROW_SUM(total, sum, sums)
    mean = first + total / (T)cols;
    sum = (T)0;
    T away = (T)0;
#define AWAY_(apart) away += apart;
#else
#define AWAY_(apart)
#endif
    ROW_FOR(x, (T)0,
        ROW_EACH(
            if (ROW_HAS(i)) {
                const T apart = v[i] - mean;
                AWAY_(apart)
                sum = FMA(apart, apart, sum);
            }
        )
    )
    ROW_SUM(total, sum, squares)
    T variance = total / (T)cols;
#if LAYER
    /* What the mean lost when it was rounded. */
    ROW_SUM(rest, away, rests)
    rest = rest / (T)cols;
    variance -= rest * rest;
    if (variance < (T)0) variance = (T)0;
#endif
    const T scale = (T)1 / sqrt(variance + (T)p.eps);
    ROW_FOR(x, (T)0,
        UNROLL
        for (uint k = 0u; k < KEPT; k++) {
            if (live && ROW_AT(k) < cols) {
                PACK(XT) weight; PACK(XT) out;
                PACK_LOAD(XT, weight, w, p.weight_offset + ROW_AT(k) * p.weight_stride)
                BIAS_READ_
                UNROLL
                for (uint j = 0u; j < EACH; j++)
                    PACK_SET(XT, out, j,
                        (v[k * EACH + j] - mean - rest) * scale * PACK_GET(XT, weight, j) BIAS_(j));
                PACK_STORE(XT, y, to + ROW_AT(k), out)
            }
        }
    )
}
