/* y[i] = x[0] + ... + x[i] along one dimension, in f64 where the device has it. A line may be cut
   into segments: SUMS 1 writes the sum of each; then every segment adds up those before it and
   goes on from there. COLUMNS: a thread a line, else a group. Defines: XT, BT (of the sums),
   INTEGER, COLUMNS, SUMS, CUT (1 if there is more than one segment). */
#if INTEGER
typedef ulong sum_t;
#else
typedef CT(BT) sum_t;
#endif
#define PLACES_                                                             \
    ulong at, at2;                                                          \
    STRIDED2(at, (index_t)line, p.dims, p.strides, at2, p.strides2)         \
    at += p.offset;                                                         \
    const ulong start = (ulong)GRP_Y * p.segment;                           \
    const ulong stop = start + p.segment < p.length ? start + p.segment : p.length;
#if COLUMNS
#define CUMSUM_BODY_                                                        \
    const ulong line = (ulong)GRP_X * WG + TID;                             \
    AFTER_INPUTS();                                                         \
    if (line >= p.lines) return;                                            \
    PLACES_                                                                 \
    sum_t sum = 0;                                                          \
    BEFORE_                                                                 \
    for (ulong j = start; j < stop; j++) {                                  \
        sum += (sum_t)LOAD(XT, x, at + j * p.along);                        \
        WRITE_(j, sum)                                                      \
    }                                                                       \
    TOTAL_
#if CUT && !SUMS
#define BEFORE_                                                             \
    for (uint s = 0u; s < GRP_Y; s++) sum += (sum_t)LOAD(BT, before, s * p.lines + line);
#else
#define BEFORE_
#endif
#define TOTAL_AT_ ((ulong)GRP_Y * p.lines + line)
#else
/* Four neighbours a thread; what stands before a thread comes from a scan of the threads' sums
   (Hillis and Steele 1986). */
#define CUMSUM_BODY_                                                        \
    SHARED sum_t part[2 * WG];                                              \
    AFTER_INPUTS();                                                         \
    const ulong line = (ulong)GRP_X;                                        \
    PLACES_                                                                 \
    sum_t sum = 0;                                                          \
    BEFORE_                                                                 \
    for (ulong chunk = start; chunk < stop; chunk += 4u * WG) {             \
        const ulong j = chunk + 4u * TID;                                   \
        sum_t v[4];                                                         \
        sum_t mine = 0;                                                     \
        UNROLL                                                              \
        for (uint k = 0u; k < 4u; k++) {                                    \
            if (j + k < stop) mine += (sum_t)LOAD(XT, x, at + (j + k) * p.along); \
            v[k] = mine;                                                    \
        }                                                                   \
        SCAN_(mine)                                                         \
        const sum_t first = sum + (TID > 0u ? part[from + TID - 1u] : (sum_t)0); \
        UNROLL                                                              \
        for (uint k = 0u; k < 4u; k++) {                                    \
            if (j + k < stop) {                                             \
                WRITE_(j + k, first + v[k])                                 \
            }                                                               \
        }                                                                   \
        sum += part[from + WG - 1u];                                        \
        BARRIER();                                                          \
    }                                                                       \
    TOTAL_
#define SCAN_(value)                                                        \
    uint from = 0u;                                                         \
    part[TID] = (value);                                                    \
    BARRIER();                                                              \
    for (uint reach = 1u; reach < WG; reach <<= 1) {                        \
        sum_t v_ = part[from + TID];                                        \
        if (TID >= reach) v_ += part[from + TID - reach];                   \
        part[WG - from + TID] = v_;                                         \
        from = WG - from;                                                   \
        BARRIER();                                                          \
    }
#if CUT && !SUMS
#define BEFORE_                                                             \
    {                                                                       \
        sum_t mine = 0;                                                     \
        for (uint s = TID; s < GRP_Y; s += WG) {                            \
            mine += (sum_t)LOAD(BT, before, line * p.segments + s);         \
        }                                                                   \
        SCAN_(mine)                                                         \
        sum = part[from + WG - 1u];                                         \
        BARRIER();                                                          \
    }
#else
#define BEFORE_
#endif
#define TOTAL_AT_ (line * p.segments + GRP_Y)
#endif

#if SUMS
#define WRITE_(j, value)
#if COLUMNS
#define TOTAL_ STORE(BT, before, TOTAL_AT_, sum);
#else
#define TOTAL_ if (TID == 0u) STORE(BT, before, TOTAL_AT_, sum);
#endif
KERNEL(cumsum_sums, WG)(IN(XT, x), OUT(BT, before), PARAMS(CumsumParams)) {
    CUMSUM_BODY_
}
#else
#define WRITE_(j, value) STORE(XT, y, at2 + (j) * p.along2, (value));
#define TOTAL_
#if CUT
KERNEL(cumsum_on, WG)(IN(XT, x), IN(BT, before), OUT(XT, y), PARAMS(CumsumParams)) {
    CUMSUM_BODY_
}
#else
KERNEL(cumsum, WG)(IN(XT, x), OUT(XT, y), PARAMS(CumsumParams)) {
    CUMSUM_BODY_
}
#endif
#endif
