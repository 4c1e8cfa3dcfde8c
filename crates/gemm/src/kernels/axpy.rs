//! Sums of multiples of rows: a few vectors times a matrix whose rows lie along the output.
//!
//! `sums[v, j] += Σ_step vectors[v, step] · matrix[step, j]`. The matrix is streamed, eight of
//! its rows at a time, so that memory sees eight long sequential reads; the sums, which stay in the
//! first-level cache, are loaded and stored once for eight products.

use tallow_simd::Simd;

use crate::element::{Accumulator, Element};

/// Rows of the matrix that are taken together.
const STEPS: usize = 8;

/// Vectors, the rows that they scale, and the sums.
pub(crate) struct Axpy<'a, T: Element> {
    /// `count` vectors of `steps` elements, one after the other.
    pub(crate) vectors: &'a [T::Acc],
    /// 1, 2, 4 or 8.
    pub(crate) count: usize,
    pub(crate) steps: usize,
    /// Row `step` is the first `cols` elements from `step · stride`.
    pub(crate) matrix: &'a [T],
    pub(crate) stride: usize,
    pub(crate) cols: usize,
    /// `count` rows of `cols` rounded up to whole vectors.
    pub(crate) sums: &'a mut [T::Acc],
}

/// Fills the sums.
pub(crate) fn axpy<S: Simd, T: Element>(simd: S, axpy: Axpy<'_, T>) {
    match axpy.count {
        1 => rows::<S, T, 1>(simd, axpy),
        2 => rows::<S, T, 2>(simd, axpy),
        4 => rows::<S, T, 4>(simd, axpy),
        8 => rows::<S, T, 8>(simd, axpy),
        count => unreachable!("matmul: no axpy kernel takes {count} vectors"),
    }
}

#[inline(never)]
fn rows<S: Simd, T: Element, const V: usize>(simd: S, axpy: Axpy<'_, T>) {
    simd.vectorize(
        #[inline(always)]
        || {
            axpy.sums.fill(T::Acc::default());
            let whole = axpy.steps / STEPS * STEPS;
            for step in (0..whole).step_by(STEPS) {
                add_rows::<S, T, V, STEPS>(
                    simd,
                    &axpy.vectors[step..],
                    &axpy.matrix[step * axpy.stride..],
                    (axpy.steps, axpy.stride, axpy.cols),
                    axpy.sums,
                );
            }
            for step in whole..axpy.steps {
                add_rows::<S, T, V, 1>(
                    simd,
                    &axpy.vectors[step..],
                    &axpy.matrix[step * axpy.stride..],
                    (axpy.steps, axpy.stride, axpy.cols),
                    axpy.sums,
                );
            }
        },
    );
}

/// Adds `N` rows to the sums.
#[inline(always)]
fn add_rows<S: Simd, T: Element, const V: usize, const N: usize>(
    simd: S,
    vectors: &[T::Acc],
    matrix: &[T],
    (steps, stride, cols): (usize, usize, usize),
    sums: &mut [T::Acc],
) {
    let lanes = <T::Acc as Accumulator>::lanes::<S>();
    let padded = cols.next_multiple_of(lanes);
    let mut scales = [[T::Acc::default(); N]; V];
    for (v, scales) in scales.iter_mut().enumerate() {
        scales.copy_from_slice(&vectors[v * steps..][..N]);
    }
    let mut rows: [&[T]; N] = [&[]; N];
    for (n, row) in rows.iter_mut().enumerate() {
        *row = &matrix[n * stride..][..cols];
    }
    let zero = T::Acc::splat(simd, T::Acc::default());
    let mut start = 0;
    while start < cols {
        let mut parts = [zero; N];
        for (part, row) in parts.iter_mut().zip(rows) {
            *part = if start + lanes <= cols {
                T::load(simd, &row[start..start + lanes])
            } else {
                T::load_partial(simd, &row[start..])
            };
        }
        for (v, scales) in scales.iter().enumerate() {
            let place = &mut sums[v * padded + start..][..lanes];
            let mut sum = T::Acc::load(simd, place);
            for (part, scale) in parts.iter().zip(scales) {
                sum = T::Acc::fma(simd, T::Acc::splat(simd, *scale), *part, sum);
            }
            T::Acc::store(simd, sum, place);
        }
        start += lanes;
    }
}
