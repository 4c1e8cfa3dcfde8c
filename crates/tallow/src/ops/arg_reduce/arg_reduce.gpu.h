/* y[r] = where the first element of row r is that beats all others; LANES threads share a row, as
   in lanes.gpu.h. Defines: XT, INTEGER, RELATION (> or <), LANES, COLUMNS. */
#define T CT(XT)
#define NOWHERE 0xffffffffu
/* A NaN beats numbers, and nothing beats it. */
#if INTEGER
#define BEATS(a, b) ((a) RELATION (b))
#else
#define BEATS(a, b) ((a) RELATION (b) || (IS_NAN(a) && !IS_NAN(b)))
#endif

KERNEL(arg_reduce, WG)(IN(XT, x), OUT(u32, y), PARAMS(Rows)) {
    SHARED T values[WG];
    SHARED uint places[WG];
    AFTER_INPUTS();
    const ulong row = (ulong)GRP_X * RESULTS_ + RESULT_;
    T best = (T)0;
    uint place = NOWHERE;
    if (row < p.rows) {
        ulong base;
        STRIDED(base, (index_t)row, p.dims, p.strides)
        base += p.offset;
        ulong j = LANE_;
        if (j < p.cols) {
            best = LOAD(XT, x, base + j * p.col_stride);
            place = LANE_;
            j += LANES;
        }
        for (; j + 3u * LANES < p.cols; j += 4u * LANES) {
            T v[4];
            UNROLL
            for (uint k = 0u; k < 4u; k++) {
                v[k] = LOAD(XT, x, base + (j + k * LANES) * p.col_stride);
            }
            UNROLL
            for (uint k = 0u; k < 4u; k++) {
                if (BEATS(v[k], best)) {
                    best = v[k];
                    place = (uint)(j + k * LANES);
                }
            }
        }
        for (; j < p.cols; j += LANES) {
            const T v = LOAD(XT, x, base + j * p.col_stride);
            if (BEATS(v, best)) {
                best = v;
                place = (uint)j;
            }
        }
    }
    values[PART_(LANE_)] = best;
    places[PART_(LANE_)] = place;
    BARRIER();
    for (uint half_ = LANES / 2; half_ > 0u; half_ >>= 1) {
        if (LANE_ < half_) {
            const T other = values[PART_(LANE_ + half_)];
            const uint there = places[PART_(LANE_ + half_)];
            const T mine = values[PART_(LANE_)];
            const uint here = places[PART_(LANE_)];
            const uint first = there < here && !BEATS(mine, other) ? 1u : 0u;
            if (there != NOWHERE && (here == NOWHERE || BEATS(other, mine) || first != 0u)) {
                values[PART_(LANE_)] = other;
                places[PART_(LANE_)] = there;
            }
        }
        BARRIER();
    }
    if (LANE_ == 0u && row < p.rows) y[row] = places[PART_(0u)];
}
