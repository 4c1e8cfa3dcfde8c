/* 32 query rows of one head of keys, 128 threads: scores by tiles of 64 keys, 16 features at a time
   through shared memory, then the weighted values, 16 keys at a time. A row is a query position of
   a head; the heads that share keys are neighbours, so that a tile of keys serves them all. Sums are
   in f32. Defines: XT (queries, results), KT (keys, values), HEAD (the head's features, rounded up to
   64, 128 or 256). */
#define ROWS 32u
#define KEYS 64u
#define STEP 16u
#define LEFT 36u
#define RIGHT (HEAD + 4u)
#define SCORES 65u

KERNEL(attention_tile, WG)(IN(XT, q), IN(KT, k), IN(KT, v), OUT(XT, out), PARAMS(AttentionParams)) {
    SHARED float left[STEP * LEFT];
    SHARED float right[STEP * RIGHT];
    SHARED float weights[ROWS * SCORES];
    SHARED float part[WG];
    SHARED float kept[ROWS];
    AFTER_INPUTS();
    const uint t = TID, tx = t & 15u, ty = t >> 4;
    const uint rows = p.q_len * p.group, tiles = (rows + ROWS - 1u) / ROWS;
    const uint row0 = GRP_X % tiles * ROWS, rest = GRP_X / tiles;
    const uint kv_heads = p.heads / p.group, kv_head = rest % kv_heads, batch = rest / kv_heads;
    const ulong k0 = p.k.offset + batch * p.k.batch + kv_head * p.k.head;
    const ulong v0 = p.v.offset + batch * p.v.batch + kv_head * p.v.head;
    /* Threads bring the queries of four rows, and four threads do a row's softmax. */
    ulong q0[4];
    UNROLL
    for (uint s = 0u; s < 4u; s++) {
        const uint row = row0 + ty + 8u * s < rows ? row0 + ty + 8u * s : rows - 1u;
        const uint head = kv_head * p.group + row % p.group;
        q0[s] = p.q.offset + batch * p.q.batch + head * p.q.head + row / p.group * p.q.position;
    }
    const uint own = row0 + (t >> 2) < rows ? row0 + (t >> 2) : rows - 1u;
    const uint own_end = SEES_END(own / p.group);
    const uint own_from = SEES_FROM(own / p.group);
    float top = -INF, total = 0.0f;
    const uint last = row0 + ROWS < rows ? row0 + ROWS - 1u : rows - 1u;
    const uint end = SEES_END(last / p.group);
    const uint begin = SEES_FROM(row0 / p.group);
    float sums[4][HEAD / 16u];
    UNROLL
    for (uint i = 0u; i < 4u; i++) {
        UNROLL
        for (uint c = 0u; c < HEAD / 16u; c++) sums[i][c] = 0.0f;
    }
    for (uint tile = begin; tile < end; tile += KEYS) {
        float score[4][4];
        UNROLL
        for (uint i = 0u; i < 4u; i++) {
            UNROLL
            for (uint j = 0u; j < 4u; j++) score[i][j] = 0.0f;
        }
        for (uint d0 = 0u; d0 < p.head_dim; d0 += STEP) {
            BARRIER();
            UNROLL
            for (uint s = 0u; s < 4u; s++) {
                const uint d = d0 + tx;
                left[tx * LEFT + ty + 8u * s] =
                    d < p.head_dim ? LOAD(XT, q, q0[s] + d * p.q.feature) : 0.0f;
            }
            UNROLL
            for (uint s = 0u; s < 8u; s++) {
                const uint e = t + s * WG;
                /* Neighbouring threads take neighbours in memory. */
                const uint dd = p.k.position == 1ul ? e >> 6 : e & 15u;
                const uint kk = p.k.position == 1ul ? e & 63u : e >> 4;
                const uint key = tile + kk, d = d0 + dd;
                right[dd * 68u + kk] = key < end && d < p.head_dim
                    ? LOAD(KT, k, k0 + key * p.k.position + d * p.k.feature) : 0.0f;
            }
            BARRIER();
            for (uint dd = 0u; dd < STEP; dd++) {
                float a[4], b[4];
                UNROLL
                for (uint i = 0u; i < 4u; i++) a[i] = left[dd * LEFT + ty * 4u + i];
                UNROLL
                for (uint j = 0u; j < 4u; j++) b[j] = right[dd * 68u + tx * 4u + j];
                UNROLL
                for (uint i = 0u; i < 4u; i++) {
                    UNROLL
                    for (uint j = 0u; j < 4u; j++) score[i][j] = FMA(a[i], b[j], score[i][j]);
                }
            }
        }
        UNROLL
        for (uint i = 0u; i < 4u; i++) {
            UNROLL
            for (uint j = 0u; j < 4u; j++)
                weights[(ty * 4u + i) * SCORES + tx * 4u + j] = score[i][j] * p.scale;
        }
        BARRIER();
        SHARED_P float *mine = weights + (t >> 2) * SCORES + (t & 3u);
        float most = -INF;
        for (uint j = 0u; j < KEYS / 4u; j++) {
            const uint key = tile + (t & 3u) + 4u * j;
            float s = mine[4u * j];
            if (p.softcap != 0.0f) s = p.softcap * tanh(s / p.softcap);
            s = key >= own_from && key < own_end ? s : -INF;
            mine[4u * j] = s;
            most = fmax(most, s);
        }
        part[t] = most;
        BARRIER();
        /* A NaN among the scores is nobody's maximum, and makes the sums NaN. */
        most = top;
        UNROLL
        for (uint j = 0u; j < 4u; j++) most = fmax(most, part[(t & ~3u) + j]);
        const float base = most == -INF ? 0.0f : most;
        const float old = top == -INF ? 0.0f : exp(top - base);
        top = most;
        total *= old;
        for (uint j = 0u; j < KEYS / 4u; j++) {
            const float weight = exp(mine[4u * j] - base);
            mine[4u * j] = weight;
            total += weight;
        }
        if ((t & 3u) == 0u) kept[t >> 2] = old;
        for (uint key0 = 0u; key0 < KEYS; key0 += STEP) {
            BARRIER();
            for (uint e = t; e < STEP * HEAD; e += WG) {
                const uint d = p.v.position == 1ul ? e / STEP : e % HEAD;
                const uint kk = p.v.position == 1ul ? e % STEP : e / HEAD;
                const uint key = tile + key0 + kk;
                right[kk * RIGHT + d] = key < end && d < p.head_dim
                    ? LOAD(KT, v, v0 + key * p.v.position + d * p.v.feature) : 0.0f;
            }
            BARRIER();
            if (key0 == 0u) {
                UNROLL
                for (uint i = 0u; i < 4u; i++) {
                    UNROLL
                    for (uint c = 0u; c < HEAD / 16u; c++) sums[i][c] *= kept[ty * 4u + i];
                }
            }
            for (uint kk = 0u; kk < STEP; kk++) {
                float a[4];
                UNROLL
                for (uint i = 0u; i < 4u; i++) a[i] = weights[(ty * 4u + i) * SCORES + key0 + kk];
                UNROLL
                for (uint c = 0u; c < HEAD / 16u; c++) {
                    const float value = right[kk * RIGHT + tx + 16u * c];
                    UNROLL
                    for (uint i = 0u; i < 4u; i++) sums[i][c] = FMA(a[i], value, sums[i][c]);
                }
            }
        }
    }
    part[t] = total;
    BARRIER();
    UNROLL
    for (uint i = 0u; i < 4u; i++) {
        const uint own_row = ty * 4u + i, row = row0 + own_row;
        float all = 0.0f;
        UNROLL
        for (uint j = 0u; j < 4u; j++) all += part[own_row * 4u + j];
        if (row < rows) {
            const uint head = kv_head * p.group + row % p.group;
            const ulong to = (((ulong)batch * p.heads + head) * p.q_len + row / p.group) * p.head_dim;
            UNROLL
            for (uint c = 0u; c < HEAD / 16u; c++) {
                const uint d = tx + 16u * c;
                if (d < p.head_dim) STORE(XT, out, to + d, all == 0.0f ? 0.0f : sums[i][c] / all);
            }
        }
    }
}
