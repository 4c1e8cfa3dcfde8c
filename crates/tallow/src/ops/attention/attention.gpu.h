/* One query of one head, 128 threads: keys by tiles of 128, a thread a key; then the weighted values,
   a thread a feature, with two halves of the tile side by side where features leave threads idle.
   With PARTS a group has one of p.parts shares of the keys, and leaves its sums, their top and their
   total for attention_join. Defines: XT (queries), KT (keys, values), OT (results; f32 with PARTS),
   PARTS (0 or 1). */
#define TILE 128u
#define HEAD_DIM_MAX 512u
KERNEL(attention_row, WG)(IN(XT, q), IN(KT, k), IN(KT, v), OUT(OT, out), PARAMS(AttentionParams)) {
    SHARED float query[HEAD_DIM_MAX];
    SHARED float weights[TILE];
    SHARED float part[WG];
    SG_SCRATCH(WG)
    AFTER_INPUTS();
    const uint parts = PARTS ? p.parts : 1u, line = GRP_X / parts;
    const uint t = TID, position = line % p.q_len, rest = line / p.q_len;
    const uint head = rest % p.heads, batch = rest / p.heads;
    const ulong q0 = p.q.offset + batch * p.q.batch + head * p.q.head + position * p.q.position;
    const ulong k0 = p.k.offset + batch * p.k.batch + (head / p.group) * p.k.head;
    const ulong v0 = p.v.offset + batch * p.v.batch + (head / p.group) * p.v.head;
    for (uint d = t; d < p.head_dim; d += WG)
        query[d] = LOAD(XT, q, q0 + d * p.q.feature) * p.scale;
    uint end = SEES_END(position), from = SEES_FROM(position);
    if (PARTS) {
        /* Whole tiles each. */
        const uint share = ((end - from + parts - 1u) / parts + TILE - 1u) / TILE * TILE;
        const uint skipped = GRP_X % parts * share;
        from = skipped < end - from ? from + skipped : end;
        end = end - from < share ? end : from + share;
    }
    const uint split = p.head_dim <= 64u ? 2u : 1u, lanes = WG / split;
    const uint lane = t % lanes, share = t / lanes;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    float top = -INF, total = 0.0f;
    BARRIER();
    for (uint tile = from; tile < end; tile += TILE) {
        const uint count = end - tile < TILE ? end - tile : TILE;
        float score = -INF;
        if (t < count) {
            const ulong at = k0 + (ulong)(tile + t) * p.k.position;
            score = 0.0f;
            for (uint d = 0u; d < p.head_dim; d++)
                score = FMA(query[d], LOAD(KT, k, at + d * p.k.feature), score);
            if (p.softcap != 0.0f) score = p.softcap * tanh(score / p.softcap);
        }
        float tile_top, tile_total;
        GROUP_MAX(tile_top, score, part)
        BARRIER();
        /* A NaN among the scores is nobody's maximum, and makes the sums NaN. */
        const float next = fmax(top, tile_top);
        const float base = next == -INF ? 0.0f : next;
        const float weight = t < count ? exp(score - base) : 0.0f;
        const float kept = top == -INF ? 0.0f : exp(top - base);
        weights[t] = weight;
        GROUP_SUM(tile_total, weight, part)
        total = total * kept + tile_total;
        top = next;
        UNROLL
        for (uint c = 0u; c < 4u; c++) {
            const uint d = lane + c * lanes;
            if (d < p.head_dim) {
                float sum = sums[c] * kept;
                for (uint j = share; j < count; j += split) {
                    const ulong at = v0 + (ulong)(tile + j) * p.v.position;
                    sum = FMA(weights[j], LOAD(KT, v, at + d * p.v.feature), sum);
                }
                sums[c] = sum;
            }
        }
        BARRIER();
    }
    const ulong to = (ulong)GRP_X * (p.head_dim + (PARTS ? 2u : 0u));
    if (split == 2u) {
        part[t] = sums[0];
        BARRIER();
        sums[0] = part[lane] + part[lane + lanes];
    }
    UNROLL
    for (uint c = 0u; c < 4u; c++) {
        const uint d = lane + c * lanes;
        if (share == 0u && d < p.head_dim)
            STORE(OT, out, to + d, PARTS ? sums[c] : total == 0.0f ? 0.0f : sums[c] / total);
    }
    if (PARTS && t < 2u) STORE(OT, out, to + p.head_dim + t, t == 0u ? top : total);
}
