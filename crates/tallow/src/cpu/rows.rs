//! Drivers for kernels that work on whole rows: the last dimension of a view.

use super::map::Cost;
use super::vector::VectorFloat;
use super::view::View;
use super::{copy, recycle};
use crate::WithDType;
use smallvec::SmallVec;
use tallow_simd::{Kernel, Simd};

/// Vectors that are added up one after the other before their sum goes into a [`PairwiseSum`].
pub const SUM_VECTORS: usize = 32;

/// A sum of many parts that adds like to like (pairwise summation: Higham, Accuracy and Stability
/// of Numerical Algorithms, 4.2). Equal numbers all round alike, and one running sum of thousands
/// of them drifts.
pub struct PairwiseSum<S: Simd> {
    simd: S,
    /// For each bit of the count that is set, the highest first, the sum of as many parts.
    sums: SmallVec<[S::F32; 32]>,
    count: u32,
}

impl<S: Simd> PairwiseSum<S> {
    /// Of no parts.
    #[inline(always)]
    pub fn new(simd: S) -> Self {
        let (sums, count) = (SmallVec::new(), 0);
        Self { simd, sums, count }
    }

    /// Adds a part.
    #[inline(always)]
    pub fn add(&mut self, mut part: S::F32) {
        let kept = self.sums.len() - self.count.trailing_ones() as usize;
        for sum in self.sums[kept..].iter().rev() {
            part = self.simd.add_f32(*sum, part);
        }
        self.sums.truncate(kept);
        self.sums.push(part);
        self.count += 1;
    }

    /// The sum of all parts and lanes.
    #[inline(always)]
    pub fn total(&self) -> f32 {
        let mut total = self.simd.splat_f32(0.0);
        for sum in self.sums.iter().rev() {
            total = self.simd.add_f32(total, *sum);
        }
        self.simd.reduce_add_f32(total)
    }
}

/// A vector of a row, whole or not; lanes behind its end are `fill`.
#[inline(always)]
pub fn load_or<T: VectorFloat, S: Simd>(simd: S, from: &[T], fill: S::F32) -> S::F32 {
    if from.len() >= S::F32_LANES {
        return T::load(simd, from);
    }
    let mask = simd.first_m32(from.len());
    simd.select_f32(mask, T::load_partial(simd, from), fill)
}

/// Folds the vectors of a row into `N` values in turn, so that one step need not wait for the last.
/// `fill` stands for what is behind the end, and must change nothing.
#[inline(always)]
pub fn fold_vectors<S: Simd, T: VectorFloat, A: Copy, const N: usize>(
    simd: S,
    row: &[T],
    fill: S::F32,
    mut values: [A; N],
    step: impl Fn(A, S::F32) -> A,
) -> [A; N] {
    let lanes = S::F32_LANES;
    let blocks = row.chunks_exact(N * lanes);
    let rest = blocks.remainder();
    // A number of steps that is known when this is compiled keeps the values in registers.
    for block in blocks {
        for (at, value) in values.iter_mut().enumerate() {
            *value = step(*value, T::load(simd, &block[at * lanes..]));
        }
    }
    if !rest.is_empty() {
        for (at, value) in values.iter_mut().enumerate() {
            let from = rest.get(at * lanes..).unwrap_or_default();
            *value = step(*value, load_or(simd, from, fill));
        }
    }
    values
}

/// A kernel of one row.
pub trait RowKernel<A, O>: Copy + Sync {
    /// Whether it wants scratch.
    const SCRATCH: bool = false;

    /// Writes `dst` from `src`, a row. `scratch` has the row's length if it is wanted, and holds
    /// values that mean nothing.
    fn run<S: Simd>(self, simd: S, src: &[A], dst: &mut [O], scratch: &mut [f32]);
}

/// Runs a kernel on each row of `src`, whose last dimension is not empty; `out` has as many
/// elements.
pub fn for_each_row<A: WithDType, O: WithDType>(
    src: View<'_, A>,
    out: &mut [O],
    f: impl RowKernel<A, O>,
) {
    let len = src.dims.last().copied().unwrap_or(1);
    run(src, out, len, f);
}

/// As [`for_each_row`], for kernels that make one element of each row.
pub fn for_each_row_to<A: WithDType, O: WithDType>(
    src: View<'_, A>,
    out: &mut [O],
    f: impl RowKernel<A, O>,
) {
    run(src, out, 1, f);
}

fn run<A: WithDType, O: WithDType>(
    src: View<'_, A>,
    out: &mut [O],
    out_len: usize,
    f: impl RowKernel<A, O>,
) {
    let packed;
    let data = match src.contiguous() {
        Some(data) => data,
        None => {
            let mut buffer = recycle::take(src.count());
            copy::copy(src, &mut buffer);
            packed = buffer;
            &packed
        }
    };
    let len = src.dims.last().copied().unwrap_or(1);
    let rows_min = (Cost::Heavy.min_chunk() / len).max(1);
    let rows = tallow_threads::chunk_len(out.len() / out_len, rows_min);
    tallow_threads::parallel_chunks_mut(out, rows * out_len, |chunk, dst| {
        let src = &data[chunk * rows * len..][..dst.len() / out_len * len];
        tallow_simd::dispatch(Rows {
            src,
            dst,
            len,
            out_len,
            f,
        });
    });
}

struct Rows<'a, A, O, F> {
    src: &'a [A],
    dst: &'a mut [O],
    len: usize,
    out_len: usize,
    f: F,
}

impl<A: WithDType, O: WithDType, F: RowKernel<A, O>> Kernel for Rows<'_, A, O, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self {
            src,
            dst,
            len,
            out_len,
            f,
        } = self;
        let mut scratch = recycle::take::<f32>(if F::SCRATCH { len } else { 0 });
        for (src, dst) in src.chunks_exact(len).zip(dst.chunks_exact_mut(out_len)) {
            f.run(simd, src, dst, &mut scratch);
        }
        recycle::give(scratch);
    }
}
