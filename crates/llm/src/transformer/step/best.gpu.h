/* The largest of values with their places, the first place on a tie. Needs `tops`, SHARED
   float[2 * (WG / 32)]. */
#define TAKE_LARGER(top, at, other, other_at)                                             \
    {                                                                                     \
        const float value_ = other, place_ = other_at;                                    \
        if (value_ > top || (value_ == top && place_ < at)) {                             \
            top = value_;                                                                 \
            at = place_;                                                                  \
        }                                                                                 \
    }
/* Thread 0 has the group's; each of so many neighbouring lanes came with the same. */
#define LARGEST_OF_GROUP(top, at, alike)                                                  \
    UNROLL                                                                                \
    for (uint m_ = 16u; m_ >= (alike); m_ >>= 1) {                                        \
        const float other_ = SG_SHUFFLE_XOR(top, m_), at_ = SG_SHUFFLE_XOR(at, m_);       \
        TAKE_LARGER(top, at, other_, at_)                                                 \
    }                                                                                     \
    if (SG_LANE == 0u) {                                                                  \
        tops[SG_ID * 2u] = top;                                                           \
        tops[SG_ID * 2u + 1u] = at;                                                       \
    }                                                                                     \
    BARRIER();                                                                            \
    if (TID == 0u) {                                                                      \
        for (uint i_ = 1u; i_ < WG / 32u; i_++)                                           \
            TAKE_LARGER(top, at, tops[2u * i_], tops[2u * i_ + 1u])                       \
    }
