/* Elementwise loops over views of one shape; a thread takes EACH elements. With the define PACKED
   they are neighbours in the innermost dimension, along which a view has the stride 1, and is read
   and written by packs of up to 16 bytes, or 0. Else they are WG apart, so that neighbouring threads
   take neighbouring elements.
   MAP1(XT, x, YT, y, F) is y[i] = F(x[i]); MAP2 and MAP3 take two and three operands, whose views
   are p.offset, p.offset2 and p.offset3 with their strides. y is contiguous. F may be a macro. */
#ifdef PACKED
/* The thread's first element, and how many it has; threads without any leave. */
#define PACK_INDEX()                                                        \
    const index_t i_ = ((index_t)GRP_X * WG + TID) * EACH;                  \
    if (i_ >= p.count) return;                                              \
    const uint here_ = p.count - i_ < EACH ? (uint)(p.count - i_) : EACH;
/* Only a view of one dimension has a last pack of fewer elements; its last stands for the rest. */
#define PACK_READ(dt, pack, from, at, stride)                               \
    if (here_ == EACH && (stride) == 1ul) {                                 \
        PACK_LOAD(dt, pack, from, at)                                       \
    } else {                                                                \
        UNROLL                                                              \
        for (uint j_ = 0u; j_ < EACH; j_++)                                 \
            PACK_SET(dt, pack, j_,                                          \
                LOAD(dt, from, (at) + (j_ < here_ ? j_ : here_ - 1u) * (stride))); \
    }
#define PACK_WRITE(dt, to, at, stride, pack)                                \
    if (here_ == EACH && (stride) == 1ul) {                                 \
        PACK_STORE(dt, to, at, pack)                                        \
    } else {                                                                \
        UNROLL                                                              \
        for (uint j_ = 0u; j_ < EACH; j_++)                                 \
            if (j_ < here_) STORE(dt, to, (at) + j_ * (stride), PACK_GET(dt, pack, j_)); \
    }
#define MAP1(XT, x, YT, y, F) {                                             \
    PACK_INDEX()                                                            \
    ulong at_;                                                              \
    STRIDED(at_, i_, p.dims, p.strides)                                     \
    PACK(XT) v_; PACK(YT) r_;                                               \
    PACK_READ(XT, v_, x, p.offset + at_, p.strides[0])                      \
    UNROLL                                                                  \
    for (uint k_ = 0u; k_ < EACH; k_++) PACK_SET(YT, r_, k_, F(PACK_GET(XT, v_, k_))); \
    PACK_WRITE(YT, y, i_, 1ul, r_)                                          \
}
#define MAP2(XT, x, WT, w, YT, y, F) {                                      \
    PACK_INDEX()                                                            \
    ulong at_, at2_;                                                        \
    STRIDED2(at_, i_, p.dims, p.strides, at2_, p.strides2)                  \
    PACK(XT) v_; PACK(WT) w_; PACK(YT) r_;                                  \
    PACK_READ(XT, v_, x, p.offset + at_, p.strides[0])                      \
    PACK_READ(WT, w_, w, p.offset2 + at2_, p.strides2[0])                   \
    UNROLL                                                                  \
    for (uint k_ = 0u; k_ < EACH; k_++)                                     \
        PACK_SET(YT, r_, k_, F(PACK_GET(XT, v_, k_), PACK_GET(WT, w_, k_))); \
    PACK_WRITE(YT, y, i_, 1ul, r_)                                          \
}
#define MAP3(XT, x, WT, w, UT, u, YT, y, F) {                               \
    PACK_INDEX()                                                            \
    ulong at_, at2_, at3_;                                                  \
    STRIDED3(at_, i_, p.dims, p.strides, at2_, p.strides2, at3_, p.strides3) \
    PACK(XT) v_; PACK(WT) w_; PACK(UT) u_; PACK(YT) r_;                     \
    PACK_READ(XT, v_, x, p.offset + at_, p.strides[0])                      \
    PACK_READ(WT, w_, w, p.offset2 + at2_, p.strides2[0])                   \
    PACK_READ(UT, u_, u, p.offset3 + at3_, p.strides3[0])                   \
    UNROLL                                                                  \
    for (uint k_ = 0u; k_ < EACH; k_++)                                     \
        PACK_SET(YT, r_, k_,                                                \
            F(PACK_GET(XT, v_, k_), PACK_GET(WT, w_, k_), PACK_GET(UT, u_, k_))); \
    PACK_WRITE(YT, y, i_, 1ul, r_)                                          \
}
#else
#define EACH_ELEMENT(STEP)                                                  \
    UNROLL                                                                  \
    for (uint j_ = 0u; j_ < EACH; j_++) {                                   \
        const index_t i_ = (index_t)GRP_X * (WG * EACH) + j_ * WG + TID;    \
        if (i_ < p.count) { STEP }                                          \
    }
#define MAP1(XT, x, YT, y, F) EACH_ELEMENT(                                 \
    ulong at_;                                                              \
    STRIDED(at_, i_, p.dims, p.strides)                                     \
    STORE(YT, y, i_, F(LOAD(XT, x, p.offset + at_))); )
#define MAP2(XT, x, WT, w, YT, y, F) EACH_ELEMENT(                          \
    ulong at_; ulong at2_;                                                  \
    STRIDED2(at_, i_, p.dims, p.strides, at2_, p.strides2)                  \
    STORE(YT, y, i_, F(LOAD(XT, x, p.offset + at_), LOAD(WT, w, p.offset2 + at2_))); )
#define MAP3(XT, x, WT, w, UT, u, YT, y, F) EACH_ELEMENT(                   \
    ulong at_; ulong at2_; ulong at3_;                                      \
    STRIDED3(at_, i_, p.dims, p.strides, at2_, p.strides2, at3_, p.strides3) \
    STORE(YT, y, i_, F(LOAD(XT, x, p.offset + at_), LOAD(WT, w, p.offset2 + at2_), \
        LOAD(UT, u, p.offset3 + at3_))); )
#endif
/* A value as it is: what moves elements takes integers of their size. */
#define SAME(v) (v)
