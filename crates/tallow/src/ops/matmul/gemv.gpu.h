/* out[b] = lhs[b] rhs[b], where rhs has one column: a group has ROWS rows of lhs, WG / ROWS threads
   each, which are neighbours along the row (ALONG 1) or down the column. Sums are in f32, for f64
   in f64. Defines: XT, ROWS, ALONG. */
#define T CT(XT)
#define SHARES (WG / ROWS)
#define AT_ONCE 4u
KERNEL(matmul_gemv, WG)(IN(XT, lhs), IN(XT, rhs), OUT(XT, out), PARAMS(MatMulParams)) {
    SHARED T part[WG];
    AFTER_INPUTS();
    const uint tile = GRP_X % p.tiles_m, batch = GRP_X / p.tiles_m;
    const uint own = ALONG ? TID / SHARES : TID % ROWS, share = ALONG ? TID % SHARES : TID / ROWS;
    /* A row too many is computed, and not stored. */
    const uint m = tile * ROWS + own, row = m < p.m ? m : p.m - 1u;
    ulong a0, b0;
    STRIDED2(a0, batch, p.batch, p.lhs_batch, b0, p.rhs_batch)
    a0 += p.lhs_offset + row * p.lhs_row + share * p.lhs_col;
    b0 += p.rhs_offset + share * p.rhs_row;
    T sums[AT_ONCE];
    UNROLL
    for (uint j = 0u; j < AT_ONCE; j++) sums[j] = (T)0;
    const uint rounds = p.k / (AT_ONCE * SHARES);
    for (uint r = 0u; r < rounds; r++) {
        UNROLL
        for (uint j = 0u; j < AT_ONCE; j++) {
            sums[j] = FMA(LOAD(XT, lhs, a0), LOAD(XT, rhs, b0), sums[j]);
            a0 += SHARES * p.lhs_col;
            b0 += SHARES * p.rhs_row;
        }
    }
    for (uint k = share; k < p.k - rounds * (AT_ONCE * SHARES); k += SHARES) {
        sums[0] = FMA(LOAD(XT, lhs, a0), LOAD(XT, rhs, b0), sums[0]);
        a0 += SHARES * p.lhs_col;
        b0 += SHARES * p.rhs_row;
    }
    part[share * ROWS + own] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (uint rest = SHARES / 2u; rest > 0u; rest >>= 1) {
        BARRIER();
        if (share < rest) part[share * ROWS + own] += part[(share + rest) * ROWS + own];
    }
    if (share == 0u && m < p.m) STORE(XT, out, (ulong)batch * p.m + m, part[own]);
}
