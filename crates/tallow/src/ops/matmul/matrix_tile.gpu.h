/* The product of two tiles in shared memory by Metal's matrices: four subgroups, two by two, have
   TILE_M x TILE_N results. `left` holds TILE_M rows of STEP numbers, LEFT apart, `right` STEP rows
   of TILE_N numbers, RIGHT apart. */
#define LEFT (STEP + ROW_PAD)
#define RIGHT (TILE_N + ROW_PAD)
/* What a subgroup has, and where that starts. */
#define OWN_M (TILE_M / 2u)
#define OWN_N (TILE_N / 2u)
#define OWN_M0 ((SG_ID >> 1) * OWN_M)
#define OWN_N0 ((SG_ID & 1u) * OWN_N)
#define PRODUCTS_START(sum)                                                                     \
    products_t sum[OWN_M / 8u][OWN_N / 8u];                                                     \
    UNROLL                                                                                      \
    for (uint i_ = 0u; i_ < OWN_M / 8u; i_++) {                                                 \
        UNROLL                                                                                  \
        for (uint j_ = 0u; j_ < OWN_N / 8u; j_++) sum[i_][j_] = NO_PRODUCTS();                  \
    }
#define PRODUCTS_STEP(sum, left, right)                                                         \
    UNROLL                                                                                      \
    for (uint k_ = 0u; k_ < STEP; k_ += 8u) {                                                   \
        factor_t a_[OWN_M / 8u], b_[OWN_N / 8u];                                                \
        UNROLL                                                                                  \
        for (uint i_ = 0u; i_ < OWN_M / 8u; i_++)                                               \
            simdgroup_load(a_[i_], left + (OWN_M0 + i_ * 8u) * LEFT + k_, LEFT);                \
        UNROLL                                                                                  \
        for (uint j_ = 0u; j_ < OWN_N / 8u; j_++)                                               \
            simdgroup_load(b_[j_], right + k_ * RIGHT + OWN_N0 + j_ * 8u, RIGHT);               \
        UNROLL                                                                                  \
        for (uint i_ = 0u; i_ < OWN_M / 8u; i_++) {                                             \
            UNROLL                                                                              \
            for (uint j_ = 0u; j_ < OWN_N / 8u; j_++)                                           \
                simdgroup_multiply_accumulate(sum[i_][j_], a_[i_], b_[j_], sum[i_][j_]);        \
        }                                                                                       \
    }
/* Each result `value_` with its row `m_` and column `n_` of the tile, through `results`, SHARED
   float[RESULTS]: eight rows at a time, each subgroup by itself. */
#define RESULTS (WG / 32u * 8u * OWN_N)
#define PRODUCTS_END(sum, results, KEEP)                                                        \
    {                                                                                           \
        SHARED_P float *own_ = results + SG_ID * 8u * OWN_N;                                    \
        UNROLL                                                                                  \
        for (uint i_ = 0u; i_ < OWN_M / 8u; i_++) {                                             \
            UNROLL                                                                              \
            for (uint j_ = 0u; j_ < OWN_N / 8u; j_++)                                           \
                simdgroup_store(sum[i_][j_], own_ + j_ * 8u, OWN_N);                            \
            SG_BARRIER();                                                                       \
            for (uint e_ = SG_LANE; e_ < 8u * OWN_N; e_ += 32u) {                               \
                const uint m_ = OWN_M0 + i_ * 8u + e_ / OWN_N, n_ = OWN_N0 + e_ % OWN_N;        \
                const float value_ = own_[e_];                                                  \
                KEEP                                                                            \
            }                                                                                   \
            SG_BARRIER();                                                                       \
        }                                                                                       \
    }
