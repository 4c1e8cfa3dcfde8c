/* out = (W0; W1; W2) norm(h + delta) + bias: rows of up to three matrices one after the other.
   Defines: DELTA, POST, BIAS, BEST (1: the largest result of each group, with its row). */
KERNEL(step_project, WG)(IN(u8, w0), IN(u8, w1), IN(u8, w2), IN(f32, b0), IN(f32, b1), IN(f32, b2),
    IN(f32, norm), IN(f32, post), IN(f32, h), IN(f32, delta), OUT(f32, h_out), OUT(f32, out),
    OUT(f32, best), PARAMS(ProjectParams)) {
    SHARED float x[K];
    SHARED float part[WARPS];
#if BEST
    SHARED float tops[2u * WARPS];
#endif
    SG_SCRATCH(WG)
    const uint rows = p.rows0 + p.rows1 + p.rows2, own = OWN_ROW;
    /* All threads come to the sums: a row too many is computed, and not stored. */
    uint row = own < rows ? own : rows - 1u;
    GLOBAL const uchar *w = w0;
    GLOBAL const float *bias = b0;
    ulong scales_at = p.scales0;
    if (row >= p.rows0 + p.rows1) {
        row -= p.rows0 + p.rows1;
        w = w2;
        bias = b2;
        scales_at = p.scales2;
    } else if (row >= p.rows0) {
        row -= p.rows0;
        w = w1;
        bias = b1;
        scales_at = p.scales1;
    }
    unit_t units[AHEAD];
    LOAD_UNITS(units, w, scales_at, row, 0u)
    LOAD_VECTOR(norm_weights, norm)
#if POST
    LOAD_VECTOR(post_weights, post)
#endif
    AFTER_INPUTS();
    RESIDUAL_NORM(factor)
    float sum = 0.0f;
    DOT_UNITS(sum, units, x, 0u)
    for (uint from = AHEAD; from < STEPS; from += AHEAD) {
        LOAD_UNITS(units, w, scales_at, row, from)
        DOT_UNITS(sum, units, x, from)
    }
    SUM_OF_LANES(sum)
    sum *= factor;
#if BIAS
    sum += bias[row];
#endif
    if (SG_LANE % LPR == 0u && own < rows) out[p.out_at + own] = sum;
#if BEST
    /* What has no order counts as the largest, so that the host sees it. */
    float top = own < rows ? (IS_NAN(sum) ? INF : sum) : -INF, at = (float)own;
    LARGEST_OF_GROUP(top, at, LPR)
    if (TID == 0u) {
        best[GRP_X * 2u] = top;
        best[GRP_X * 2u + 1u] = at;
    }
#endif
}
