//! Dot products for few activation rows: four weight rows at a time share each load of activations.

use tallow_simd::{Kernel, Simd, dispatch};

use super::Element;
use crate::columns;
use crate::matmul::MatmulDims;

/// Weight rows at a time: with two sums each, enough to hide the latency of an fma.
const ROWS: usize = 4;

pub(super) fn matmul<T: Element>(weight: &[T], lhs: &[f32], dims: MatmulDims, out: &mut [f32]) {
    // The least rows of a task: each reads 32 KiB or more, some microseconds of work.
    let min_columns = (32 * 1024 / (dims.k * size_of::<T>())).max(1);
    columns::for_ranges(out, dims.n, ROWS, min_columns, |first, out| {
        let weight = &weight[first * dims.k..(first + out[0].len()) * dims.k];
        for (lhs, out) in lhs.chunks_exact(dims.k).zip(out) {
            dispatch(Dots { weight, lhs, out });
        }
    });
}

/// One activation row times the weight rows.
struct Dots<'a, T> {
    weight: &'a [T],
    lhs: &'a [f32],
    out: &'a mut [f32],
}

impl<T: Element> Kernel for Dots<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let len = self.lhs.len();
        let (fours, rest) = self.out.as_chunks_mut::<ROWS>();
        for (at, out) in fours.iter_mut().enumerate() {
            let first = at * ROWS;
            let rows = std::array::from_fn(|row| {
                &self.weight[(first + row) * len..(first + row + 1) * len]
            });
            *out = dots::<S, T, ROWS>(simd, rows, self.lhs);
        }
        let first = fours.len() * ROWS;
        for (row, out) in rest.iter_mut().enumerate() {
            let row = &self.weight[(first + row) * len..(first + row + 1) * len];
            [*out] = dots::<S, T, 1>(simd, [row], self.lhs);
        }
    }
}

#[inline(always)]
fn dots<S: Simd, T: Element, const N: usize>(simd: S, rows: [&[T]; N], lhs: &[f32]) -> [f32; N] {
    let mut sums = [[simd.splat_f32(0.0); 2]; N];
    let lanes = S::F32_LANES;
    let mut at = 0;
    while at + 2 * lanes <= lhs.len() {
        for half in 0..2 {
            let start = at + half * lanes;
            let activations = simd.load_f32(&lhs[start..start + lanes]);
            for row in 0..N {
                let weights = T::load(simd, &rows[row][start..start + lanes]);
                sums[row][half] = simd.fma_f32(weights, activations, sums[row][half]);
            }
        }
        at += 2 * lanes;
    }
    while at < lhs.len() {
        let end = (at + lanes).min(lhs.len());
        let activations = simd.load_partial_f32(&lhs[at..end]);
        for row in 0..N {
            let weights = T::load_partial(simd, &rows[row][at..end]);
            sums[row][0] = simd.fma_f32(weights, activations, sums[row][0]);
        }
        at = end;
    }
    std::array::from_fn(|row| simd.reduce_add_f32(simd.add_f32(sums[row][0], sums[row][1])))
}
