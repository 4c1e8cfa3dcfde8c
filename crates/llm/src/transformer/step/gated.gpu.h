/* out = act(W0 norm(h + delta)) * (W1 norm(h + delta)). Defines: DELTA, POST, GELU (else silu). */
KERNEL(step_gated, WG)(IN(u8, w0), IN(u8, w1), IN(f32, norm), IN(f32, post), IN(f32, h),
    IN(f32, delta), OUT(f32, h_out), OUT(f32, out), PARAMS(GatedParams)) {
    SHARED float x[K];
    SHARED float part[WARPS];
    SG_SCRATCH(WG)
    const uint own = OWN_ROW, row = own < p.rows ? own : p.rows - 1u;
    unit_t gates[AHEAD], ups[AHEAD];
    LOAD_UNITS(gates, w0, p.scales0, row, 0u)
    LOAD_UNITS(ups, w1, p.scales1, row, 0u)
    LOAD_VECTOR(norm_weights, norm)
#if POST
    LOAD_VECTOR(post_weights, post)
#endif
    AFTER_INPUTS();
    RESIDUAL_NORM(factor)
    float gate = 0.0f, up = 0.0f;
    DOT_UNITS(gate, gates, x, 0u)
    DOT_UNITS(up, ups, x, 0u)
    for (uint from = AHEAD; from < STEPS; from += AHEAD) {
        LOAD_UNITS(gates, w0, p.scales0, row, from)
        LOAD_UNITS(ups, w1, p.scales1, row, from)
        DOT_UNITS(gate, gates, x, from)
        DOT_UNITS(up, ups, x, from)
    }
    SUM_OF_LANES(gate)
    SUM_OF_LANES(up)
    gate *= factor;
    up *= factor;
#if GELU
    const float inner = 0.7978845608f * FMA(0.044715f * gate * gate, gate, gate);
    const float act = 0.5f * gate * (1.0f + tanh(inner));
#else
    const float act = gate * RECIP(1.0f + exp(-gate));
#endif
    if (SG_LANE % LPR == 0u && own < p.rows) out[own] = act * up;
}
