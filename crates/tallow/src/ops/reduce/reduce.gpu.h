/* y = the fold of the elements that each result stands for, or of a segment of them. Threads
   share results as in lanes.gpu.h. Defines: XT, YT, INTEGER, FOLD (reduce_ and the name), LANES,
   COLUMNS, LINE (1 if the reduced dimensions are one), EACH (neighbours that are loaded at once; more
   than 1 only in a line), DEEP (loads that are under way together). */
#define T CT(XT)
#if INTEGER
#define LEAST_u8 0
#define LEAST_u32 0
#define LEAST_i16 -32768
#define LEAST_i32 (-2147483647 - 1)
#define LEAST_i64 (ct_i64)((ulong)1 << 63)
#define MOST_u8 255
#define MOST_u32 0xffffffffu
#define MOST_i16 32767
#define MOST_i32 2147483647
#define MOST_i64 (ct_i64)(((ulong)1 << 63) - 1)
FN T reduce_sum(T a, T b) { return (T)((ulong)a + (ulong)b); }
FN T reduce_max(T a, T b) { return a > b ? a : b; }
FN T reduce_min(T a, T b) { return a < b ? a : b; }
FN T start_reduce_max(void) { return (T)(CAT(LEAST_, XT)); }
FN T start_reduce_min(void) { return (T)(CAT(MOST_, XT)); }
#else
/* NaN if either is. */
FN T reduce_sum(T a, T b) { return a + b; }
FN T reduce_max(T a, T b) { return IS_NAN(a) || a > b ? a : b; }
FN T reduce_min(T a, T b) { return IS_NAN(a) || a < b ? a : b; }
FN T start_reduce_max(void) { return (T)-INF; }
FN T start_reduce_min(void) { return (T)INF; }
#endif
FN T start_reduce_sum(void) { return (T)0; }
#if LINE
#define ELEMENT_(at, j) at = base + (j) * EACH * p.stride;
#else
#define ELEMENT_(at, j) STRIDED(at, (index_t)(j), p.inner, p.inner_strides) at += base;
#endif

#define FOLD_PACK_(sum, pack)                                               \
    {                                                                       \
        UNROLL                                                              \
        for (uint e = 0u; e < EACH; e++) {                                  \
            const T value = PACK_GET(XT, pack, e);                          \
            sum = FOLD(sum, value);                                         \
        }                                                                   \
    }

KERNEL(reduce, WG)(IN(XT, x), OUT(YT, y), PARAMS(ReduceParams)) {
    SHARED T part[WG];
    AFTER_INPUTS();
    const ulong o = (ulong)GRP_X * RESULTS_ + RESULT_;
    /* In loads, of EACH elements. */
    const ulong length = p.length / EACH, segment = p.segment / EACH;
    const ulong start = (ulong)GRP_Y * segment;
    const ulong stop = start + segment < length ? start + segment : length;
    T a = CAT(start_, FOLD)();
    if (o < p.results) {
        ulong base;
        STRIDED(base, (index_t)o, p.dims, p.strides)
        base += p.offset;
        T sums[DEEP];
        UNROLL
        for (uint k = 0u; k < DEEP; k++) sums[k] = a;
        ulong j = start + LANE_;
        for (; j + (DEEP - 1u) * LANES < stop; j += DEEP * LANES) {
            PACK(XT) v[DEEP];
            UNROLL
            for (uint k = 0u; k < DEEP; k++) {
                ulong at;
                ELEMENT_(at, j + k * LANES)
                PACK_LOAD(XT, v[k], x, at)
            }
            UNROLL
            for (uint k = 0u; k < DEEP; k++) FOLD_PACK_(sums[k], v[k])
        }
        for (; j < stop; j += LANES) {
            ulong at;
            ELEMENT_(at, j)
            PACK(XT) v;
            PACK_LOAD(XT, v, x, at)
            FOLD_PACK_(a, v)
        }
        UNROLL
        for (uint k = 0u; k < DEEP; k++) a = FOLD(a, sums[k]);
    }
    part[PART_(LANE_)] = a;
    BARRIER();
    for (uint half_ = LANES / 2; half_ > 0u; half_ >>= 1) {
        if (LANE_ < half_) {
            const T mine = part[PART_(LANE_)], other = part[PART_(LANE_ + half_)];
            part[PART_(LANE_)] = FOLD(mine, other);
        }
        BARRIER();
    }
    if (LANE_ == 0u && o < p.results) {
#if COLUMNS
        STORE(YT, y, (ulong)GRP_Y * p.results + o, part[PART_(0u)]);
#else
        STORE(YT, y, o * p.segments + GRP_Y, part[PART_(0u)]);
#endif
    }
}
