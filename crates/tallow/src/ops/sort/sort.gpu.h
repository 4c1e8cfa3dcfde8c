/* Rows of keys with their places, by bitonic networks (Batcher 1968): pairs (key, place) differ, so
   that any network is stable. STAGE 0 sorts whole rows in shared memory; longer rows are padded to
   a power of two in device memory and sorted in blocks (1), merged across blocks (2) and within
   them (3), and their first places taken (4). Defines: STAGE, XT, KT (u32 or i64: the keys'),
   WIDE (1 for keys of 64 bits), INTEGER, ASCENDING. */
#define BLOCK 2048u
#if WIDE
typedef ulong key_t_;
#define KEY_SIGN ((ulong)1 << 63)
#define KEY_BITS(v) AS_ULONG(v)
#else
typedef uint key_t_;
#define KEY_SIGN 0x80000000u
#define KEY_BITS(v) AS_UINT(v)
#endif
#define KEY_LAST (~(key_t_)0)
#if STAGE < 2
/* An unsigned integer of the same order; NaN is the last in either direction. */
FN key_t_ sort_key(CT(XT) v) {
#if INTEGER
    const key_t_ rising = (key_t_)v ^ ((CT(XT))-1 < (CT(XT))0 ? KEY_SIGN : (key_t_)0);
#else
    if (IS_NAN(v)) return KEY_LAST;
    /* Both zeros are equal. */
    const key_t_ bits = v == (CT(XT))0 ? (key_t_)0 : (key_t_)KEY_BITS(v);
    const key_t_ rising = (bits & KEY_SIGN) != 0 ? ~bits : bits | KEY_SIGN;
#endif
#if ASCENDING
    return rising;
#else
    return ~rising;
#endif
}
#endif
/* Exchanges two of an array if they are not in the order that `rises` says. */
#define SORT_PAIR(keys, places, i, l, rises)                                \
    {                                                                       \
        const key_t_ a_ = (key_t_)(keys)[i], b_ = (key_t_)(keys)[l];        \
        const uint c_ = (places)[i], d_ = (places)[l];                      \
        const uint above_ = a_ > b_ || (a_ == b_ && c_ > d_) ? 1u : 0u;     \
        if (above_ == (rises)) {                                            \
            (keys)[i] = (ST(KT))b_;                                         \
            (keys)[l] = (ST(KT))a_;                                         \
            (places)[i] = d_;                                               \
            (places)[l] = c_;                                               \
        }                                                                   \
    }
/* The steps of distance `first` and below over a block, whose element 0 is `start` of its row. */
#define SORT_STEPS(first, rises)                                            \
    for (uint j_ = (first); j_ > 0u; j_ >>= 1) {                            \
        for (uint t_ = TID; t_ < BLOCK / 2u; t_ += WG) {                    \
            const uint i = 2u * t_ - (t_ & (j_ - 1u));                      \
            SORT_PAIR(keys, places, i, i + j_, rises)                       \
        }                                                                   \
        BARRIER();                                                          \
    }
#define SORT_LOAD(e, row, col)                                              \
    {                                                                       \
        key_t_ key_ = KEY_LAST;                                             \
        if ((row) < p.rows && (col) < p.cols) {                             \
            ulong at_;                                                      \
            STRIDED(at_, (index_t)(row), p.dims, p.strides)                 \
            key_ = sort_key(LOAD(XT, x, p.offset + at_ + (col) * p.col_stride)); \
        }                                                                   \
        keys[e] = (ST(KT))key_;                                             \
        places[e] = (uint)(col);                                            \
    }

#if STAGE == 0
KERNEL(sort_rows, WG)(IN(XT, x), OUT(u32, y), PARAMS(SortParams)) {
    SHARED ST(KT) keys[BLOCK];
    SHARED uint places[BLOCK];
    AFTER_INPUTS();
    const uint width = 1u << p.shift;
    const ulong first = (ulong)GRP_X * (BLOCK >> p.shift);
    for (uint e = TID; e < BLOCK; e += WG) {
        const ulong row = first + (e >> p.shift), col = e & (width - 1u);
        SORT_LOAD(e, row, col)
    }
    BARRIER();
    for (uint k = 2u; k <= width; k <<= 1) {
        SORT_STEPS(k >> 1, ((i & (width - 1u) & k) == 0u ? 1u : 0u))
    }
    for (uint e = TID; e < BLOCK; e += WG) {
        const ulong row = first + (e >> p.shift), col = e & (width - 1u);
        if (row < p.rows && col < p.count) y[row * p.count + col] = places[e];
    }
}
#elif STAGE == 1
KERNEL(sort_blocks, WG)(IN(XT, x), OUT(KT, out_keys), OUT(u32, out_places), PARAMS(SortParams)) {
    SHARED ST(KT) keys[BLOCK];
    SHARED uint places[BLOCK];
    AFTER_INPUTS();
    const ulong row = (ulong)GRP_X >> (p.shift - 11u);
    const ulong start = ((ulong)GRP_X << 11) & (((ulong)1 << p.shift) - 1u);
    for (uint e = TID; e < BLOCK; e += WG) {
        const ulong col = start + e;
        SORT_LOAD(e, row, col)
    }
    BARRIER();
    for (uint k = 2u; k <= BLOCK; k <<= 1) {
        SORT_STEPS(k >> 1, (((start + i) & k) == 0u ? 1u : 0u))
    }
    for (uint e = TID; e < BLOCK; e += WG) {
        out_keys[(ulong)GRP_X * BLOCK + e] = keys[e];
        out_places[(ulong)GRP_X * BLOCK + e] = places[e];
    }
}
#elif STAGE == 2
KERNEL(sort_step, WG)(INOUT(KT, keys), INOUT(u32, places), PARAMS(SortParams)) {
    AFTER_INPUTS();
    for (uint t = TID; t < BLOCK / 2u; t += WG) {
        const ulong pair = (ulong)GRP_X * (BLOCK / 2u) + t;
        const ulong i = 2u * pair - (pair & (p.step - 1u));
        const ulong col = i & (((ulong)1 << p.shift) - 1u);
        SORT_PAIR(keys, places, i, i + p.step, ((col & p.run) == 0u ? 1u : 0u))
    }
}
#elif STAGE == 3
KERNEL(sort_merge, WG)(INOUT(KT, all_keys), INOUT(u32, all_places), PARAMS(SortParams)) {
    SHARED ST(KT) keys[BLOCK];
    SHARED uint places[BLOCK];
    AFTER_INPUTS();
    const ulong first = (ulong)GRP_X * BLOCK;
    const ulong col = first & (((ulong)1 << p.shift) - 1u);
    const uint rises = (col & p.run) == 0u ? 1u : 0u;
    for (uint e = TID; e < BLOCK; e += WG) {
        keys[e] = all_keys[first + e];
        places[e] = all_places[first + e];
    }
    BARRIER();
    SORT_STEPS(BLOCK / 2u, rises)
    for (uint e = TID; e < BLOCK; e += WG) {
        all_keys[first + e] = keys[e];
        all_places[first + e] = places[e];
    }
}
#else
KERNEL(sort_take, WG)(IN(u32, places), OUT(u32, y), PARAMS(SortParams)) {
    AFTER_INPUTS();
    const ulong i = (ulong)GRP_X * WG + TID;
    const ulong row = i / p.count;
    if (row < p.rows) y[i] = places[(row << p.shift) + (i - row * p.count)];
}
#endif
