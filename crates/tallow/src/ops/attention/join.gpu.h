/* The parts of a query's attention as one: each part's sums count by its own top, in units of ln 2.
   A group of threads a query of a head: a thread a part, then a thread a feature. Defines: XT
   (results). */
KERNEL(attention_join, WG)(IN(f32, sums), OUT(XT, out), PARAMS(AttentionParams)) {
    SHARED float factors[WG];
    SHARED float share[WG / 32];
    SG_SCRATCH(WG)
    AFTER_INPUTS();
    const uint pitch = p.head_dim + 2u;
    const ulong from = (ulong)GRP_X * p.parts * pitch, own = from + TID * pitch + p.head_dim;
    const float own_top = TID < p.parts ? sums[own] : -INF;
    const float own_total = TID < p.parts ? sums[own + 1u] : 0.0f;
    float top, total;
    GROUP_MAX(top, own_top, share)
    const float factor = EXP2(own_top - (top == -INF ? 0.0f : top));
    factors[TID] = factor;
    BARRIER();
    GROUP_SUM(total, own_total * factor, share)
    for (uint d = TID; d < p.head_dim; d += WG) {
        float sum = 0.0f;
        _Pragma("unroll 16")
        for (uint part = 0u; part < p.parts; part++)
            sum = FMA(sums[from + part * pitch + d], factors[part], sum);
        STORE(XT, out, (ulong)GRP_X * p.head_dim + d, total == 0.0f ? 0.0f : sum / total);
    }
}
