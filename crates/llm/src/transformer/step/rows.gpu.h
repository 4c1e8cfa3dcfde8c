/* Products of weight rows with one vector x. In shared memory its fours lie as `unit_dot` reads them
   without conflicts; X_PLACE is where element j is. LPR lanes take a row, UNIT weights each
   in turn; the first AHEAD units of a lane are loaded before the vector is there. Defines: K (the
   length of a row, a multiple of UNIT), LPR (a power of two up to 32), and those of the matrices. */
#define WARPS (WG / 32u)
#define ROWS_PER_WARP (32u / LPR)
#define UNITS (K / UNIT)
#define STEPS ((UNITS + LPR - 1u) / LPR)
#define AHEAD (STEPS < 8u ? STEPS : 8u)
#define PER_THREAD ((K + WG - 1u) / WG)
/* The row of this lane, and its place among the lanes of the row. */
#define OWN_ROW ((GRP_X * WARPS + SG_ID) * ROWS_PER_WARP + SG_LANE / LPR)
#define OWN_UNIT(step) (SG_LANE % LPR + (step) * LPR)

#define X_PLACE(j) ((((j) % UNIT) / 4u * UNITS + (j) / UNIT) * 4u + (j) % 4u)
#if X_GLOBAL
#define X_FIRST(unit) ((unit) * 4u)
#define X_STEP 1u
#else
#define X_FIRST(unit) (unit)
#define X_STEP UNITS
#endif

#define LOAD_UNITS(units, w, scales_at, row, from)                                        \
    UNROLL                                                                                \
    for (uint s_ = 0u; s_ < AHEAD; s_++) {                                                \
        const uint at_ = OWN_UNIT((from) + s_);                                           \
        unit_load(&units[s_], w, scales_at,                                               \
            (ulong)(row) * UNITS + (at_ < UNITS ? at_ : UNITS - 1u));                     \
    }
#define DOT_UNITS(sum, units, x, from)                                                    \
    UNROLL                                                                                \
    for (uint s_ = 0u; s_ < AHEAD; s_++) {                                                \
        const uint at_ = OWN_UNIT((from) + s_);                                           \
        if (at_ < UNITS) sum = unit_dot(&units[s_], x, X_FIRST(at_), X_STEP, sum);          \
    }
#define SUM_OF_LANES(sum)                                                                 \
    UNROLL                                                                                \
    for (uint m_ = LPR / 2u; m_ > 0u; m_ >>= 1) sum += SG_SHUFFLE_XOR(sum, m_);

/* Declares this thread's elements of a vector, loaded: all loads before the first use, since the
   compiler moves none past a store. */
#define LOAD_VECTOR(name, from)                                                           \
    float name[PER_THREAD];                                                               \
    UNROLL                                                                                \
    for (uint i_ = 0u; i_ < PER_THREAD; i_++) {                                           \
        const uint j_ = TID + i_ * WG;                                                    \
        name[i_] = j_ < K ? from[j_] : 0.0f;                                              \
    }
#define STORE_X(name)                                                                     \
    UNROLL                                                                                \
    for (uint i_ = 0u; i_ < PER_THREAD; i_++) {                                           \
        const uint j_ = TID + i_ * WG;                                                    \
        if (j_ < K) x[X_PLACE(j_)] = name[i_];                                            \
    }
#define SQUARES(sum, name)                                                                \
    float sum = 0.0f;                                                                     \
    UNROLL                                                                                \
    for (uint i_ = 0u; i_ < PER_THREAD; i_++) sum = FMA(name[i_], name[i_], sum);

/* x = (h + delta) * norm, without the factor of its length, which comes out as `factor`; delta goes
   through a norm of its own first if POST. The first group keeps h + delta. DELTA 0: h alone. */
#if POST
#define POST_NORM(name)                                                                   \
    {                                                                                     \
        SQUARES(squares_, name)                                                           \
        float total_;                                                                     \
        GROUP_SUM(total_, squares_, part)                                                 \
        const float post_ = RSQRT(FMA(total_, 1.0f / (float)K, p.eps));                   \
        UNROLL                                                                            \
        for (uint i_ = 0u; i_ < PER_THREAD; i_++) name[i_] *= post_ * post_weights[i_];   \
        BARRIER();                                                                        \
    }
#else
#define POST_NORM(name)
#endif
#if DELTA
#define ADD_DELTA(sum_)                                                                   \
    LOAD_VECTOR(delta_, delta)                                                            \
    POST_NORM(delta_)                                                                     \
    UNROLL                                                                                \
    for (uint i_ = 0u; i_ < PER_THREAD; i_++) sum_[i_] += delta_[i_];
#define KEEP_SUM(sum_)                                                                    \
    if (GRP_X == 0u) {                                                                    \
        UNROLL                                                                            \
        for (uint i_ = 0u; i_ < PER_THREAD; i_++)                                         \
            if (TID + i_ * WG < K) h_out[TID + i_ * WG] = sum_[i_];                       \
    }
#else
#define ADD_DELTA(sum_)
#define KEEP_SUM(sum_)
#endif
#define RESIDUAL_NORM(factor)                                                             \
    float factor;                                                                         \
    {                                                                                     \
        LOAD_VECTOR(sum_, h)                                                              \
        ADD_DELTA(sum_)                                                                   \
        SQUARES(squares_, sum_)                                                           \
        KEEP_SUM(sum_)                                                                    \
        UNROLL                                                                            \
        for (uint i_ = 0u; i_ < PER_THREAD; i_++) sum_[i_] *= norm_weights[i_];           \
        STORE_X(sum_)                                                                     \
        float total_;                                                                     \
        GROUP_SUM(total_, squares_, part)                                                 \
        factor = RSQRT(FMA(total_, 1.0f / (float)K, p.eps));                              \
    }
