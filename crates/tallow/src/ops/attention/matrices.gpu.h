/* Attention by Metal's matrices: a group has eight query rows a subgroup of one head of keys, and
   goes over the keys by tiles of KEYS (Dao 2023). A row is a query position of a head; the heads
   that share keys are neighbours, so that a tile of keys serves them all. Keys and values come to
   shared memory CHUNK features at a time. Scores and weighted values go from matrices through
   shared memory to threads: four have a row, each every fourth key or feature of it. Sums are in
   f32. Defines: XT (queries, results), KT (keys, values), MT (half if both are f16, else float),
   HEAD (the head's features, rounded up to 64, 96, 128 or 256). */
#define ROWS (WG / 4u)
#define KEYS 32u
#define CHUNK (HEAD % 64u == 0u ? 64u : 32u)
#define TILE (CHUNK + ROW_PAD)
#define WEIGHTS (KEYS + ROW_PAD)
#define FEATURES_LEFT(d) (p.head_dim > (d) ? p.head_dim - (d) : 0u)

KERNEL(attention_matrices, WG)(IN(XT, q), IN(KT, k), IN(KT, v), OUT(XT, out),
                               PARAMS(AttentionParams)) {
    SHARED MT tile[KEYS * TILE];
    SHARED MT weights[ROWS * WEIGHTS];
    SHARED float results[ROWS * KEYS];
    AFTER_INPUTS();
    const uint rows = p.q_len * p.group, tiles = (rows + ROWS - 1u) / ROWS;
    const uint row0 = GRP_X % tiles * ROWS, rest = GRP_X / tiles;
    const uint kv_heads = p.heads / p.group, kv_head = rest % kv_heads, batch = rest / kv_heads;
    const ulong k0 = p.k.offset + batch * p.k.batch + kv_head * p.k.head;
    const ulong v0 = p.v.offset + batch * p.v.batch + kv_head * p.v.head;
    const uint last = row0 + ROWS < rows ? row0 + ROWS - 1u : rows - 1u;
    const uint end = SEES_END(last / p.group);
    const uint begin = SEES_FROM(row0 / p.group);
    /* What the subgroup sees, and the thread's row: behind the last row, that one again. */
    const uint first = row0 + SG_ID * 8u, first_row = first < rows ? first : rows - 1u;
    const uint last_row = first + 7u < rows ? first + 7u : rows - 1u;
    const uint sees_from = SEES_FROM(first_row / p.group), sees_end = SEES_END(last_row / p.group);
    const uint g = SG_LANE >> 2, i = SG_LANE & 3u;
    const uint row = first + g < rows ? first + g : rows - 1u;
    const uint head = kv_head * p.group + row % p.group;
    const uint own_from = SEES_FROM(row / p.group), own_end = SEES_END(row / p.group);
    SHARED_P MT *own_weights = weights + SG_ID * 8u * WEIGHTS;
    SHARED_P float *own_results = results + SG_ID * 8u * KEYS;
    /* Each thread's row, from its feature on. */
    SHARED_P MT *weight = own_weights + g * WEIGHTS + i;
    SHARED_P const float *result = own_results + g * KEYS + i;

    factor_t query[HEAD / 8u];
    const ulong q0 =
        p.q.offset + batch * p.q.batch + head * p.q.head + row / p.group * p.q.position;
    UNROLL
    for (uint d0 = 0u; d0 < HEAD; d0 += KEYS) {
        UNROLL
        for (uint c = 0u; c < KEYS; c += 4u) {
            const uint d = d0 + c + i;
            weight[c] = d < p.head_dim ? (MT)LOAD(XT, q, q0 + d * p.q.feature) : (MT)0;
        }
        SG_BARRIER();
        UNROLL
        for (uint t = 0u; t < KEYS; t += 8u)
            simdgroup_load(query[(d0 + t) / 8u], own_weights + t, WEIGHTS);
        SG_BARRIER();
    }
    float top = -INF, total = 0.0f, sums[HEAD / 4u];
    UNROLL
    for (uint d = 0u; d < HEAD / 4u; d++) sums[d] = 0.0f;

    for (uint key0 = begin; key0 < end; key0 += KEYS) {
        const bool busy = key0 < sees_end && key0 + KEYS > sees_from;
        products_t score[KEYS / 8u];
        UNROLL
        for (uint j = 0u; j < KEYS / 8u; j++) score[j] = NO_PRODUCTS();
        UNROLL
        for (uint d0 = 0u; d0 < HEAD; d0 += CHUNK) {
            BARRIER();
            BRING(tile, TILE, KEYS, CHUNK, KT, k, k0 + key0 * p.k.position + d0 * p.k.feature,
                  p.k.position, p.k.feature, end - key0, FEATURES_LEFT(d0))
            BARRIER();
            if (busy) {
                UNROLL
                for (uint t = 0u; t < CHUNK; t += 8u) {
                    UNROLL
                    for (uint j = 0u; j < KEYS / 8u; j++) {
                        factor_t b;
                        simdgroup_load(b, tile + j * 8u * TILE + t, TILE, TURNED);
                        simdgroup_multiply_accumulate(score[j], query[(d0 + t) / 8u], b, score[j]);
                    }
                }
            }
        }
        float kept = 1.0f;
        if (busy) {
            UNROLL
            for (uint j = 0u; j < KEYS / 8u; j++)
                simdgroup_store(score[j], own_results + j * 8u, KEYS);
            SG_BARRIER();
            float s[KEYS / 4u], most = -INF;
            UNROLL
            for (uint c = 0u; c < KEYS / 4u; c++) {
                const uint key = key0 + i + 4u * c;
                s[c] = result[4u * c] * p.scale;
                if (p.softcap != 0.0f) s[c] = p.softcap * tanh(s[c] / p.softcap);
                s[c] = key >= own_from && key < own_end ? s[c] : -INF;
                most = fmax(most, s[c]);
            }
            most = fmax(most, SG_SHUFFLE_XOR(most, 1u));
            most = fmax(most, SG_SHUFFLE_XOR(most, 2u));
            /* A NaN among the scores is nobody's maximum, and makes the sums NaN. */
            most = fmax(most, top);
            const float base = most == -INF ? 0.0f : most;
            kept = top == -INF ? 0.0f : exp(top - base);
            top = most;
            total *= kept;
            UNROLL
            for (uint c = 0u; c < KEYS / 4u; c++) {
                const float own = exp(s[c] - base);
                weight[4u * c] = (MT)own;
                total += own;
            }
            SG_BARRIER();
        }
        UNROLL
        for (uint d0 = 0u; d0 < HEAD; d0 += CHUNK) {
            BARRIER();
            BRING(tile, TILE, KEYS, CHUNK, KT, v, v0 + key0 * p.v.position + d0 * p.v.feature,
                  p.v.position, p.v.feature, end - key0, FEATURES_LEFT(d0))
            BARRIER();
            if (busy) {
                UNROLL
                for (uint part = 0u; part < CHUNK; part += KEYS) {
                    products_t sum[KEYS / 8u];
                    UNROLL
                    for (uint j = 0u; j < KEYS / 8u; j++) sum[j] = NO_PRODUCTS();
                    UNROLL
                    for (uint t = 0u; t < KEYS; t += 8u) {
                        factor_t of_keys;
                        simdgroup_load(of_keys, own_weights + t, WEIGHTS);
                        UNROLL
                        for (uint j = 0u; j < KEYS / 8u; j++) {
                            factor_t value;
                            simdgroup_load(value, tile + t * TILE + part + j * 8u, TILE);
                            simdgroup_multiply_accumulate(sum[j], of_keys, value, sum[j]);
                        }
                    }
                    UNROLL
                    for (uint j = 0u; j < KEYS / 8u; j++)
                        simdgroup_store(sum[j], own_results + j * 8u, KEYS);
                    SG_BARRIER();
                    UNROLL
                    for (uint c = 0u; c < KEYS / 4u; c++) {
                        const uint d = (d0 + part) / 4u + c;
                        sums[d] = FMA(sums[d], kept, result[4u * c]);
                    }
                    SG_BARRIER();
                }
            }
        }
    }
    total += SG_SHUFFLE_XOR(total, 1u);
    total += SG_SHUFFLE_XOR(total, 2u);
    if (first + g < rows) {
        const ulong to = (((ulong)batch * p.heads + head) * p.q_len + row / p.group) * p.head_dim;
        UNROLL
        for (uint c = 0u; c < HEAD / 4u; c++) {
            const uint d = i + 4u * c;
            if (d < p.head_dim) STORE(XT, out, to + d, total == 0.0f ? 0.0f : sums[c] / total);
        }
    }
}
