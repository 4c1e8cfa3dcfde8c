/* out = W x. x is a vector (X_GLOBAL: read where it lies, too long for shared memory), or (PARTS > 0) what PARTS groups for each of HEADS heads of D features
   made of attention: values, and beside them each part's largest score and sum of weights. */
KERNEL(step_mix, WG)(IN(u8, w0), IN(f32, input), IN(f32, tops), OUT(f32, out), PARAMS(MixParams)) {
#if !X_GLOBAL
    SHARED float x[K];
#endif
#if PARTS
    SHARED float shares[HEADS * PARTS];
#endif
    SG_SCRATCH(WG)
    const uint own = OWN_ROW, row = own < p.rows ? own : p.rows - 1u;
    unit_t units[AHEAD];
    LOAD_UNITS(units, w0, p.scales0, row, 0u)
    AFTER_INPUTS();
#if PARTS
    /* All loads before the barrier. */
    float values[PER_THREAD][PARTS];
    UNROLL
    for (uint i = 0u; i < PER_THREAD; i++) {
        const uint j = TID + i * WG < K ? TID + i * WG : K - 1u;
        UNROLL
        for (uint s = 0u; s < PARTS; s++) values[i][s] = input[(j / D * PARTS + s) * D + j % D];
    }
    for (uint i = TID; i < HEADS * PARTS; i += WG) shares[i] = part_share(tops, i);
    BARRIER();
    UNROLL
    for (uint i = 0u; i < PER_THREAD; i++) {
        const uint j = TID + i * WG;
        if (j < K) {
            float sum = 0.0f;
            UNROLL
            for (uint s = 0u; s < PARTS; s++)
                sum = FMA(shares[j / D * PARTS + s], values[i][s], sum);
            x[X_PLACE(j)] = sum;
        }
    }
    BARRIER();
#elif !X_GLOBAL
    LOAD_VECTOR(values, input)
    STORE_X(values)
    BARRIER();
#else
    GLOBAL const float *x = input;
#endif
    float sum = 0.0f;
    DOT_UNITS(sum, units, x, 0u)
    for (uint from = AHEAD; from < STEPS; from += AHEAD) {
        LOAD_UNITS(units, w0, p.scales0, row, from)
        DOT_UNITS(sum, units, x, from)
    }
    SUM_OF_LANES(sum)
    if (SG_LANE % LPR == 0u && own < p.rows) out[own] = sum;
}
