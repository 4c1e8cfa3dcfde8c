//! A small matrix product on f32 slices, for kernels that multiply a cache-sized tile in the middle
//! of other work: `out[rows, columns] = lhs[rows, inner] · rhs[inner, columns]`, all contiguous.
//!
//! Register tiles of 4 rows by two or four vectors; `columns` has to be a multiple of
//! [`COLUMNS`], which is 4 vectors of the widest level.

use tallow_simd::Simd;

/// What `columns` is a multiple of.
pub(crate) const COLUMNS: usize = 64;

/// `size`, rounded up to whole register tiles.
pub(crate) fn width_of(size: usize) -> usize {
    size.next_multiple_of(COLUMNS)
}

/// The operands of a product.
pub(crate) struct Product<'a> {
    pub(crate) lhs: &'a [f32],
    pub(crate) rhs: &'a [f32],
    pub(crate) inner: usize,
    pub(crate) columns: usize,
}

impl Product<'_> {
    /// `out = lhs · rhs`
    #[inline(always)]
    pub(crate) fn set<S: Simd>(&self, simd: S, out: &mut [f32]) {
        self.run::<S, false>(simd, out);
    }

    /// `out += lhs · rhs`
    #[inline(always)]
    pub(crate) fn add<S: Simd>(&self, simd: S, out: &mut [f32]) {
        self.run::<S, true>(simd, out);
    }

    #[inline(always)]
    fn run<S: Simd, const ADD: bool>(&self, simd: S, out: &mut [f32]) {
        debug_assert_eq!(self.columns % COLUMNS, 0, "whole register tiles");
        let rows = out.len() / self.columns;
        let mut row = 0;
        while row < rows {
            let step = match rows - row {
                0..2 => 1,
                2..4 => 2,
                _ => 4,
            };
            match step {
                1 => self.rows::<S, ADD, 1>(simd, row, out),
                2 => self.rows::<S, ADD, 2>(simd, row, out),
                _ => self.rows::<S, ADD, 4>(simd, row, out),
            }
            row += step;
        }
    }

    #[inline(always)]
    fn rows<S: Simd, const ADD: bool, const ROWS: usize>(
        &self,
        simd: S,
        row: usize,
        out: &mut [f32],
    ) {
        // 32 registers hold 4 × 4 accumulators, 16 hold 4 × 2. Plain loops: a closure here would be
        // compiled without the level's instructions.
        let mut column = 0;
        while column < self.columns {
            if S::F32_LANES == 16 {
                self.tile::<S, ADD, ROWS, 4>(simd, row, column, out);
                column += 4 * S::F32_LANES;
            } else {
                self.tile::<S, ADD, ROWS, 2>(simd, row, column, out);
                column += 2 * S::F32_LANES;
            }
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const ADD: bool, const ROWS: usize, const VECTORS: usize>(
        &self,
        simd: S,
        row: usize,
        column: usize,
        out: &mut [f32],
    ) {
        let lanes = S::F32_LANES;
        let lhs: [&[f32]; ROWS] =
            std::array::from_fn(|at| &self.lhs[(row + at) * self.inner..][..self.inner]);
        let mut sums = [[simd.splat_f32(0.0); VECTORS]; ROWS];
        for (at, rhs) in self
            .rhs
            .chunks_exact(self.columns)
            .take(self.inner)
            .enumerate()
        {
            let rhs = &rhs[column..][..VECTORS * lanes];
            let mut vectors = [simd.splat_f32(0.0); VECTORS];
            for v in 0..VECTORS {
                vectors[v] = simd.load_f32(&rhs[v * lanes..]);
            }
            for (sums, lhs) in sums.iter_mut().zip(&lhs) {
                let factor = simd.splat_f32(lhs[at]);
                for (sum, rhs) in sums.iter_mut().zip(vectors) {
                    *sum = simd.fma_f32(factor, rhs, *sum);
                }
            }
        }
        for (at, sums) in sums.iter().enumerate() {
            let out = &mut out[(row + at) * self.columns + column..][..VECTORS * lanes];
            for (v, &sum) in sums.iter().enumerate() {
                let out = &mut out[v * lanes..];
                let sum = if ADD {
                    simd.add_f32(simd.load_f32(out), sum)
                } else {
                    sum
                };
                simd.store_f32(sum, out);
            }
        }
    }
}
