/* The product of two tiles in shared memory: 256 threads of 4 x 4 results of type T. `left` and
   `right` hold STEP rows of TILE numbers, PITCH apart, so that a column's numbers are neighbours. */
#define TILE 64u
#define PITCH 68u
#define TILE_START(sum)                                             \
    T sum[4][4];                                                    \
    UNROLL                                                          \
    for (uint i = 0u; i < 4u; i++) {                                \
        UNROLL                                                      \
        for (uint j = 0u; j < 4u; j++) sum[i][j] = (T)0;            \
    }
#define TILE_STEP(sum, left, right, tx, ty)                         \
    UNROLL                                                          \
    for (uint kk = 0u; kk < STEP; kk++) {                           \
        T a[4], b[4];                                               \
        UNROLL                                                      \
        for (uint i = 0u; i < 4u; i++) a[i] = left[kk * PITCH + ty * 4u + i];  \
        UNROLL                                                      \
        for (uint j = 0u; j < 4u; j++) b[j] = right[kk * PITCH + tx * 4u + j]; \
        UNROLL                                                      \
        for (uint i = 0u; i < 4u; i++) {                            \
            UNROLL                                                  \
            for (uint j = 0u; j < 4u; j++) sum[i][j] = FMA(a[i], b[j], sum[i][j]); \
        }                                                           \
    }
