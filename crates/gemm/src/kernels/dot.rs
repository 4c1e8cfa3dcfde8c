//! Dot products of a few vectors with rows of a matrix that are contiguous along k.
//!
//! Each row is read once, widened in registers, and multiplied with `V` vectors; `R` rows at a time
//! give `R · V · U` independent sums, which hide the latency of 4 to 5 cycles of two additions a
//! cycle. Sums of a row do not depend on which rows it is grouped with.

use tallow_simd::{Level, Simd};

use crate::element::{Accumulator, Element, VectorOf};

/// Vectors and the rows that they are multiplied with.
pub(crate) struct Dot<'a, T: Element> {
    /// `count` vectors of `len` elements, one after the other.
    pub(crate) vectors: &'a [T::Acc],
    /// 1, 2, 4 or 8.
    pub(crate) count: usize,
    pub(crate) len: usize,
    /// Row `i` is the first `len` elements from `i · stride`.
    pub(crate) rows: &'a [T],
    pub(crate) stride: usize,
    pub(crate) row_count: usize,
}

/// Calls `write(row, vector, sum)` for each row and vector.
pub(crate) fn dot<S: Simd, T: Element>(
    simd: S,
    dot: &Dot<'_, T>,
    write: &mut dyn FnMut(usize, usize, T::Acc),
) {
    // On AVX2 sixteen registers hold at most eight sums next to their operands.
    let is_small = S::LEVEL == Level::Avx2 || S::LEVEL == Level::Scalar;
    match dot.count {
        1 => groups::<S, T, 4, 1, 2>(simd, dot, write),
        2 => groups::<S, T, 4, 2, 1>(simd, dot, write),
        4 if is_small => groups::<S, T, 2, 4, 1>(simd, dot, write),
        4 => groups::<S, T, 4, 4, 1>(simd, dot, write),
        8 if is_small => groups::<S, T, 1, 8, 1>(simd, dot, write),
        8 => groups::<S, T, 2, 8, 1>(simd, dot, write),
        count => unreachable!("matmul: no dot kernel takes {count} vectors"),
    }
}

fn groups<S: Simd, T: Element, const R: usize, const V: usize, const U: usize>(
    simd: S,
    dot: &Dot<'_, T>,
    write: &mut dyn FnMut(usize, usize, T::Acc),
) {
    let mut row = 0;
    while row + R <= dot.row_count {
        group::<S, T, R, V, U>(simd, dot, row, write);
        row += R;
    }
    for row in row..dot.row_count {
        group::<S, T, 1, V, U>(simd, dot, row, write);
    }
}

#[inline(never)]
fn group<S: Simd, T: Element, const R: usize, const V: usize, const U: usize>(
    simd: S,
    dot: &Dot<'_, T>,
    first: usize,
    write: &mut dyn FnMut(usize, usize, T::Acc),
) {
    let sums = simd.vectorize(
        #[inline(always)]
        || sums::<S, T, R, V, U>(simd, dot, first),
    );
    for (r, sums) in sums.into_iter().enumerate() {
        for (v, sum) in sums.into_iter().enumerate() {
            write(first + r, v, sum);
        }
    }
}

#[inline(always)]
fn sums<S: Simd, T: Element, const R: usize, const V: usize, const U: usize>(
    simd: S,
    dot: &Dot<'_, T>,
    first: usize,
) -> [[T::Acc; V]; R] {
    let lanes = <T::Acc as Accumulator>::lanes::<S>();
    let len = dot.len;
    let zero = T::Acc::splat(simd, T::Acc::default());
    let mut rows: [&[T]; R] = [&[]; R];
    for (r, row) in rows.iter_mut().enumerate() {
        *row = &dot.rows[(first + r) * dot.stride..][..len];
    }
    let mut vectors: [&[T::Acc]; V] = [&[]; V];
    for (v, vector) in vectors.iter_mut().enumerate() {
        *vector = &dot.vectors[v * len..][..len];
    }
    let mut sums: [[[VectorOf<T, S>; U]; V]; R] = [[[zero; U]; V]; R];
    let mut start = 0;
    while start + U * lanes <= len {
        for u in 0..U {
            let at = start + u * lanes;
            let mut parts = [zero; V];
            for (part, vector) in parts.iter_mut().zip(vectors) {
                *part = T::Acc::load(simd, &vector[at..at + lanes]);
            }
            for (sums, row) in sums.iter_mut().zip(rows) {
                let row = T::load(simd, &row[at..at + lanes]);
                for (sum, part) in sums.iter_mut().zip(parts) {
                    sum[u] = T::Acc::fma(simd, row, part, sum[u]);
                }
            }
        }
        start += U * lanes;
    }
    while start < len {
        let end = len.min(start + lanes);
        for (sums, row) in sums.iter_mut().zip(rows) {
            let row = T::load_partial(simd, &row[start..end]);
            for (sum, vector) in sums.iter_mut().zip(vectors) {
                let part = T::Acc::load_partial(simd, &vector[start..end]);
                sum[0] = T::Acc::fma(simd, row, part, sum[0]);
            }
        }
        start = end;
    }
    let mut totals = [[T::Acc::default(); V]; R];
    for (totals, sums) in totals.iter_mut().zip(sums) {
        for (total, sums) in totals.iter_mut().zip(sums) {
            let mut sum = sums[0];
            for more in &sums[1..] {
                sum = T::Acc::add(simd, sum, *more);
            }
            *total = T::Acc::reduce_add(simd, sum);
        }
    }
    totals
}
