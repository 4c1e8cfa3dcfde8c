//! The micro-kernel: a tile of the output held in registers while k runs.
//!
//! For each step of k it loads one row of the right panel (`V` vectors) and, for each of `H` rows,
//! broadcasts one element of the left panel and adds `V` products: H · V independent sums.
//!
//! | level | registers | largest tile | sums + right row + broadcast |
//! |---|---|---|---|
//! | AVX-512 | 32 | 14 rows × 2 vectors | 28 + 2 + 1, or a broadcast from memory |
//! | AVX2 | 16 | 6 × 2 | 12 + 2 + 1 |
//! | NEON | 32 | 8 × 3 | 24 + 3 + 2 |
//! | scalar | 4-lane arrays in whatever the target has | 4 × 2 | 8 + 2 + 1 |
//!
//! Each height up to the largest is a function of its own, so that an edge costs no wasted work
//! and m = 15 can be 8 + 7 rows instead of 14 + 1. Each number of vectors likewise.

use tallow_simd::{Level, Simd};

use super::Tile;
use crate::element::Accumulator;

/// The largest tile height of any level.
pub(crate) const MAX_ROWS: usize = 14;

/// Rows of the largest tile.
pub(crate) const fn rows_per_tile(level: Level) -> usize {
    match level {
        Level::Avx512 => MAX_ROWS,
        Level::Avx2 => 6,
        Level::Neon => 8,
        Level::Scalar => 4,
    }
}

/// Vectors of a row of the largest tile.
pub(crate) const fn vectors_per_tile(level: Level) -> usize {
    match level {
        Level::Neon => 3,
        Level::Avx512 | Level::Avx2 | Level::Scalar => 2,
    }
}

/// What a micro-kernel multiplies and where the result goes.
pub(crate) struct Product<'a, A> {
    /// The left panel: `rows` elements a step.
    pub(crate) left: &'a [A],
    /// The right panel: a whole number of vectors a step.
    pub(crate) right: &'a [A],
    /// Rows of the tile.
    pub(crate) rows: usize,
    /// Columns of the tile, at most those of the right panel.
    pub(crate) cols: usize,
    /// Whether to add to what `out` holds.
    pub(crate) accumulate: bool,
    /// The output.
    pub(crate) out: Tile<'a, A>,
}

/// Multiplies two panels of the same number of steps.
pub(crate) fn micro<S: Simd, A: Accumulator>(simd: S, product: Product<'_, A>) {
    match product.cols.div_ceil(A::lanes::<S>()) {
        1 => by_rows::<S, A, 1>(simd, product),
        2 => by_rows::<S, A, 2>(simd, product),
        3 if vectors_per_tile(S::LEVEL) >= 3 => by_rows::<S, A, 3>(simd, product),
        vectors => unreachable!("matmul: no tile is {vectors} vectors wide"),
    }
}

fn by_rows<S: Simd, A: Accumulator, const V: usize>(simd: S, product: Product<'_, A>) {
    macro_rules! match_rows {
        ($($rows:literal)*) => {
            match product.rows {
                $($rows if $rows <= rows_per_tile(S::LEVEL) => {
                    tile::<S, A, $rows, V>(simd, product);
                })*
                rows => unreachable!("matmul: no tile has {rows} rows"),
            }
        };
    }
    match_rows!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
}

/// One function for each shape of tile, entered once for several hundred steps.
#[inline(never)]
fn tile<S: Simd, A: Accumulator, const H: usize, const V: usize>(simd: S, product: Product<'_, A>) {
    simd.vectorize(
        #[inline(always)]
        || {
            let lanes = A::lanes::<S>();
            for row in 0..H {
                product.out.prefetch(row, product.cols);
            }
            let zero = A::splat(simd, A::default());
            let mut sums = [[zero; V]; H];
            let lefts = product.left.chunks_exact(H);
            let rights = product.right.chunks_exact(V * lanes);
            for (left, right) in lefts.zip(rights) {
                let mut row = [zero; V];
                for (vector, part) in row.iter_mut().zip(right.chunks_exact(lanes)) {
                    *vector = A::load(simd, part);
                }
                for (sums, value) in sums.iter_mut().zip(left) {
                    let value = A::splat(simd, *value);
                    for (sum, vector) in sums.iter_mut().zip(row) {
                        *sum = A::fma(simd, value, vector, *sum);
                    }
                }
            }
            let mut out = product.out;
            for (i, sums) in sums.into_iter().enumerate() {
                let row = out.row(i, product.cols);
                for (sum, part) in sums.into_iter().zip(row.chunks_mut(lanes)) {
                    write(simd, sum, part, product.accumulate);
                }
            }
        },
    );
}

/// Writes one vector, or what fits of it, or adds it to what is there.
#[inline(always)]
fn write<S: Simd, A: Accumulator>(simd: S, sum: A::Vector<S>, part: &mut [A], accumulate: bool) {
    if part.len() == A::lanes::<S>() {
        let sum = if accumulate {
            A::add(simd, A::load(simd, part), sum)
        } else {
            sum
        };
        A::store(simd, sum, part);
    } else {
        let sum = if accumulate {
            A::add(simd, A::load_partial(simd, part), sum)
        } else {
            sum
        };
        A::store_partial(simd, sum, part);
    }
}
