/* Attention on tensor cores: a group has ROWS query rows of one head of keys, 16 a subgroup, and
   goes over its keys by tiles of KEYS (Dao 2023). A row is a query position of a head; the heads that
   share keys are neighbours, so that a tile of keys serves them all. A query of f32 is scaled by a
   power of two of its own and becomes two f16 terms, as do its weights; queries of the keys' dtype
   are one term. Defines: XT (queries, results), KT (keys, values: f16 or bf16), TERMS (2 for an f32
   XT), HEAD (the head's features, rounded up to 64, 96, 128 or 256), SOFTCAP (1 if the scores have a
   bound). */
#define CHUNKS (HEAD / 8u)
#define ROWS (WG / 2u)
#if HEAD == 64
#define KEYS 64u
#elif HEAD <= 128
#define KEYS 32u
#else
#define KEYS 16u
#endif
#define STAGES (HEAD <= 128 ? 2u : 1u)
#define Q_SHARED (HEAD > 128)
/* The place of a chunk of eight features: eight rows' chunks lie in all banks. */
#define PLACE(row, at) ((row) * CHUNKS + ((at) ^ (HEAD % 64 == 0 ? (row) & 7u : ((row) >> 1) & 3u)))
/* Scores are in units of ln 2: a weight is a power of two. */
#define LOG2E 1.44269504f
#define MMA CAT(mma_, KT)
#define PAIR CAT(mma_pair_, KT)

/* A tile of keys or values, feature by neighbouring feature; zeros where there are none. */
FN void flash_tile(uint4 *to, const ST(KT) *from, ulong start, ulong position, ulong feature,
                   uint tile, uint end, uint head_dim) {
    const bool whole = feature == 1ul && ((head_dim | (uint)start | (uint)position) & 7u) == 0u;
    UNROLL
    for (uint s = 0u; s < KEYS * CHUNKS / WG; s++) {
        const uint e = TID + s * WG, row = e / CHUNKS, at = e % CHUNKS;
        const bool there = tile + row < end && at * 8u < head_dim;
        const ulong first = there ? start + (ulong)(tile + row) * position : start;
        uint4 *place = to + PLACE(row, at);
        if (whole) {
            mma_copy(place, from + first + (there ? at * 8u : 0u), there ? 16u : 0u);
        } else {
            _Pragma("unroll 1")
            for (uint j = 0u; j < 8u; j++) {
                const uint d = at * 8u + j;
                const bool has = there && d < head_dim;
                ((ushort *)place)[j] = has ? from[first + d * feature] : (ushort)0;
            }
        }
    }
}

FN float flash_query(const ST(XT) *q, ulong at, uint d, AttentionParams p) {
    return d < p.head_dim ? LOAD(XT, q, at + d * p.q.feature) : 0.0f;
}

/* Two numbers as terms of the keys' dtype. */
FN void flash_terms(uint terms[TERMS], float a, float b) {
#if TERMS == 2
    mma_terms_f16(a, b, &terms[0], &terms[1]);
#else
    terms[0] = PAIR(a, b);
#endif
}

KERNEL(attention_flash, WG)(IN(XT, q), IN(KT, k), IN(KT, v), OUT(XT, out),
                            PARAMS(AttentionParams)) {
    SHARED uint4 keys[STAGES * KEYS * CHUNKS];
    SHARED uint4 values[STAGES * KEYS * CHUNKS];
#if HEAD > 128
    SHARED uint4 queries[TERMS * ROWS * CHUNKS];
#endif
    AFTER_INPUTS();
    const uint lane = SG_LANE, g = lane >> 2, i = lane & 3u;
    const uint rows = p.q_len * p.group, tiles = (rows + ROWS - 1u) / ROWS;
    /* The longest first: the last rows see the most keys. */
    const uint row0 = (tiles - 1u - GRP_X % tiles) * ROWS, rest = GRP_X / tiles;
    const uint kv_heads = p.heads / p.group, kv_head = rest % kv_heads, batch = rest / kv_heads;
    const ulong k0 = p.k.offset + batch * p.k.batch + kv_head * p.k.head;
    const ulong v0 = p.v.offset + batch * p.v.batch + kv_head * p.v.head;
    const uint first = row0 + SG_ID * 16u;
    uint from[2], to[2];
    ulong out0[2];
    float factor[2], top[2], total[2];
#if HEAD <= 128
    uint query[HEAD / 16u][4][TERMS];
#endif
    UNROLL
    for (uint r = 0u; r < 2u; r++) {
        const uint row = first + g + 8u * r < rows ? first + g + 8u * r : rows - 1u;
        const uint position = row / p.group, head = kv_head * p.group + row % p.group;
        const ulong at = p.q.offset + batch * p.q.batch + head * p.q.head + position * p.q.position;
        out0[r] = (((ulong)batch * p.heads + head) * p.q_len + position) * p.head_dim;
        from[r] = SEES_FROM(position);
        to[r] = SEES_END(position);
        top[r] = -INF;
        total[r] = 0.0f;
        float size = 1.0f;
        factor[r] = SOFTCAP ? p.scale : p.scale * LOG2E;
#if TERMS == 2
        /* The greatest feature comes to lie in 1 to 2, so that f16 holds the row. */
        float most = 0.0f;
        for (uint d = i * 2u; d < p.head_dim; d += 8u) {
            most = fmax(most, fabs(flash_query(q, at, d, p)));
            most = fmax(most, fabs(flash_query(q, at, d + 1u, p)));
        }
        most = fmax(most, SG_SHUFFLE_XOR(most, 1u));
        most = fmax(most, SG_SHUFFLE_XOR(most, 2u));
        uint exponent = AS_UINT(most) >> 23;
        exponent = exponent < 1u ? 1u : exponent > 253u ? 253u : exponent;
        size = AS_FLOAT((254u - exponent) << 23);
        factor[r] *= AS_FLOAT(exponent << 23);
#endif
        UNROLL
        for (uint t = 0u; t < HEAD / 16u; t++) {
            UNROLL
            for (uint h = 0u; h < 2u; h++) {
                const uint d = t * 16u + h * 8u + i * 2u;
                uint terms[TERMS];
                flash_terms(terms, flash_query(q, at, d, p) * size, flash_query(q, at, d + 1u, p) * size);
                UNROLL
                for (uint c = 0u; c < TERMS; c++) {
#if HEAD <= 128
                    query[t][h * 2u + r][c] = terms[c];
#else
                    const uint own = SG_ID * 16u + r * 8u + g;
                    ((uint *)(queries + c * ROWS * CHUNKS + PLACE(own, t * 2u + h)))[i] = terms[c];
#endif
                }
            }
        }
    }
    float sum[HEAD / 8u][4];
    UNROLL
    for (uint d = 0u; d < HEAD / 8u; d++) {
        UNROLL
        for (uint c = 0u; c < 4u; c++) sum[d][c] = 0.0f;
    }
    const uint last = row0 + ROWS < rows ? row0 + ROWS - 1u : rows - 1u;
    const uint begin = SEES_FROM(row0 / p.group), end = SEES_END(last / p.group);
    /* What this subgroup's rows see; rows too many are the last one. */
    const uint own_first = first < rows ? first : rows - 1u;
    const uint own_last = first + 15u < rows ? first + 15u : rows - 1u;
    const uint own_begin = SEES_FROM(own_first / p.group);
    const uint own_end = SEES_END(own_last / p.group);
    /* What all of its rows see. */
    const uint all_begin = SEES_FROM(own_last / p.group), all_end = SEES_END(own_first / p.group);
    uint stage = 0u;
    /* With two stages a tile is on its way while the one before it is worked on. */
    for (uint next = begin; next < end + (STAGES - 1u) * KEYS; next += KEYS) {
        if (next < end) {
            _Pragma("unroll 1")
            for (uint of_v = 0u; of_v < 2u; of_v++)
                flash_tile((of_v ? values : keys) + stage * KEYS * CHUNKS, of_v ? v : k, of_v ? v0 : k0,
                           of_v ? p.v.position : p.k.position, of_v ? p.v.feature : p.k.feature, next,
                           end, p.head_dim);
        }
        mma_copies_end();
        stage = STAGES == 2u ? stage ^ 1u : 0u;
        if (STAGES == 2u && next == begin) continue;
        const uint tile = next - (STAGES - 1u) * KEYS;
        MMA_COPIES_WAIT(STAGES - 1u);
        BARRIER();
        const uint4 *key_tile = keys + stage * KEYS * CHUNKS;
        const uint4 *value_tile = values + stage * KEYS * CHUNKS;
        if (tile < own_end && tile + KEYS > own_begin) {
            float score[KEYS / 8u][4];
            UNROLL
            for (uint j = 0u; j < KEYS / 8u; j++) {
                UNROLL
                for (uint c = 0u; c < 4u; c++) score[j][c] = 0.0f;
            }
            UNROLL
            for (uint t = 0u; t < HEAD / 16u; t++) {
                uint a[TERMS][4];
                UNROLL
                for (uint c = 0u; c < TERMS; c++) {
#if HEAD <= 128
                    UNROLL
                    for (uint f = 0u; f < 4u; f++) a[c][f] = query[t][f][c];
#else
                    const uint own = SG_ID * 16u + (lane & 15u);
                    mma_load(a[c], queries + c * ROWS * CHUNKS + PLACE(own, t * 2u + (lane >> 4)));
#endif
                }
                UNROLL
                for (uint j = 0u; j < KEYS / 8u; j += 2u) {
                    /* Keys 0 to 7 at both halves of 16 features, then keys 8 to 15. */
                    uint b[4];
                    const uint key = j * 8u + (lane & 7u) + (lane >> 4) * 8u;
                    mma_load(b, key_tile + PLACE(key, t * 2u + ((lane >> 3) & 1u)));
                    UNROLL
                    for (uint c = TERMS; c-- > 0u;) {
                        MMA(score[j], a[c], b);
                        MMA(score[j + 1u], a[c], b + 2);
                    }
                }
            }
            const bool all_see = tile >= all_begin && tile + KEYS <= all_end;
            UNROLL
            for (uint r = 0u; r < 2u; r++) {
                UNROLL
                for (uint j = 0u; j < KEYS / 8u; j++) {
                    UNROLL
                    for (uint c = 0u; c < 2u; c++) {
                        float s = score[j][2u * r + c] * factor[r];
                        if (SOFTCAP) s = p.softcap * LOG2E * tanh(s / p.softcap);
                        score[j][2u * r + c] = s;
                    }
                }
                if (!all_see) {
                    UNROLL
                    for (uint j = 0u; j < KEYS / 8u; j++) {
                        UNROLL
                        for (uint c = 0u; c < 2u; c++) {
                            const uint key = tile + j * 8u + i * 2u + c;
                            if (key < from[r] || key >= to[r]) score[j][2u * r + c] = -INF;
                        }
                    }
                }
                float most = -INF;
                UNROLL
                for (uint j = 0u; j < KEYS / 8u; j++) {
                    UNROLL
                    for (uint c = 0u; c < 2u; c++) most = fmax(most, score[j][2u * r + c]);
                }
                most = fmax(most, SG_SHUFFLE_XOR(most, 1u));
                most = fmax(most, SG_SHUFFLE_XOR(most, 2u));
                /* A NaN among the scores is nobody's maximum, and makes the sums NaN. */
                most = fmax(most, top[r]);
                const float base = most == -INF ? 0.0f : most;
                const float kept = top[r] == -INF ? 0.0f : EXP2(top[r] - base);
                top[r] = most;
                float part = 0.0f;
                UNROLL
                for (uint j = 0u; j < KEYS / 8u; j++) {
                    UNROLL
                    for (uint c = 0u; c < 2u; c++) {
                        const float weight = EXP2(score[j][2u * r + c] - base);
                        score[j][2u * r + c] = weight;
                        part += weight;
                    }
                }
                total[r] = total[r] * kept + part;
                UNROLL
                for (uint d = 0u; d < HEAD / 8u; d++) {
                    sum[d][2u * r] *= kept;
                    sum[d][2u * r + 1u] *= kept;
                }
            }
            UNROLL
            for (uint t = 0u; t < KEYS / 16u; t++) {
                /* The sums of two products are the operand of the next, lane by lane. */
                uint a[TERMS][4];
                UNROLL
                for (uint f = 0u; f < 4u; f++) {
                    uint terms[TERMS];
                    const float *pair = &score[2u * t + (f >> 1)][2u * (f & 1u)];
                    flash_terms(terms, pair[0], pair[1]);
                    UNROLL
                    for (uint c = 0u; c < TERMS; c++) a[c][f] = terms[c];
                }
                UNROLL
                for (uint d = 0u; d < HEAD / 8u; d += 2u) {
                    /* Features 0 to 7 at both halves of 16 keys, then features 8 to 15. */
                    uint b[4];
                    const uint key = t * 16u + (lane & 15u);
                    mma_load_turned(b, value_tile + PLACE(key, d + (lane >> 4)));
                    UNROLL
                    for (uint c = TERMS; c-- > 0u;) {
                        MMA(sum[d], a[c], b);
                        MMA(sum[d + 1u], a[c], b + 2);
                    }
                }
            }
        }
        BARRIER();
    }
    UNROLL
    for (uint r = 0u; r < 2u; r++) {
        float all = total[r] + SG_SHUFFLE_XOR(total[r], 1u);
        all += SG_SHUFFLE_XOR(all, 2u);
        if (first + g + 8u * r < rows) {
            UNROLL
            for (uint d = 0u; d < HEAD / 8u; d++) {
                UNROLL
                for (uint c = 0u; c < 2u; c++) {
                    const uint feature = d * 8u + i * 2u + c;
                    if (feature < p.head_dim)
                        STORE(XT, out, out0[r] + feature, all == 0.0f ? 0.0f : sum[d][2u * r + c] / all);
                }
            }
        }
    }
}
