/* out[b] = lhs[b] rhs[b] in tiles of 64 x 64, 256 threads of 4 x 4 results, 16 of the inner size at a
   time through shared memory. Sums are in f32, for f64 in f64. Defines: XT, WIDE (1 for f64). */
#define T CT(XT)
#define STEP 16u
KERNEL(matmul_tile, WG)(IN(XT, lhs), IN(XT, rhs), OUT(XT, out), PARAMS(MatMulParams)) {
    SHARED T left[STEP * PITCH];
    SHARED T right[STEP * PITCH];
    AFTER_INPUTS();
    const uint t = TID, tile_n = GRP_X % p.tiles_n, rest = GRP_X / p.tiles_n;
    const uint tile_m = rest % p.tiles_m, batch = rest / p.tiles_m;
    const uint m0 = tile_m * TILE, n0 = tile_n * TILE;
    ulong a0, b0;
    STRIDED2(a0, batch, p.batch, p.lhs_batch, b0, p.rhs_batch)
    a0 += p.lhs_offset;
    b0 += p.rhs_offset;
    const uint tx = t & 15u, ty = t >> 4;
    TILE_START(sum)
    for (uint k0 = 0u; k0 < p.k; k0 += STEP) {
        UNROLL
        for (uint s = 0u; s < 4u; s++) {
            const uint e = t + s * 256u;
            /* Neighbouring threads take neighbours in memory. */
            const uint kk = p.lhs_row == 1ul ? e >> 6 : e & 15u;
            const uint mm = p.lhs_row == 1ul ? e & 63u : e >> 4;
            const uint m = m0 + mm, k = k0 + kk;
            left[kk * PITCH + mm] = m < p.m && k < p.k
                ? LOAD(XT, lhs, a0 + (ulong)m * p.lhs_row + (ulong)k * p.lhs_col) : (T)0;
        }
        UNROLL
        for (uint s = 0u; s < 4u; s++) {
            const uint e = t + s * 256u;
            const uint kk = p.rhs_row == 1ul ? e & 15u : e >> 6;
            const uint nn = p.rhs_row == 1ul ? e >> 4 : e & 63u;
            const uint n = n0 + nn, k = k0 + kk;
            right[kk * PITCH + nn] = n < p.n && k < p.k
                ? LOAD(XT, rhs, b0 + (ulong)k * p.rhs_row + (ulong)n * p.rhs_col) : (T)0;
        }
        BARRIER();
        TILE_STEP(sum, left, right, tx, ty)
        BARRIER();
    }
    const ulong c0 = (ulong)batch * p.m * p.n;
    UNROLL
    for (uint i = 0u; i < 4u; i++) {
        const uint m = m0 + ty * 4u + i;
        UNROLL
        for (uint j = 0u; j < 4u; j++) {
            const uint n = n0 + tx * 4u + j;
            if (m < p.m && n < p.n) STORE(XT, out, c0 + (ulong)m * p.n + n, sum[i][j]);
        }
    }
}
