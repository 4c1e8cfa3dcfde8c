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
//!
//! Two forms: [`micro`] reads packed panels, [`micro_in_place`] the operands themselves.

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

/// A function that calls the tile function of a product's rows and vectors.
macro_rules! by_shape {
    ($(#[$doc:meta])* $name:ident, $product:ident, $tile:ident, $most:ident, $($rows:literal)*) => {
        $(#[$doc])*
        pub(crate) fn $name<S: Simd, A: Accumulator>(simd: S, product: $product<'_, A>) {
            fn by_rows<S: Simd, A: Accumulator, const V: usize>(simd: S, product: $product<'_, A>) {
                match product.rows {
                    $($rows if $rows <= $most(S::LEVEL) => {
                        $tile::<S, A, $rows, V>(simd, product);
                    })*
                    rows => unreachable!("matmul: no tile has {rows} rows"),
                }
            }
            match product.cols.div_ceil(A::lanes::<S>()) {
                1 => by_rows::<S, A, 1>(simd, product),
                2 => by_rows::<S, A, 2>(simd, product),
                3 if vectors_per_tile(S::LEVEL) >= 3 => by_rows::<S, A, 3>(simd, product),
                vectors => unreachable!("matmul: no tile is {vectors} vectors wide"),
            }
        }
    };
}
by_shape!(
    /// Multiplies two panels of the same number of steps.
    micro, Product, tile, rows_per_tile, 1 2 3 4 5 6 7 8 9 10 11 12 13 14
);
by_shape!(
    /// Multiplies sides that are not packed, in the order in which [`micro`] does.
    micro_in_place, InPlace, tile_in_place, rows_in_place, 1 2 3 4 5 6 7 8
);

/// One function for each shape of tile, entered once for several hundred steps.
#[inline(never)]
fn tile<S: Simd, A: Accumulator, const H: usize, const V: usize>(simd: S, product: Product<'_, A>) {
    simd.vectorize(
        #[inline(always)]
        || {
            for row in 0..H {
                product.out.prefetch(row, product.cols);
            }
            let mut sums = [[A::splat(simd, A::default()); V]; H];
            let lefts = product.left.chunks_exact(H);
            let rights = product.right.chunks_exact(V * A::lanes::<S>());
            for (left, right) in lefts.zip(rights) {
                add_step(
                    simd,
                    &mut sums,
                    right,
                    #[inline(always)]
                    |row| left[row],
                );
            }
            write_tile(simd, sums, product.out, product.cols, product.accumulate);
        },
    );
}

/// Rows of the largest tile of [`micro_in_place`]: eight pointers to rows stay in registers.
pub(crate) const fn rows_in_place(level: Level) -> usize {
    let rows = rows_per_tile(level);
    if rows < 8 { rows } else { 8 }
}

/// What [`micro_in_place`] multiplies and where the result goes.
pub(crate) struct InPlace<'a, A> {
    /// Row `i` of the left side is `steps` elements from `i · left_stride` on.
    pub(crate) left: &'a [A],
    pub(crate) left_stride: usize,
    /// Row `step` of the right side is a whole number of vectors from `step · right_stride` on.
    pub(crate) right: &'a [A],
    pub(crate) right_stride: usize,
    pub(crate) steps: usize,
    /// Rows of the tile, at most [`rows_in_place`].
    pub(crate) rows: usize,
    /// Columns of the tile.
    pub(crate) cols: usize,
    /// The output, which is overwritten.
    pub(crate) out: Tile<'a, A>,
}

#[inline(never)]
fn tile_in_place<S: Simd, A: Accumulator, const H: usize, const V: usize>(
    simd: S,
    product: InPlace<'_, A>,
) {
    simd.vectorize(
        #[inline(always)]
        || {
            for row in 0..H {
                product.out.prefetch(row, product.cols);
            }
            let steps = product.steps;
            let mut lefts: [&[A]; H] = [&[]; H];
            for (row, left) in lefts.iter_mut().enumerate() {
                *left = &product.left[row * product.left_stride..][..steps];
            }
            let mut sums = [[A::splat(simd, A::default()); V]; H];
            (0..steps).for_each(
                #[inline(always)]
                |step| {
                    let right = &product.right[step * product.right_stride..];
                    add_step(
                        simd,
                        &mut sums,
                        &right[..V * A::lanes::<S>()],
                        #[inline(always)]
                        |row| lefts[row][step],
                    );
                },
            );
            write_tile(simd, sums, product.out, product.cols, false);
        },
    );
}

/// Adds the products of one step: `V` vectors of the right side with an element of each row.
#[inline(always)]
fn add_step<S: Simd, A: Accumulator, const H: usize, const V: usize>(
    simd: S,
    sums: &mut [[A::Vector<S>; V]; H],
    right: &[A],
    left: impl Fn(usize) -> A,
) {
    let mut row = [A::splat(simd, A::default()); V];
    for (vector, part) in row.iter_mut().zip(right.chunks_exact(A::lanes::<S>())) {
        *vector = A::load(simd, part);
    }
    for (i, sums) in sums.iter_mut().enumerate() {
        let value = A::splat(simd, left(i));
        for (sum, vector) in sums.iter_mut().zip(row) {
            *sum = A::fma(simd, value, vector, *sum);
        }
    }
}

/// Writes the sums, or adds them to what is there.
#[inline(always)]
fn write_tile<S: Simd, A: Accumulator, const H: usize, const V: usize>(
    simd: S,
    sums: [[A::Vector<S>; V]; H],
    mut out: Tile<'_, A>,
    cols: usize,
    accumulate: bool,
) {
    for (i, sums) in sums.into_iter().enumerate() {
        let row = out.row(i, cols);
        for (sum, part) in sums.into_iter().zip(row.chunks_mut(A::lanes::<S>())) {
            write(simd, sum, part, accumulate);
        }
    }
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
