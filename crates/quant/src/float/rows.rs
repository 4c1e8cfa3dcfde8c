//! Dot products for few activation rows: a block of weight rows by a block of activation rows.
//!
//! One activation row meets four weight rows at a time, which hides the latency of an fma and is
//! limited by the reading of the weights. From four activation rows on, two weight rows meet four,
//! so that each weight is loaded and widened once for four products.

use tallow_simd::{Kernel, Simd, dispatch};

use super::Element;
use crate::columns;
use crate::matmul::MatmulDims;

/// Weight rows of a block for one activation row; tasks get whole multiples.
const ROWS: usize = 4;

/// Activation rows of a block.
const LHS_ROWS: usize = 4;

pub(super) fn matmul<T: Element>(weight: &[T], lhs: &[f32], dims: MatmulDims, out: &mut [f32]) {
    // The least rows of a task: each reads 32 KiB or more, some microseconds of work.
    let min_columns = (32 * 1024 / (dims.k * size_of::<T>())).max(1);
    columns::for_ranges(out, dims.n, ROWS, min_columns, |first, out| {
        let weight = &weight[first * dims.k..(first + out[0].len()) * dims.k];
        dispatch(Dots {
            weight,
            lhs,
            k: dims.k,
            out,
        });
    });
}

/// All activation rows times a range of weight rows.
struct Dots<'a, 'b, T> {
    weight: &'a [T],
    lhs: &'a [f32],
    k: usize,
    out: &'a mut [&'b mut [f32]],
}

impl<T: Element> Kernel for Dots<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let k = self.k;
        let outs = self.out.chunks_mut(LHS_ROWS);
        for (lhs, outs) in self.lhs.chunks(LHS_ROWS * k).zip(outs) {
            if outs.len() == LHS_ROWS {
                block_rows::<S, T, 2, LHS_ROWS>(simd, self.weight, lhs, outs);
            } else {
                for (lhs, out) in lhs.chunks_exact(k).zip(outs) {
                    let out = std::slice::from_mut(out);
                    block_rows::<S, T, ROWS, 1>(simd, self.weight, lhs, out);
                }
            }
        }
    }
}

/// `M` activation rows times the weight rows, `N` at a time.
#[inline(always)]
fn block_rows<S: Simd, T: Element, const N: usize, const M: usize>(
    simd: S,
    weight: &[T],
    lhs: &[f32],
    outs: &mut [&mut [f32]],
) {
    let k = lhs.len() / M;
    let lhs: [&[f32]; M] = std::array::from_fn(|row| &lhs[row * k..(row + 1) * k]);
    let columns = outs[0].len();
    let row_of = |column: usize| &weight[column * k..(column + 1) * k];
    let mut column = 0;
    while column + N <= columns {
        let sums = dots::<S, T, N, M>(simd, std::array::from_fn(|at| row_of(column + at)), lhs);
        for (out, sums) in outs.iter_mut().zip(sums) {
            out[column..column + N].copy_from_slice(&sums);
        }
        column += N;
    }
    for column in column..columns {
        let sums = dots::<S, T, 1, M>(simd, [row_of(column)], lhs);
        for (out, [sum]) in outs.iter_mut().zip(sums) {
            out[column] = sum;
        }
    }
}

/// Dot products of `N` weight rows with `M` activation rows.
#[inline(always)]
fn dots<S: Simd, T: Element, const N: usize, const M: usize>(
    simd: S,
    rows: [&[T]; N],
    lhs: [&[f32]; M],
) -> [[f32; N]; M] {
    let mut sums = [[[simd.splat_f32(0.0); 2]; N]; M];
    let (lanes, k) = (S::F32_LANES, lhs[0].len());
    let pairs = k / (2 * lanes);
    // All of one length that the compiler knows: no load in the loop checks its bounds.
    let whole = 2 * lanes * pairs;
    let (whole_rows, whole_lhs) = (rows.map(|row| &row[..whole]), lhs.map(|row| &row[..whole]));
    for pair in 0..pairs {
        for half in 0..2 {
            let start = (2 * pair + half) * lanes;
            let weights: [S::F32; N] =
                std::array::from_fn(|row| T::load(simd, &whole_rows[row][start..start + lanes]));
            // Enough sums for an fma's latency either way; more would not fit 16 registers.
            let sum = if N * M < 8 { half } else { 0 };
            for m in 0..M {
                let activations = simd.load_f32(&whole_lhs[m][start..start + lanes]);
                for row in 0..N {
                    sums[m][row][sum] = simd.fma_f32(weights[row], activations, sums[m][row][sum]);
                }
            }
        }
    }
    let mut at = whole;
    while at < k {
        let end = (at + lanes).min(k);
        for row in 0..N {
            let weights = T::load_partial(simd, &rows[row][at..end]);
            for m in 0..M {
                let activations = simd.load_partial_f32(&lhs[m][at..end]);
                sums[m][row][0] = simd.fma_f32(weights, activations, sums[m][row][0]);
            }
        }
        at = end;
    }
    sums.map(|sums| sums.map(|[a, b]| simd.reduce_add_f32(simd.add_f32(a, b))))
}
