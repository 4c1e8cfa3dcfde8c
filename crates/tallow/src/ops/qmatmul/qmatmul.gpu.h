/* out[m, n] = x[m, k] W[n, k]^T with W as codes of 4 or 8 bits and scales apart (`Split`), or as
   floats. x is not rounded: sums are of f32. Defines: EXPERTS (1: rows of x choose their matrix),
   FEW (1: a subgroup a weight row, ROWS rows of x at most; 0: tiles of 64 x 64), BITS (4, 8; 0 for
   floats), GROUP and SCALE (f16 or f32) of codes, WT of floats. */
#define T float
#define UNIT 8u
#if BITS == 0
#define WEIGHT(row, i) LOAD(WT, (GLOBAL const ST(WT) *)w, (ulong)(row) * p.k + (i))
#else
/* Eight weights: code sums and scales are read where they lie. */
#define SCALES_ ((GLOBAL const ST(SCALE) *)(w + p.scales_at))
#define SCALE_AT(row, i) ((((ulong)(row) * p.k + (i)) / GROUP) * 2ul)
#if BITS == 4
#define CODES_(row, i) (((GLOBAL const uint *)w)[((ulong)(row) * p.k + (i)) >> 3])
#define CODE_FIELDS_ const uint c_ = CODES_(row_, i_);
#define CODE_(j) ((float)((c_ >> (4u * (j))) & 15u))
#else
#define CODE_FIELDS_                                                                      \
    const uint c_ = ((GLOBAL const uint *)w)[((ulong)(row_) * p.k + (i_)) >> 2];          \
    const uint e_ = ((GLOBAL const uint *)w)[(((ulong)(row_) * p.k + (i_)) >> 2) + 1ul];
#define CODE_(j) ((float)((int)(((j) < 4u ? c_ : e_) << (24u - 8u * ((j) & 3u))) >> 24))
#endif
#endif

#if EXPERTS
/* A subgroup a result: a row of the matrix that the position's id names, times the position's x. */
KERNEL(qmatmul_experts, WG)(IN(u8, w), IN(f32, x), IN(u32, ids), OUT(f32, out),
                            PARAMS(ExpertParams)) {
    SG_SCRATCH(WG)
    const ulong at_ = (ulong)GRP_X * (WG / 32u) + SG_ID;
    /* All threads come to the sum: a result too many is computed, and not stored. */
    const ulong result = at_ < p.results ? at_ : p.results - 1ul;
    AFTER_INPUTS();
    const ulong position = result / p.n;
    const ulong row_ = (ulong)ids[position] * p.n + (result - position * p.n);
    GLOBAL const float *v = x + p.offset + position / p.sharers * p.k;
    float sum = 0.0f;
#if BITS == 0
    for (uint i = SG_LANE; i < p.k; i += 32u) sum = FMA(WEIGHT(row_, i), v[i], sum);
#else
    for (uint i_ = SG_LANE * UNIT; i_ < p.k; i_ += 32u * UNIT) {
        CODE_FIELDS_
        const ulong at = SCALE_AT(row_, i_);
        const float scale = LOAD(SCALE, SCALES_, at), shift = LOAD(SCALE, SCALES_, at + 1ul);
        float dot = 0.0f, total = 0.0f;
        UNROLL
        for (uint j = 0u; j < UNIT; j++) {
            dot = FMA(CODE_(j), v[i_ + j], dot);
            total += v[i_ + j];
        }
        sum = FMA(scale, dot, FMA(shift, total, sum));
    }
#endif
    sum = SG_SUM(sum);
    if (SG_LANE == 0u && at_ < p.results) out[result] = sum;
}
#elif FEW
/* A subgroup of 32 a weight row. Each thread takes eight neighbours at a time, so that a load of the
   subgroup is one run of memory. */
KERNEL(qmatmul_few, WG)(IN(u8, w), IN(f32, x), OUT(f32, out), PARAMS(QMatMulParams)) {
    SG_SCRATCH(WG)
    const uint row = GRP_X * (WG / 32u) + SG_ID;
    /* All threads come to the sums: a row too many is computed, and not stored. */
    const uint row_ = row < p.n ? row : p.n - 1u;
    float sums[ROWS];
    UNROLL
    for (uint r = 0u; r < ROWS; r++) sums[r] = 0.0f;
    AFTER_INPUTS();
#if BITS == 0
    for (uint i = SG_LANE; i < p.k; i += 32u) {
        const float weight = WEIGHT(row_, i);
        UNROLL
        for (uint r = 0u; r < ROWS; r++)
            if (r < p.m) sums[r] = FMA(weight, x[p.offset + (ulong)r * p.k + i], sums[r]);
    }
#else
    for (uint i_ = SG_LANE * UNIT; i_ < p.k; i_ += 32u * UNIT) {
        CODE_FIELDS_
        const ulong at = SCALE_AT(row_, i_);
        const float scale = LOAD(SCALE, SCALES_, at), shift = LOAD(SCALE, SCALES_, at + 1ul);
        UNROLL
        for (uint r = 0u; r < ROWS; r++) {
            if (r < p.m) {
                GLOBAL const float *v = x + p.offset + (ulong)r * p.k + i_;
                float dot = 0.0f, total = 0.0f;
                UNROLL
                for (uint j = 0u; j < UNIT; j++) {
                    dot = FMA(CODE_(j), v[j], dot);
                    total += v[j];
                }
                sums[r] = FMA(scale, dot, FMA(shift, total, sums[r]));
            }
        }
    }
#endif
    UNROLL
    for (uint r = 0u; r < ROWS; r++) {
        const float sum = SG_SUM(sums[r]);
        if (SG_LANE == 0u && row < p.n && r < p.m) out[(ulong)r * p.n + row] = sum;
    }
}
#else
#define STEP 32u
/* Tiles of 64 rows of x by 64 weight rows; weights become floats on their way into shared memory. */
KERNEL(qmatmul_many, WG)(IN(u8, w), IN(f32, x), OUT(f32, out), PARAMS(QMatMulParams)) {
    SHARED float left[STEP * PITCH];
    SHARED float right[STEP * PITCH];
    AFTER_INPUTS();
    const uint t = TID, n0 = (GRP_X % p.tiles_n) * TILE, m0 = (GRP_X / p.tiles_n) * TILE;
    const uint tx = t & 15u, ty = t >> 4;
    TILE_START(sum)
    for (uint k0 = 0u; k0 < p.k; k0 += STEP) {
        UNROLL
        for (uint s = 0u; s < 8u; s++) {
            const uint e = t + s * 256u, kk = e & 31u, mm = e >> 5;
            const uint m = m0 + mm, k = k0 + kk;
            left[kk * PITCH + mm] =
                m < p.m && k < p.k ? x[p.offset + (ulong)m * p.k + k] : 0.0f;
        }
#if BITS == 0
        UNROLL
        for (uint s = 0u; s < 8u; s++) {
            const uint e = t + s * 256u, kk = e & 31u, nn = e >> 5;
            const uint n = n0 + nn, k = k0 + kk;
            right[kk * PITCH + nn] = n < p.n && k < p.k ? WEIGHT(n, k) : 0.0f;
        }
#else
        {
            /* A unit of eight a thread; a row's four units are neighbours. */
            const uint nn = t >> 2, kk = (t & 3u) * UNIT, row_ = n0 + nn, i_ = k0 + kk;
            if (row_ < p.n && i_ < p.k) {
                CODE_FIELDS_
                const ulong at = SCALE_AT(row_, i_);
                const float scale = LOAD(SCALE, SCALES_, at);
                const float shift = LOAD(SCALE, SCALES_, at + 1ul);
                UNROLL
                for (uint j = 0u; j < UNIT; j++)
                    right[(kk + j) * PITCH + nn] = FMA(scale, CODE_(j), shift);
            } else {
                UNROLL
                for (uint j = 0u; j < UNIT; j++) right[(kk + j) * PITCH + nn] = 0.0f;
            }
        }
#endif
        BARRIER();
        TILE_STEP(sum, left, right, tx, ty)
        BARRIER();
    }
    UNROLL
    for (uint i = 0u; i < 4u; i++) {
        const uint m = m0 + ty * 4u + i;
        UNROLL
        for (uint j = 0u; j < 4u; j++) {
            const uint n = n0 + tx * 4u + j;
            if (m < p.m && n < p.n) out[(ulong)m * p.n + n] = sum[i][j];
        }
    }
}
#endif
