/* out[b] = lhs[b] rhs[b] by Metal's matrices: a group of four subgroups has TILE_M x TILE_N
   results, and each subgroup a quarter of them. Operands go through shared memory, STEP of the
   inner size at a time. Sums are in f32. Defines: XT, MT (half for f16 and narrower, else float),
   STEP, TILE_M, TILE_N (16, 32 or 64). */
KERNEL(matmul_matrices, WG)(IN(XT, lhs), IN(XT, rhs), OUT(XT, out), PARAMS(MatMulParams)) {
    SHARED MT left[TILE_M * LEFT];
    SHARED MT right[STEP * RIGHT];
    SHARED float results[RESULTS];
    AFTER_INPUTS();
    const uint tile_n = GRP_X % p.tiles_n, rest = GRP_X / p.tiles_n;
    const uint tile_m = rest % p.tiles_m, batch = rest / p.tiles_m;
    const uint m0 = tile_m * TILE_M, n0 = tile_n * TILE_N;
    ulong a0, b0;
    STRIDED2(a0, batch, p.batch, p.lhs_batch, b0, p.rhs_batch)
    a0 += p.lhs_offset + m0 * p.lhs_row;
    b0 += p.rhs_offset + n0 * p.rhs_col;
    PRODUCTS_START(sum)
    for (uint k0 = 0u; k0 < p.k; k0 += STEP) {
        BRING(left, LEFT, TILE_M, STEP, XT, lhs, a0, p.lhs_row, p.lhs_col, p.m - m0, p.k - k0)
        BRING(right, RIGHT, STEP, TILE_N, XT, rhs, b0, p.rhs_row, p.rhs_col, p.k - k0, p.n - n0)
        a0 += STEP * p.lhs_col;
        b0 += STEP * p.rhs_row;
        BARRIER();
        PRODUCTS_STEP(sum, left, right)
        BARRIER();
    }
    const ulong c0 = (ulong)batch * p.m * p.n;
    PRODUCTS_END(sum, results,
        if (m0 + m_ < p.m && n0 + n_ < p.n)
            STORE(XT, out, c0 + (ulong)(m0 + m_) * p.n + n0 + n_, value_);)
}
