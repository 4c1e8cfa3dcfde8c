/* Attention on tensor cores: a group has ROWS query rows of one head of keys, 16 a subgroup, and
   goes over its keys by tiles of KEYS (Dao 2023). A row is a query position of a head; the heads
   that share keys are neighbours, so that a tile of keys serves them all. A query of f32 is scaled
   by a power of two of its own and becomes two f16 terms, as do its weights; queries of the keys'
   dtype are one term. With PARTS a group has one of p.parts shares of the keys, and leaves its
   sums, their top and total for attention_join. Defines: XT (queries), KT (keys, values: f16 or
   bf16), OT (results; f32 with PARTS), PARTS (0 or 1), TERMS (2 for an f32 XT), HEAD (the head's
   features, rounded up to 64, 96, 128 or 256), SOFTCAP (1 if the scores have a bound). */
#define CHUNKS (HEAD / 8u)
#define ROWS (WG / 2u)
/* What 48 KiB of shared memory have room for. */
#if HEAD <= 64
#define KEYS 96u
#elif HEAD <= 96
#define KEYS 64u
#elif HEAD <= 128
#define KEYS 48u
#else
#define KEYS 16u
#endif
#define STAGES (HEAD <= 128 || TERMS == 1 ? 2u : 1u)
/* The place of a chunk of eight features: eight rows' chunks lie in all banks. TURN is the same for
   rows 16 apart, and MASK has its bits, so that most of a lane's places are one and a constant. */
#define MASK (HEAD % 64 == 0 ? 7u : 3u)
#define TURN(row) (HEAD % 64 == 0 ? (row) & 7u : ((row) >> 1) & 3u)
#define PLACE(row, at) ((row) * CHUNKS + ((at) ^ TURN(row)))
/* Scores are in units of ln 2: a weight is a power of two. */
#define LOG2E 1.44269504f
#define MMA CAT(mma_, KT)
#define PAIR CAT(mma_pair_, KT)

/* A thread copies a chunk of each LANES along a row, of each LINES-th row. */
#define LANES (CHUNKS % 8u == 0u ? 8u : 4u)
#define LINES (WG / LANES)

/* A tile of keys or values, of which `left` are left, where each chunk is one copy: `line` is where
   the thread's first chunk lies. Zeros where there are none. */
FN void flash_copy(uint4 *to, const ST(KT) *line, ulong position, uint left, uint head_dim) {
    const uint row = TID / LANES, at = TID % LANES;
    uint4 *place = to + PLACE(row, at);
    UNROLL
    for (uint s = 0u; s < KEYS; s += LINES) {
        UNROLL
        for (uint c = 0u; c < CHUNKS; c += LANES) {
            const bool there = s + row < left && (at + c) * 8u < head_dim;
            mma_copy(place + s * CHUNKS + c, line + c * 8u, there ? 16u : 0u);
        }
        line += LINES * position;
    }
}
/* The same feature by feature, however they lie. */
FN void flash_bring(uint4 *to, const ST(KT) *from, ulong position, ulong feature, uint left,
                    uint head_dim) {
    _Pragma("unroll 1")
    for (uint e = TID; e < KEYS * HEAD; e += WG) {
        const uint row = position == 1ul ? e % KEYS : e / HEAD;
        const uint d = position == 1ul ? e / KEYS : e % HEAD;
        const bool there = row < left && d < head_dim;
        ((ushort *)(to + PLACE(row, d / 8u)))[d % 8u] =
            there ? from[row * position + d * feature] : (ushort)0;
    }
}

FN void flash_tiles(uint4 *keys, uint4 *values, const ST(KT) *k, const ST(KT) *v, uint left,
                    bool is_whole, AttentionParams p) {
    if (is_whole) {
        flash_copy(keys, k, p.k.position, left, p.head_dim);
        flash_copy(values, v, p.v.position, left, p.head_dim);
    } else {
        flash_bring(keys, k, p.k.position, p.k.feature, left, p.head_dim);
        flash_bring(values, v, p.v.position, p.v.feature, left, p.head_dim);
    }
    mma_copies_end();
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

#ifndef MMA_EMULATED
/* With 1 for the groups that a unit has at least, as otherwise the compiler saves registers so that
   it has three, which costs more than it gains. */
#undef KERNEL
#define KERNEL(name, wg) extern "C" __global__ void __launch_bounds__(wg, 1) name
#endif
KERNEL(attention_flash, WG)(IN(XT, q), IN(KT, k), IN(KT, v), OUT(OT, out),
                            PARAMS(AttentionParams)) {
    SHARED uint4 keys[STAGES * KEYS * CHUNKS];
    SHARED uint4 values[STAGES * KEYS * CHUNKS];
#if HEAD > 128
    SHARED uint4 queries[TERMS * ROWS * CHUNKS];
#endif
    AFTER_INPUTS();
    const uint lane = SG_LANE, g = lane >> 2, i = lane & 3u;
    const uint rows = p.q_len * p.group, tiles = (rows + ROWS - 1u) / ROWS;
    const uint kv_heads = p.heads / p.group, parts = PARTS ? p.parts : 1u;
    const uint all_heads = GRPS_X / parts / tiles, rest = GRP_X / parts % all_heads;
    const uint part = GRP_X % parts, kv_head = rest % kv_heads, batch = rest / kv_heads;
    /* The longest first: the last rows see the most keys. */
    const uint row0 = (tiles - 1u - GRP_X / parts / all_heads) * ROWS;
    const ulong k0 = p.k.offset + batch * p.k.batch + kv_head * p.k.head;
    const ulong v0 = p.v.offset + batch * p.v.batch + kv_head * p.v.head;
    const uint last = row0 + ROWS < rows ? row0 + ROWS - 1u : rows - 1u;
    uint begin = SEES_FROM(row0 / p.group), end = SEES_END(last / p.group);
    if (PARTS) {
        /* Whole tiles each. */
        const uint share = ((end - begin + parts - 1u) / parts + KEYS - 1u) / KEYS * KEYS;
        const uint skipped = part * share;
        begin = skipped < end - begin ? begin + skipped : end;
        end = end - begin < share ? end : begin + share;
    }
    const ST(KT) *k_line = k + k0 + begin * p.k.position, *v_line = v + v0 + begin * p.v.position;
    const uint places = (uint)k0 | (uint)v0 | (uint)p.k.position | (uint)p.v.position | p.head_dim;
    const bool is_whole = p.k.feature == 1ul && p.v.feature == 1ul && (places & 7u) == 0u;
    if (is_whole) {
        k_line += TID / LANES * p.k.position + TID % LANES * 8u;
        v_line += TID / LANES * p.v.position + TID % LANES * 8u;
    }
    /* With two stages a tile is on its way while the one before it is worked on. */
    uint stage = 0u;
    if (STAGES == 2u) flash_tiles(keys, values, k_line, v_line, end - begin, is_whole, p);
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
        const ulong line = ((ulong)batch * p.heads + head) * p.q_len + position;
        out0[r] = (line * parts + part) * (p.head_dim + (PARTS ? 2u : 0u));
        from[r] = SEES_FROM(position);
        to[r] = SEES_END(position);
        top[r] = -INF;
        total[r] = 0.0f;
        /* Above zero, so that the greatest product is the greatest score. */
        float size = p.scale < 0.0f ? -1.0f : 1.0f;
        factor[r] = fabs(p.scale) < 1e-30f ? 1e-30f : fabs(p.scale) * (SOFTCAP ? 1.0f : LOG2E);
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
        size *= AS_FLOAT((254u - exponent) << 23);
        factor[r] *= AS_FLOAT(exponent << 23);
#endif
        UNROLL
        for (uint t = 0u; t < HEAD / 16u; t++) {
            UNROLL
            for (uint h = 0u; h < 2u; h++) {
                const uint d = t * 16u + h * 8u + i * 2u;
                uint terms[TERMS];
                const float x = flash_query(q, at, d, p), y = flash_query(q, at, d + 1u, p);
                flash_terms(terms, x * size, y * size);
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
    /* What this subgroup's rows see; rows too many are the last one. */
    const uint own_first = first < rows ? first : rows - 1u;
    const uint own_last = first + 15u < rows ? first + 15u : rows - 1u;
    const uint own_begin = SEES_FROM(own_first / p.group);
    const uint own_end = SEES_END(own_last / p.group);
    /* What all of its rows see. */
    const uint all_begin = SEES_FROM(own_last / p.group), all_end = SEES_END(own_first / p.group);
    for (uint tile = begin; tile < end; tile += KEYS) {
        if (STAGES == 1u) {
            BARRIER();
            flash_tiles(keys, values, k_line, v_line, end - tile, is_whole, p);
        }
        MMA_COPIES_WAIT(0u);
        BARRIER();
        k_line += KEYS * p.k.position;
        v_line += KEYS * p.v.position;
        const uint here = stage * KEYS;
        if (STAGES == 2u && tile + KEYS < end) {
            stage ^= 1u;
            const uint to = stage * KEYS * CHUNKS;
            flash_tiles(keys + to, values + to, k_line, v_line, end - tile - KEYS, is_whole, p);
        }
        /* A lane's row of 16 keys, for the scores and for the sums. */
        const uint key_row = (lane & 7u) + (lane >> 4) * 8u, value_row = lane & 15u;
        const uint4 *key_tile = keys + (here + key_row) * CHUNKS;
        const uint4 *value_tile = values + (here + value_row) * CHUNKS;
        const uint key_turn = TURN(key_row) ^ ((lane >> 3) & 1u);
        const uint value_turn = TURN(value_row) ^ (lane >> 4);
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
                    const uint4 *chunk = key_tile + (key_turn ^ (t * 2u & MASK));
                    mma_load(b, chunk + ((t * 2u & ~MASK) + j * 8u * CHUNKS));
                    UNROLL
                    for (uint c = TERMS; c-- > 0u;) {
                        MMA(score[j], a[c], b);
                        MMA(score[j + 1u], a[c], b + 2);
                    }
                }
            }
            if (SOFTCAP) {
                UNROLL
                for (uint j = 0u; j < KEYS / 8u; j++) {
                    UNROLL
                    for (uint c = 0u; c < 4u; c++) {
                        const float s = score[j][c] * factor[c >> 1];
                        score[j][c] = p.softcap * LOG2E * tanh(s / p.softcap);
                    }
                }
            }
            if (tile < all_begin || tile + KEYS > all_end) {
                UNROLL
                for (uint j = 0u; j < KEYS / 8u; j++) {
                    UNROLL
                    for (uint c = 0u; c < 4u; c++) {
                        const uint key = tile + j * 8u + i * 2u + (c & 1u);
                        if (key < from[c >> 1] || key >= to[c >> 1]) score[j][c] = -INF;
                    }
                }
            }
            float most[4], sums[4];
            UNROLL
            for (uint c = 0u; c < 4u; c++) {
                most[c] = score[0][c];
                sums[c] = 0.0f;
            }
            UNROLL
            for (uint j = 1u; j < KEYS / 8u; j++) {
                UNROLL
                for (uint c = 0u; c < 4u; c++) most[c] = fmax(most[c], score[j][c]);
            }
            UNROLL
            for (uint r = 0u; r < 2u; r++) {
                most[r] = fmax(most[2u * r], most[2u * r + 1u]);
                most[r] = fmax(most[r], SG_SHUFFLE_XOR(most[r], 1u));
                most[r] = fmax(most[r], SG_SHUFFLE_XOR(most[r], 2u));
            }
            float base[2], kept[2];
            UNROLL
            for (uint r = 0u; r < 2u; r++) {
                /* A NaN among the scores is nobody's maximum, and makes the sums NaN. */
                most[r] = fmax(SOFTCAP ? most[r] : most[r] * factor[r], top[r]);
                base[r] = most[r] == -INF ? 0.0f : most[r];
                kept[r] = EXP2(top[r] - base[r]);
                top[r] = most[r];
            }
            UNROLL
            for (uint j = 0u; j < KEYS / 8u; j++) {
                UNROLL
                for (uint c = 0u; c < 4u; c++) {
                    const float s = score[j][c], unit = SOFTCAP ? 1.0f : factor[c >> 1];
                    score[j][c] = EXP2(FMA(s, unit, -base[c >> 1]));
                    sums[c] += score[j][c];
                }
            }
            UNROLL
            for (uint r = 0u; r < 2u; r++)
                total[r] = FMA(total[r], kept[r], sums[2u * r] + sums[2u * r + 1u]);
            UNROLL
            for (uint d = 0u; d < HEAD / 8u; d++) {
                UNROLL
                for (uint c = 0u; c < 4u; c++) sum[d][c] *= kept[c >> 1];
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
                    const uint4 *chunk = value_tile + (value_turn ^ (d & MASK));
                    mma_load_turned(b, chunk + ((d & ~MASK) + t * 16u * CHUNKS));
                    UNROLL
                    for (uint c = TERMS; c-- > 0u;) {
                        MMA(sum[d], a[c], b);
                        MMA(sum[d + 1u], a[c], b + 2);
                    }
                }
            }
        }
    }
    UNROLL
    for (uint r = 0u; r < 2u; r++) {
        float all = total[r] + SG_SHUFFLE_XOR(total[r], 1u);
        all += SG_SHUFFLE_XOR(all, 2u);
        if (first + g + 8u * r < rows) {
            const float share = PARTS ? 1.0f : all == 0.0f ? 0.0f : 1.0f / all;
            UNROLL
            for (uint d = 0u; d < HEAD / 8u; d++) {
                UNROLL
                for (uint c = 0u; c < 2u; c++) {
                    const uint feature = d * 8u + i * 2u + c;
                    if (feature < p.head_dim)
                        STORE(OT, out, out0[r] + feature, sum[d][2u * r + c] * share);
                }
            }
            if (PARTS && i < 2u) STORE(OT, out, out0[r] + p.head_dim + i, i == 0u ? top[r] : all);
        }
    }
}
