/* ROWS query rows of one head of keys, 128 threads. A row is a query position of a head; the heads
   that share keys are neighbours, so that a key that is read serves them all. Keys go by tiles, a
   key a thread: they pass through shared memory, PACKS packs of 16 bytes of each at a time, and the
   next are on their way while a thread multiplies its own with the queries. For the values a thread
   has a pack of features, and every slots-th key of the tile. With PARTS a group has one of p.parts
   shares of the keys, and leaves its sums, their top and total for attention_join. Defines: XT
   (queries), KT (keys, values), EACH (elements of these in a pack), OT (results; f32 with PARTS),
   PARTS (0 or 1). */
#define ROWS 4u
#define TILE WG
#define PACKS 8u
#define SPAN (PACKS * EACH)
/* Odd, so that the packs of eight neighbours lie in all banks. */
#define PITCH (PACKS + 1u)
/* Packs of values that are on their way at once. */
#define BATCH 4u
#define HEAD_DIM_MAX 512u
/* From feature to feature of the threads' sums; not all in one bank. */
#define SUMS_PITCH (WG + 4u)
/* Scores are in units of ln 2: a weight is a power of two. */
#define LOG2E 1.44269504f

/* An element's bits, and its value within the words of a pack. */
typedef uint few_f32;
typedef ushort few_f16;
typedef ushort few_bf16;
#define BITS CAT(few_, KT)
#define FEW_f32(words, j) AS_FLOAT((words)[j])
#define FEW_f16(words, j) F16_BITS((words)[(j) >> 1] >> ((j) & 1u) * 16u)
#define FEW_bf16(words, j) \
    AS_FLOAT(((j) & 1u) != 0u ? (words)[(j) >> 1] & 0xffff0000u : (words)[(j) >> 1] << 16)

/* How keys or values of a head lie; whole if each pack of them is one load. */
typedef struct { ulong start, position, feature; bool whole; } few_lie;
FN few_lie few_lies(ulong start, ulong position, ulong feature, uint head_dim) {
    few_lie lie;
    lie.start = start;
    lie.position = position;
    lie.feature = feature;
    lie.whole = feature == 1ul && (((uint)start | (uint)position | head_dim) & (EACH - 1u)) == 0u;
    return lie;
}

/* Of SPAN features from d0 on of a tile of keys, thread t's packs; neighbouring threads take
   neighbours in memory. */
FN void few_bring(PRIVATE_P uint *coming, GLOBAL const ST(KT) *k, few_lie lie, uint t, uint tile,
                  uint end, uint d0, uint head_dim) {
    const uint key = tile + t / PACKS, d = d0 + t % PACKS * EACH;
    ulong at = lie.start + key * lie.position + d;
    UNROLL
    for (uint s = 0u; s < PACKS; s++) {
        UNROLL
        for (uint w = 0u; w < 4u; w++) coming[4u * s + w] = 0u;
        if (d < head_dim && key + s * (WG / PACKS) < end) LOAD_WORDS4(coming + 4u * s, k + at, 0u);
        at += WG / PACKS * lie.position;
    }
}
FN void few_put(SHARED_P uint *keys, PRIVATE_P const uint *coming, uint t) {
    UNROLL
    for (uint s = 0u; s < PACKS; s++) {
        const uint key = t / PACKS + s * (WG / PACKS), place = key * PITCH + t % PACKS;
        UNROLL
        for (uint w = 0u; w < 4u; w++) keys[place * 4u + w] = coming[4u * s + w];
    }
}
/* The same element by element, however they lie. */
FN void few_bring_each(SHARED_P uint *keys, GLOBAL const ST(KT) *k, few_lie lie, uint t,
                       uint tile, uint end, uint d0, uint head_dim) {
    for (uint e = t; e < TILE * SPAN; e += WG) {
        const uint key = lie.position == 1ul ? e % TILE : e / SPAN;
        const uint d = lie.position == 1ul ? e / TILE : e % SPAN;
        const bool there = tile + key < end && d0 + d < head_dim;
        const ulong at = lie.start + (tile + key) * lie.position + (d0 + d) * lie.feature;
        ((SHARED_P BITS *)keys)[key * (PITCH * EACH) + d] =
            there ? ((GLOBAL const BITS *)k)[at] : (BITS)0;
    }
}

/* A value's feature, by the weights that the rows give the key. */
#define FEW_ADD(j, x) \
    UNROLL            \
    for (uint r = 0u; r < ROWS; r++) sums[r][j] = FMA(factors[r], x, sums[r][j]);

KERNEL(attention_few, WG)(IN(XT, q), IN(KT, k), IN(KT, v), OUT(OT, out), PARAMS(AttentionParams)) {
    SHARED float query[HEAD_DIM_MAX * ROWS];
    SHARED uint keys[TILE * PITCH * 4];
    SHARED float weights[TILE * ROWS];
    SHARED float tops[WG / 32 * ROWS];
    SG_SCRATCH(WG)
    AFTER_INPUTS();
    const uint t = TID, parts = PARTS ? p.parts : 1u;
    const uint rows = p.q_len * p.group, row_tiles = (rows + ROWS - 1u) / ROWS;
    const uint row0 = GRP_X / parts % row_tiles * ROWS, rest = GRP_X / parts / row_tiles;
    const uint kv_heads = p.heads / p.group, kv_head = rest % kv_heads, batch = rest / kv_heads;
    const ulong k0 = p.k.offset + batch * p.k.batch + kv_head * p.k.head;
    const ulong v0 = p.v.offset + batch * p.v.batch + kv_head * p.v.head;
    const few_lie k_lie = few_lies(k0, p.k.position, p.k.feature, p.head_dim);
    const few_lie v_lie = few_lies(v0, p.v.position, p.v.feature, p.head_dim);
    uint from[ROWS], to[ROWS];
    float top[ROWS], total[ROWS], sums[ROWS][EACH];
    UNROLL
    for (uint r = 0u; r < ROWS; r++) {
        const uint row = row0 + r < rows ? row0 + r : rows - 1u, position = row / p.group;
        const uint head = kv_head * p.group + row % p.group;
        const ulong at = p.q.offset + batch * p.q.batch + head * p.q.head + position * p.q.position;
        const float factor = p.softcap != 0.0f ? p.scale : p.scale * LOG2E;
        for (uint d = t; d < (p.head_dim + SPAN - 1u) / SPAN * SPAN; d += WG) {
            const float x = d < p.head_dim ? LOAD(XT, q, at + d * p.q.feature) : 0.0f;
            query[d * ROWS + r] = x * factor;
        }
        from[r] = SEES_FROM(position);
        to[r] = SEES_END(position);
        top[r] = -INF;
        total[r] = 0.0f;
        UNROLL
        for (uint j = 0u; j < EACH; j++) sums[r][j] = 0.0f;
    }
    uint begin = from[0], end = to[ROWS - 1u];
    if (PARTS) {
        /* Whole tiles each. */
        const uint share = ((end - begin + parts - 1u) / parts + TILE - 1u) / TILE * TILE;
        const uint skipped = GRP_X % parts * share;
        begin = skipped < end - begin ? begin + skipped : end;
        end = end - begin < share ? end : begin + share;
    }
    const bool v_turned = p.v.position == 1ul;
    const uint packs = p.head_dim > EACH ? (p.head_dim + EACH - 1u) / EACH : 1u, slots = WG / packs;
    const uint pack_step = v_turned ? slots : 1u, slot_step = v_turned ? 1u : packs;
    const uint d_own = (v_turned ? t / slots : t % packs) * EACH;
    const uint slot = t >= slots * packs ? TILE : v_turned ? t % slots : t / packs;
    uint coming[PACKS * 4u];
    if (k_lie.whole) few_bring(coming, k, k_lie, t, begin, end, 0u, p.head_dim);
    for (uint tile = begin; tile < end; tile += TILE) {
        float score[ROWS] = {0.0f, 0.0f, 0.0f, 0.0f};
        for (uint d0 = 0u; d0 < p.head_dim; d0 += SPAN) {
            BARRIER();
            if (k_lie.whole) few_put(keys, coming, t);
            else few_bring_each(keys, k, k_lie, t, tile, end, d0, p.head_dim);
            BARRIER();
            const bool is_last = d0 + SPAN >= p.head_dim;
            if (k_lie.whole)
                few_bring(coming, k, k_lie, t, is_last ? tile + TILE : tile, end,
                          is_last ? 0u : d0 + SPAN, p.head_dim);
            UNROLL
            for (uint i = 0u; i < PACKS; i++) {
                uint words[4];
                UNROLL
                for (uint w = 0u; w < 4u; w++) words[w] = keys[(t * PITCH + i) * 4u + w];
                UNROLL
                for (uint j = 0u; j < EACH; j++) {
                    const float x = CAT(FEW_, KT)(words, j);
                    float factors[ROWS];
                    LOAD_FLOATS4(factors, SHARED_P, query, d0 + i * EACH + j);
                    UNROLL
                    for (uint r = 0u; r < ROWS; r++) score[r] = FMA(factors[r], x, score[r]);
                }
            }
        }
        UNROLL
        for (uint r = 0u; r < ROWS; r++) {
            float s = score[r];
            if (p.softcap != 0.0f) s = p.softcap * LOG2E * tanh(s / p.softcap);
            score[r] = tile + t >= from[r] && tile + t < to[r] && tile + t < end ? s : -INF;
            const float most = SG_MAX(score[r]);
            if (SG_LANE == 0u) tops[SG_ID * ROWS + r] = most;
        }
        BARRIER();
        UNROLL
        for (uint r = 0u; r < ROWS; r++) {
            /* A NaN among the scores is nobody's maximum, and makes the sums NaN. */
            float most = top[r];
            for (uint s = 0u; s < WG / 32; s++) most = fmax(most, tops[s * ROWS + r]);
            const float base = most == -INF ? 0.0f : most;
            const float kept = top[r] == -INF ? 0.0f : EXP2(top[r] - base);
            const float weight = EXP2(score[r] - base);
            weights[t * ROWS + r] = weight;
            total[r] = total[r] * kept + weight;
            top[r] = most;
            UNROLL
            for (uint j = 0u; j < EACH; j++) sums[r][j] *= kept;
        }
        BARRIER();
        const uint count = end - tile < TILE ? end - tile : TILE;
        ulong at = v_lie.start + (tile + slot) * v_lie.position + d_own * v_lie.feature;
        const ulong step = slots * v_lie.position;
        for (uint j0 = slot; v_lie.whole && j0 < count; j0 += BATCH * slots) {
            uint words[BATCH][4];
            UNROLL
            for (uint b = 0u; b < BATCH; b++) {
                if (j0 + b * slots < count) LOAD_WORDS4(words[b], v + at, 0u);
                at += step;
            }
            UNROLL
            for (uint b = 0u; b < BATCH; b++) {
                if (j0 + b * slots < count) {
                    float factors[ROWS];
                    LOAD_FLOATS4(factors, SHARED_P, weights, j0 + b * slots);
                    UNROLL
                    for (uint j = 0u; j < EACH; j++) {
                        const float x = CAT(FEW_, KT)(words[b], j);
                        FEW_ADD(j, x)
                    }
                }
            }
        }
        for (uint j0 = slot; !v_lie.whole && j0 < count; j0 += slots) {
            float factors[ROWS];
            LOAD_FLOATS4(factors, SHARED_P, weights, j0);
            UNROLL
            for (uint j = 0u; j < EACH; j++) {
                const float x = d_own + j < p.head_dim ? LOAD(KT, v, at + j * v_lie.feature) : 0.0f;
                FEW_ADD(j, x)
            }
            at += step;
        }
    }
    UNROLL
    for (uint r = 0u; r < ROWS; r++) {
        /* The slots' sums meet where the queries were. */
        BARRIER();
        if (slot < TILE) {
            UNROLL
            for (uint j = 0u; j < EACH; j++) query[j * SUMS_PITCH + t] = sums[r][j];
        }
        float all;
        GROUP_SUM(all, total[r], tops)
        const uint row = row0 + r, head = kv_head * p.group + row % p.group;
        const ulong line = ((ulong)batch * p.heads + head) * p.q_len + row / p.group;
        const ulong pitch = p.head_dim + (PARTS ? 2u : 0u);
        const ulong at = (line * parts + GRP_X % parts) * pitch;
        if (row < rows) {
            for (uint d = t; d < p.head_dim; d += WG) {
                float sum = 0.0f;
                for (uint s = 0u; s < slots; s++)
                    sum += query[d % EACH * SUMS_PITCH + d / EACH * pack_step + s * slot_step];
                STORE(OT, out, at + d, PARTS ? sum : all == 0.0f ? 0.0f : sum / all);
            }
            if (PARTS && t < 2u) STORE(OT, out, at + p.head_dim + t, t == 0u ? top[r] : all);
        }
    }
}
