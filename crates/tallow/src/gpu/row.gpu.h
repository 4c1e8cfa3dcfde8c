/* A row, shared by LANES threads: the whole group, or 32 of it. A thread loads KEPT packs of EACH
   neighbours at a time, as v[ROW_VALUES]; with the define HELD that is all of its share, which stays
   in registers, else each ROW_FOR loads it anew. All threads of a group come to ROW_MAX and ROW_SUM,
   each of which has its own `part`: ROW_PART. Defines: XT, WIDE (1 for f64), EACH, LANES, KEPT. */
#define T CT(XT)
#define ROW_VALUES (KEPT * EACH)
#if LANES == WG
#define ROW_LANE TID
#define ROW_NUMBER_ ((ulong)GRP_X)
#else
#define ROW_LANE (TID % LANES)
#define ROW_NUMBER_ ((ulong)GRP_X * (WG / LANES) + TID / LANES)
#endif
/* Rows past the last do its work again and write nothing. */
#define ROW_PLACE(rows_)                                                    \
    const ulong cols = (rows_).cols;                                        \
    const uint live = ROW_NUMBER_ < (rows_).rows;                           \
    const ulong row = live ? ROW_NUMBER_ : (rows_).rows - 1u;               \
    const ulong to = row * cols, step = (rows_).col_stride;                 \
    ulong from;                                                             \
    STRIDED(from, (index_t)row, (rows_).dims, (rows_).strides)              \
    from += (rows_).offset;                                                 \
    T v[ROW_VALUES];
/* Where a thread's pack k of the stretch that starts at base_ is. */
#define ROW_AT(k) (base_ + (ulong)(((k) * LANES + ROW_LANE) * EACH))
#define ROW_HAS(i) (ROW_AT((i) / EACH) < cols)
#define ROW_READ_(x, absent)                                                \
    UNROLL                                                                  \
    for (uint k_ = 0u; k_ < KEPT; k_++) {                                   \
        if (ROW_AT(k_) < cols) {                                            \
            PACK(XT) pack_;                                                 \
            PACK_LOAD(XT, pack_, x, from + ROW_AT(k_) * step)               \
            UNROLL                                                          \
            for (uint j_ = 0u; j_ < EACH; j_++)                             \
                v[k_ * EACH + j_] = PACK_GET(XT, pack_, j_);                \
        } else {                                                            \
            UNROLL                                                          \
            for (uint j_ = 0u; j_ < EACH; j_++) v[k_ * EACH + j_] = absent; \
        }                                                                   \
    }
#ifdef HELD
#define ROW_READ(x, absent) { const ulong base_ = 0ul; ROW_READ_(x, absent) }
#define ROW_FOR(x, absent, STEP) { const ulong base_ = 0ul; STEP }
#else
#define ROW_READ(x, absent)
#define ROW_FOR(x, absent, STEP)                                            \
    for (ulong base_ = 0ul; base_ < cols; base_ += (ulong)(LANES * ROW_VALUES)) { \
        ROW_READ_(x, absent)                                                \
        STEP                                                                \
    }
#endif
#define ROW_EACH(STEP)                                                      \
    UNROLL                                                                  \
    for (uint i = 0u; i < ROW_VALUES; i++) { STEP }
#if WIDE
#define ROW_PART(name) SHARED T name[WG];
#define ROW_TREE_(result, value, part, FOLD)                                \
    {                                                                       \
        (part)[TID] = (value);                                              \
        BARRIER();                                                          \
        for (uint half_ = LANES / 2; half_ > 0u; half_ >>= 1) {             \
            if (ROW_LANE < half_) {                                         \
                const T a_ = (part)[TID], b_ = (part)[TID + half_];         \
                (part)[TID] = FOLD(a_, b_);                                 \
            }                                                               \
            BARRIER();                                                      \
        }                                                                   \
        result = (part)[TID - ROW_LANE];                                    \
    }
#define ROW_PLUS_(a, b) ((a) + (b))
#define ROW_MORE_(a, b) ((a) > (b) ? (a) : (b))
#define ROW_SUM(result, value, part) ROW_TREE_(result, value, part, ROW_PLUS_)
#define ROW_MAX(result, value, part) ROW_TREE_(result, value, part, ROW_MORE_)
#elif LANES == WG
#define ROW_PART(name) SHARED float name[WG / 32];
#define ROW_SUM(result, value, part) GROUP_SUM(result, value, part)
#define ROW_MAX(result, value, part) GROUP_MAX(result, value, part)
#else
#define ROW_PART(name)
#define ROW_SUM(result, value, part) result = SG_SUM(value);
#define ROW_MAX(result, value, part) result = SG_MAX(value);
#endif
