/* The parts of a query's attention as one: each part's sums count by its own top. A group of threads
   a query of a head, a thread a feature. Defines: XT (results). */
KERNEL(attention_join, WG)(IN(f32, sums), OUT(XT, out), PARAMS(AttentionParams)) {
    AFTER_INPUTS();
    const uint pitch = p.head_dim + 2u;
    const ulong from = (ulong)GRP_X * p.parts * pitch + p.head_dim;
    float top = -INF, total = 0.0f;
    for (uint part = 0u; part < p.parts; part++) top = fmax(top, sums[from + part * pitch]);
    const float base = top == -INF ? 0.0f : top;
    for (uint part = 0u; part < p.parts; part++)
        total = FMA(sums[from + part * pitch + 1u], exp(sums[from + part * pitch] - base), total);
    for (uint d = TID; d < p.head_dim; d += WG) {
        float sum = 0.0f;
        for (uint part = 0u; part < p.parts; part++) {
            const ulong at = from + part * pitch;
            sum = FMA(sums[at - p.head_dim + d], exp(sums[at] - base), sum);
        }
        STORE(XT, out, (ulong)GRP_X * p.head_dim + d, total == 0.0f ? 0.0f : sum / total);
    }
}
