/* Strided views. `index_t` counts elements: 32 bits, or 64 with the define BIG.
   STRIDED(at, i, dims, strides): `at` becomes the place of element i, in elements.
   STRIDED2 does two views of the same dims, STRIDED3 three. */
#ifdef BIG
typedef ulong index_t;
#define QUOTIENT_(dims, d, i) ((i) / (dims).size[d])
#else
typedef uint index_t;
#define QUOTIENT_(dims, d, i) ((MULHI(i, (dims).magic[d]) + (i)) >> (dims).shift[d])
#endif
#define STRIDED_WALK_(i, dims, STEP)                                        \
    {                                                                       \
        index_t rest_ = (i);                                                \
        for (uint d_ = 0u; d_ < (dims).rank; d_++) {                        \
            index_t q_ = 0;                                                 \
            if (d_ + 1u < (dims).rank) q_ = QUOTIENT_(dims, d_, rest_);     \
            const ulong k_ = (ulong)(rest_ - q_ * (index_t)(dims).size[d_]); \
            rest_ = q_;                                                     \
            STEP                                                            \
        }                                                                   \
    }
#define STRIDED(at, i, dims, strides) \
    at = 0; STRIDED_WALK_(i, dims, at += k_ * (strides)[d_];)
#define STRIDED2(at, i, dims, strides, at2, strides2) \
    at = 0; at2 = 0; \
    STRIDED_WALK_(i, dims, at += k_ * (strides)[d_]; at2 += k_ * (strides2)[d_];)
#define STRIDED3(at, i, dims, strides, at2, strides2, at3, strides3) \
    at = 0; at2 = 0; at3 = 0; \
    STRIDED_WALK_(i, dims, at += k_ * (strides)[d_]; at2 += k_ * (strides2)[d_]; \
        at3 += k_ * (strides3)[d_];)
