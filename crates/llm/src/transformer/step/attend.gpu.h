/* Attention of one position: turns its queries and its key, adds key and value to the cache, and
   attends over one of PARTS parts of the positions. A group of threads takes HEADS_HERE heads that
   share their keys; LANES lanes take a key, eight features each, and keep a softmax of their own.
   Defines: D (features of a head), GROUP_HEADS (heads that share keys), KV_HEADS, TURNED (features
   that turn), NEIGHBOURS (pairs are 2i and 2i + 1), HEAD_NORM (queries and keys are normed), WINDOW
   (positions that are seen; 0: all). */
#define WARPS (WG / 32u)
#define KEYS_PER_WARP (32u / LANES)
#define KEYS_AT_ONCE (WARPS * KEYS_PER_WARP)
#define BLOCKS (GROUP_HEADS / HEADS_HERE)
#define ALL (HEADS_HERE + 1u)
#define PAIRS (ALL * (D / 2u))
#define PAIRS_PER_THREAD ((PAIRS + WG - 1u) / WG)
/* Where the features of head n here start among those of all: queries, keys, values. */
#define HEAD_AT(n) (((n) < HEADS_HERE ? first_head + (n) : KV_HEADS * GROUP_HEADS + kv_head) * D)
#define VALUE_AT ((KV_HEADS * GROUP_HEADS + KV_HEADS + kv_head) * D)
#define PAIR_TURNS(pair) ((pair) < TURNED / 2u)
#if NEIGHBOURS
#define PAIR_FIRST(pair) (2u * (pair))
#define PAIR_SECOND(pair) (2u * (pair) + 1u)
#else
#define PAIR_FIRST(pair) (PAIR_TURNS(pair) ? (pair) : 2u * (pair))
#define PAIR_SECOND(pair) (PAIR_TURNS(pair) ? (pair) + TURNED / 2u : 2u * (pair) + 1u)
#endif
#define LOAD_KEY(key)                                                                     \
    {                                                                                     \
        const uint from_ = (key) < position ? (key) : 0u;                                 \
        const ulong at_ = ((row0 + (from_ > p.base ? from_ - p.base : 0u)) * D + feature) / 8u; \
        LOAD_WORDS4(key_words, keys, at_);                                                \
        LOAD_WORDS4(value_words, values, at_);                                            \
    }
KERNEL(step_attend, WG)(IN(f32, qkv), IN(f32, q_norm), IN(f32, k_norm), IN(f32, cosines),
    IN(f32, sines), IN(u32, state), INOUT(f16, keys), INOUT(f16, values), OUT(f32, out),
    OUT(f32, tops), PARAMS(AttendParams)) {
    /* The queries, and behind them the key, turned. */
    SHARED float turned[ALL * D];
#if HEAD_NORM
    SHARED float sizes[ALL];
#endif
    SHARED float merged[WARPS * HEADS_HERE * D];
    SHARED float marks[WARPS * HEADS_HERE * 2u];
    SG_SCRATCH(WG)
    const uint part = GRP_X % PARTS, block = GRP_X / PARTS;
    const uint kv_head = block / BLOCKS, first_head = block * HEADS_HERE;
    const ulong row0 = (ulong)kv_head * p.len_max;
    const uint lane = SG_LANE % LANES, group = SG_ID * KEYS_PER_WARP + SG_LANE / LANES;
    /* Lanes behind the last feature repeat another's work, times zero. */
    const uint feature = lane * 8u < D ? lane * 8u : 0u;
    const float used = lane * 8u < D ? 1.0f : 0.0f;

    /* The position, and the keys before it, were there before the forerunner began. */
    const uint position = state[0];
    float cosine[PAIRS_PER_THREAD], sine[PAIRS_PER_THREAD];
    UNROLL
    for (uint i = 0u; i < PAIRS_PER_THREAD; i++) {
        const uint pair = (TID + i * WG) % (D / 2u);
        const uint at = position * (TURNED / 2u) + (PAIR_TURNS(pair) ? pair : 0u);
        cosine[i] = PAIR_TURNS(pair) ? cosines[at] : 1.0f;
        sine[i] = PAIR_TURNS(pair) ? sines[at] : 0.0f;
    }
    const uint first = WINDOW != 0u && position + 1u > WINDOW ? position + 1u - WINDOW : 0u;
    const uint share =
        (position + PARTS * KEYS_AT_ONCE - first) / (PARTS * KEYS_AT_ONCE) * KEYS_AT_ONCE;
    const uint from = first + part * share;
    const uint end = from + share < position + 1u ? from + share : position + 1u;
    uint key_words[4], value_words[4];
    LOAD_KEY(from + group)
    AFTER_INPUTS();

    float own_value[8];
    UNROLL
    for (uint j = 0u; j < 8u; j++) own_value[j] = qkv[VALUE_AT + feature + j];
#if HEAD_NORM
    for (uint start = 0u; start < ALL; start += WARPS) {
        const uint n = start + SG_ID < ALL ? start + SG_ID : ALL - 1u;
        float squares = 0.0f;
        for (uint d = SG_LANE; d < D; d += 32u)
            squares = FMA(qkv[HEAD_AT(n) + d], qkv[HEAD_AT(n) + d], squares);
        squares = SG_SUM(squares);
        if (SG_LANE == 0u) sizes[n] = RSQRT(FMA(squares, 1.0f / (float)D, p.eps));
    }
    BARRIER();
#define NORMED(n, d) (qkv[HEAD_AT(n) + (d)] * sizes[n] * ((n) < HEADS_HERE ? q_norm[d] : k_norm[d]))
#else
#define NORMED(n, d) qkv[HEAD_AT(n) + (d)]
#endif
    float firsts[PAIRS_PER_THREAD], seconds[PAIRS_PER_THREAD];
    UNROLL
    for (uint i = 0u; i < PAIRS_PER_THREAD; i++) {
        const uint at = TID + i * WG < PAIRS ? TID + i * WG : PAIRS - 1u;
        const uint n = at / (D / 2u), pair = at % (D / 2u);
        firsts[i] = NORMED(n, PAIR_FIRST(pair));
        seconds[i] = NORMED(n, PAIR_SECOND(pair));
    }
    UNROLL
    for (uint i = 0u; i < PAIRS_PER_THREAD; i++) {
        const uint n = (TID + i * WG) / (D / 2u), pair = (TID + i * WG) % (D / 2u);
        if (n < ALL) {
            const float a = firsts[i] * cosine[i] - seconds[i] * sine[i];
            const float b = firsts[i] * sine[i] + seconds[i] * cosine[i];
            turned[n * D + PAIR_FIRST(pair)] = n < HEADS_HERE ? a * p.scale : F16_ROUND(a);
            turned[n * D + PAIR_SECOND(pair)] = n < HEADS_HERE ? b * p.scale : F16_ROUND(b);
        }
    }
    BARRIER();
    float q[HEADS_HERE][8], sums[HEADS_HERE][8], top[HEADS_HERE], total[HEADS_HERE];
    UNROLL
    for (uint n = 0u; n < HEADS_HERE; n++) {
        top[n] = -INF;
        total[n] = 0.0f;
        UNROLL
        for (uint j = 0u; j < 8u; j++) {
            q[n][j] = turned[n * D + feature + j] * used;
            sums[n][j] = 0.0f;
        }
    }
    /* All threads take as many rounds. */
    for (uint start = from; start < end; start += KEYS_AT_ONCE) {
        const uint key = start + group;
        const bool seen = key < end;
        float k[8], v[8];
        UNROLL
        for (uint j = 0u; j < 8u; j++) {
            k[j] = F16_BITS(key_words[j >> 1] >> ((j & 1u) * 16u));
            v[j] = seen ? F16_BITS(value_words[j >> 1] >> ((j & 1u) * 16u)) : 0.0f;
        }
        if (start + KEYS_AT_ONCE < end) LOAD_KEY(key + KEYS_AT_ONCE)
        /* The position's own is not in the cache yet. */
        if (key == position) {
            UNROLL
            for (uint j = 0u; j < 8u; j++) {
                k[j] = turned[HEADS_HERE * D + feature + j];
                v[j] = F16_ROUND(own_value[j]);
            }
        }
        UNROLL
        for (uint n = 0u; n < HEADS_HERE; n++) {
            float score = 0.0f;
            UNROLL
            for (uint j = 0u; j < 8u; j++) score = FMA(q[n][j], k[j], score);
            UNROLL
            for (uint m = LANES / 2u; m > 0u; m >>= 1) score += SG_SHUFFLE_XOR(score, m);
            score = seen ? score : -INF;
            const float next = fmax(top[n], score);
            const float base = next == -INF ? 0.0f : next;
            const float weight = exp(score - base), kept = exp(top[n] - base);
            top[n] = next;
            total[n] = FMA(total[n], kept, weight);
            UNROLL
            for (uint j = 0u; j < 8u; j++) sums[n][j] = FMA(sums[n][j], kept, weight * v[j]);
        }
    }
    /* The lanes of a warp, then the warps. */
    UNROLL
    for (uint n = 0u; n < HEADS_HERE; n++) {
        float high = top[n];
        UNROLL
        for (uint m = LANES; m < 32u; m <<= 1) high = fmax(high, SG_SHUFFLE_XOR(high, m));
        const float kept = exp(top[n] - (high == -INF ? 0.0f : high));
        float sum = total[n] * kept;
        UNROLL
        for (uint m = LANES; m < 32u; m <<= 1) sum += SG_SHUFFLE_XOR(sum, m);
        UNROLL
        for (uint j = 0u; j < 8u; j++) {
            float one = sums[n][j] * kept;
            UNROLL
            for (uint m = LANES; m < 32u; m <<= 1) one += SG_SHUFFLE_XOR(one, m);
            if (SG_LANE < LANES && SG_LANE * 8u < D)
                merged[(SG_ID * HEADS_HERE + n) * D + feature + j] = one;
        }
        if (SG_LANE == 0u) {
            marks[(SG_ID * HEADS_HERE + n) * 2u] = high;
            marks[(SG_ID * HEADS_HERE + n) * 2u + 1u] = sum;
        }
    }
    BARRIER();
    for (uint i = TID; i < HEADS_HERE * D; i += WG) {
        const uint n = i / D;
        float high = -INF, one = 0.0f, sum = 0.0f;
        UNROLL
        for (uint w = 0u; w < WARPS; w++) high = fmax(high, marks[(w * HEADS_HERE + n) * 2u]);
        const float base = high == -INF ? 0.0f : high;
        UNROLL
        for (uint w = 0u; w < WARPS; w++) {
            const uint at = w * HEADS_HERE + n;
            const float kept = exp(marks[at * 2u] - base);
            sum = FMA(marks[at * 2u + 1u], kept, sum);
            one = FMA(merged[at * D + i % D], kept, one);
        }
        const uint to = (first_head + n) * PARTS + part;
        out[(ulong)to * D + i % D] = one;
        if (i % D == 0u) {
            tops[2u * to] = high;
            tops[2u * to + 1u] = sum;
        }
    }
    if (part == 0u && block % BLOCKS == 0u && SG_ID == 0u && SG_LANE * 8u < D) {
        const ulong at = (row0 + (position - p.base)) * D + feature;
        UNROLL
        for (uint j = 0u; j < 8u; j++) {
            STORE(f16, keys, at + j, turned[HEADS_HERE * D + feature + j]);
            STORE(f16, values, at + j, own_value[j]);
        }
    }
}
