//! Elementwise drivers: strided operands in, a contiguous result out.
//!
//! The result is cut into chunks; in a chunk the walk gives runs, and the kernel is handed each
//! operand of a run as a slice or as one repeated value. The walk calls the kernel by address, so
//! that a formula brings no more code than its own loop at each level.
//! Operands whose inner stride is neither 1 nor 0 are gathered into a small buffer first; large
//! transposed ones are made contiguous with the blocked tiles of `copy.rs`.

use super::copy;
use super::view::View;
use super::walk::Walk;
use crate::{Result, WithDType};
use std::ops::Range;
use tallow_simd::{Kernel, Scalar, Simd};

/// Elements gathered at a time: 256 f64 are 2 KiB, a small part of the first-level cache.
const GATHER: usize = 256;

/// How many elements make a chunk worth a thread.
#[derive(Clone, Copy, Debug)]
pub enum Cost {
    /// Bound by memory: a few operations an element. 32 Ki f32 take about 10 µs of one core,
    /// several times what it costs to wake a thread.
    Light,
    /// Bound by arithmetic: tens of operations an element.
    Heavy,
}

impl Cost {
    /// The least number of elements worth a thread.
    pub fn min_chunk(self) -> usize {
        match self {
            Self::Light => 32 << 10,
            Self::Heavy => 8 << 10,
        }
    }
}

/// Runs `f` over chunks of the result, in parallel: the numbers of the elements, and where they go.
/// `f` is called by address, so that the parallel loop is compiled once an element type.
pub fn for_each_chunk<O: Send>(
    out: &mut [O],
    cost: Cost,
    f: &(dyn Fn(Range<usize>, &mut [O]) + Sync),
) {
    let len = out.len();
    if len <= cost.min_chunk() {
        return f(0..len, out);
    }
    let chunk = tallow_threads::chunk_len(len, cost.min_chunk());
    tallow_threads::parallel_chunks_mut(out, chunk, |index, part| {
        f(index * chunk..index * chunk + part.len(), part);
    });
}

/// A kernel of one operand. Both slices have the same length.
pub trait Map1<A, O>: Copy + Sync {
    /// True for plain loops that memory bounds, or that call functions: they gain nothing from
    /// wider vectors, and are compiled once, for the target's baseline, instead of once a level.
    const PLAIN: bool = false;
    /// Writes the result of each element of `src`.
    fn run<S: Simd>(self, simd: S, src: &[A], dst: &mut [O]);
}

/// `out[i] = f(src[i])`.
pub fn map1<A: WithDType, O: WithDType, F: Map1<A, O>>(
    src: View<'_, A>,
    out: &mut [O],
    cost: Cost,
    f: F,
) -> Result<()> {
    let run: &(dyn Fn(&[A], &mut [O]) + Sync) = &|src, dst| match F::PLAIN {
        true => f.run(Scalar, src, dst),
        false => tallow_simd::dispatch(Run1 { src, dst, f }),
    };
    match src.contiguous() {
        Some(src) if out.len() <= cost.min_chunk() => {
            run(src, out);
            Ok(())
        }
        _ => drive1(src, out, cost, run),
    }
}

struct Run1<'a, A, O, F> {
    src: &'a [A],
    dst: &'a mut [O],
    f: F,
}

impl<A, O, F: Map1<A, O>> Kernel for Run1<'_, A, O, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.f.run(simd, self.src, self.dst);
    }
}

/// Walks the operand and calls `f` for each run; compiled once for each pair of element types.
fn drive1<A: WithDType, O: WithDType>(
    src: View<'_, A>,
    out: &mut [O],
    cost: Cost,
    f: &(dyn Fn(&[A], &mut [O]) + Sync),
) -> Result<()> {
    let straightened = copy::straighten(src)?;
    let src = straightened.view(src);
    let walk = Walk::new(src.dims, [src.strides]);
    let [stride] = walk.inner_strides();
    for_each_chunk(out, cost, &|range, dst| {
        let mut gathered = [A::default(); GATHER];
        walk.for_each_run(range, |[offset], span| {
            let dst = &mut dst[span];
            let piece_len = if stride == 1 { dst.len() } else { GATHER };
            for (piece, dst) in dst.chunks_mut(piece_len).enumerate() {
                let start = offset + piece * piece_len * stride;
                f(
                    gather(src.data, start, stride, dst.len(), &mut gathered),
                    dst,
                );
            }
        });
    });
    Ok(())
}

/// One operand of a run: its elements, or one value for all of them.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a, T> {
    /// As many elements as the run has.
    Slice(&'a [T]),
    /// The same value for each element.
    Constant(T),
}

impl<'a, T: Copy> Operand<'a, T> {
    /// The operand for `len` elements from `start` on.
    #[inline(always)]
    pub fn part(self, start: usize, len: usize) -> Self {
        match self {
            Self::Slice(elements) => Self::Slice(&elements[start..][..len]),
            Self::Constant(value) => Self::Constant(value),
        }
    }
}

/// A kernel of two operands. Slices have the length of `dst`.
pub trait Map2<A, B, O>: Copy + Sync {
    /// As [`Map1::PLAIN`].
    const PLAIN: bool = false;
    /// Writes the result of each pair of elements.
    fn run<S: Simd>(self, simd: S, lhs: Operand<'_, A>, rhs: Operand<'_, B>, dst: &mut [O]);
}

/// `out[i] = f(lhs[i], rhs[i])`; both views have the same sizes.
pub fn map2<A: WithDType, B: WithDType, O: WithDType, F: Map2<A, B, O>>(
    lhs: View<'_, A>,
    rhs: View<'_, B>,
    out: &mut [O],
    cost: Cost,
    f: F,
) -> Result<()> {
    let run: &Run<'_, A, B, O> = &|lhs, rhs, dst| match F::PLAIN {
        true => f.run(Scalar, lhs, rhs, dst),
        false => tallow_simd::dispatch(Run2 { lhs, rhs, dst, f }),
    };
    match (lhs.contiguous(), rhs.contiguous()) {
        // What one thread does in one run needs no walk.
        (Some(lhs), Some(rhs)) if out.len() <= cost.min_chunk() => {
            run(Operand::Slice(lhs), Operand::Slice(rhs), out);
            Ok(())
        }
        _ => drive2(lhs, rhs, out, cost, run),
    }
}

struct Run2<'a, A, B, O, F> {
    lhs: Operand<'a, A>,
    rhs: Operand<'a, B>,
    dst: &'a mut [O],
    f: F,
}

impl<A, B, O, F: Map2<A, B, O>> Kernel for Run2<'_, A, B, O, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.f.run(simd, self.lhs, self.rhs, self.dst);
    }
}

/// A run of both operands.
type Run<'a, A, B, O> = dyn Fn(Operand<'_, A>, Operand<'_, B>, &mut [O]) + Sync + 'a;

/// As [`drive1`], of two operands.
fn drive2<A: WithDType, B: WithDType, O: WithDType>(
    lhs: View<'_, A>,
    rhs: View<'_, B>,
    out: &mut [O],
    cost: Cost,
    f: &Run<'_, A, B, O>,
) -> Result<()> {
    let (lhs_straightened, rhs_straightened) = (copy::straighten(lhs)?, copy::straighten(rhs)?);
    let (lhs, rhs) = (lhs_straightened.view(lhs), rhs_straightened.view(rhs));
    let walk = Walk::new(lhs.dims, [lhs.strides, rhs.strides]);
    let [lhs_stride, rhs_stride] = walk.inner_strides();
    let straight = lhs_stride <= 1 && rhs_stride <= 1;
    for_each_chunk(out, cost, &|range, dst| {
        let (mut left, mut right) = ([A::default(); GATHER], [B::default(); GATHER]);
        walk.for_each_run(range, |[lhs_offset, rhs_offset], span| {
            let dst = &mut dst[span];
            let piece_len = if straight { dst.len() } else { GATHER };
            for (piece, dst) in dst.chunks_mut(piece_len).enumerate() {
                let (skip, len) = (piece * piece_len, dst.len());
                let (lhs_at, rhs_at) = (skip * lhs_stride, skip * rhs_stride);
                f(
                    operand(lhs.data, lhs_offset + lhs_at, lhs_stride, len, &mut left),
                    operand(rhs.data, rhs_offset + rhs_at, rhs_stride, len, &mut right),
                    dst,
                );
            }
        });
    });
    Ok(())
}

/// An operand of a piece of a run.
#[inline(always)]
pub fn operand<'a, T: Copy>(
    data: &'a [T],
    offset: usize,
    stride: usize,
    len: usize,
    gathered: &'a mut [T],
) -> Operand<'a, T> {
    match stride {
        0 => Operand::Constant(data[offset]),
        _ => Operand::Slice(gather(data, offset, stride, len, gathered)),
    }
}

/// `len` elements `stride` apart, contiguous: the view's own where they are, else gathered.
#[inline(always)]
fn gather<'a, T: Copy>(
    data: &'a [T],
    offset: usize,
    stride: usize,
    len: usize,
    gathered: &'a mut [T],
) -> &'a [T] {
    if stride == 1 {
        return &data[offset..][..len];
    }
    for (at, slot) in gathered[..len].iter_mut().enumerate() {
        *slot = data[offset + at * stride];
    }
    &gathered[..len]
}
