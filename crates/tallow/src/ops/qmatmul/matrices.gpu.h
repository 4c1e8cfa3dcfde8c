/* out[m, n] = x[m, k] W[n, k]^T by Metal's matrices. W is codes and scales apart, or floats, and
   becomes f32 on its way into shared memory; x is not rounded, and sums are in f32. Defines: those
   of weights.gpu.h, MT (float), STEP (a multiple of UNIT), TILE_M, TILE_N (16, 32 or 64). */
KERNEL(qmatmul_matrices, WG)(IN(u8, w), IN(f32, x), OUT(f32, out), PARAMS(QMatMulParams)) {
    SHARED MT left[TILE_M * LEFT];
    SHARED MT right[STEP * RIGHT];
    SHARED float results[RESULTS];
    AFTER_INPUTS();
    const uint m0 = GRP_X / p.tiles_n * TILE_M, n0 = GRP_X % p.tiles_n * TILE_N;
    const ulong x0 = p.offset + (ulong)m0 * p.k, w0 = (ulong)n0 * p.k, along = p.k;
    PRODUCTS_START(sum)
    for (uint k0 = 0u; k0 < p.k; k0 += STEP) {
        BRING(left, LEFT, TILE_M, STEP, f32, x, x0 + k0, along, 1ul, p.m - m0, p.k - k0)
#if BITS == 0
        GLOBAL const ST(WT) *floats = (GLOBAL const ST(WT) *)w;
        BRING(right, RIGHT, STEP, TILE_N, WT, floats, w0 + k0, 1ul, along, p.k - k0, p.n - n0)
#else
        /* Rows of codes are whole units. */
        for (uint e = TID; e < TILE_N * (STEP / UNIT); e += WG) {
            const uint n = e / (STEP / UNIT), kk = e % (STEP / UNIT) * UNIT;
            const bool there = n0 + n < p.n && k0 + kk < p.k;
            unit_t u;
            unit_load(&u, w, p.scales_at, there ? (w0 + n * along + k0 + kk) / UNIT : 0ul);
            UNROLL
            for (uint j = 0u; j < UNIT; j++)
                right[(kk + j) * RIGHT + n] = there ? unit_value(&u, j) : 0.0f;
        }
#endif
        BARRIER();
        PRODUCTS_STEP(sum, left, right)
        BARRIER();
    }
    PRODUCTS_END(sum, results,
        if (m0 + m_ < p.m && n0 + n_ < p.n) out[(ulong)(m0 + m_) * p.n + n0 + n_] = value_;)
}
