/* Metal's matrices of 8 x 8 numbers (Metal Shading Language Specification, "SIMD-group Matrix Data
   Types"; Apple GPUs of family 7 and later). A subgroup holds a matrix together. Which thread has
   which of its numbers is not laid down, so they come and go through shared memory. Factors are of
   MT, which is a define (half or float), sums of float. */
typedef simdgroup_matrix<MT, 8, 8> factor_t;
typedef simdgroup_matrix<float, 8, 8> products_t;
#define NO_PRODUCTS() make_filled_simdgroup_matrix<float, 8, 8>(0.0f)
/* Last among the arguments of a load: columns become rows. */
#define TURNED ulong2(0), true
/* The threads of a subgroup wait for each other; each then sees what all wrote to shared memory. */
#define SG_BARRIER() simdgroup_barrier(mem_flags::mem_threadgroup)
/* By so much a row in shared memory is longer than its numbers, that columns lie in many banks. */
#define ROW_PAD (16u / (uint)sizeof(MT))
/* The start of a matrix of dtype `dt` in memory, its first ROWS rows and COLUMNS columns, goes to
   shared memory, where rows are `pitch` apart; zeros where the matrix has ended. `row` and `column`
   are strides. Neighbouring threads take neighbours in memory. */
#define BRING(to, pitch, ROWS, COLUMNS, dt, from, start, row, column, rows_left, columns_left)  \
    {                                                                                           \
        const bool down_ = (row) == 1ul;                                                        \
        uint r_ = down_ ? TID % (ROWS) : TID / (COLUMNS);                                       \
        uint c_ = down_ ? TID / (ROWS) : TID % (COLUMNS);                                       \
        const uint rows_on_ = down_ ? 0u : WG / (COLUMNS), columns_on_ = down_ ? WG / (ROWS) : 0u; \
        ulong at_ = (start) + r_ * (row) + c_ * (column);                                       \
        const ulong on_ = rows_on_ * (row) + columns_on_ * (column);                            \
        UNROLL                                                                                  \
        for (uint s_ = 0u; s_ < (ROWS) * (COLUMNS) / WG; s_++) {                                \
            const bool there_ = r_ < (rows_left) && c_ < (columns_left);                        \
            (to)[r_ * (pitch) + c_] = there_ ? (MT)LOAD(dt, from, at_) : (MT)0;                 \
            r_ += rows_on_;                                                                     \
            c_ += columns_on_;                                                                  \
            at_ += on_;                                                                         \
        }                                                                                       \
    }
