//! Elementwise drivers for the narrow floats (f16, bf16, f8e4m3): blocks are widened to f32,
//! computed by the kernel for f32, and rounded once.
//!
//! A kernel is thus compiled for f32 alone, whatever its table has; what is compiled for each
//! narrow type is here. The blocks stay in the first-level cache, so the two more passes cost
//! little beside memory.

use super::copy;
use super::map::{Cost, Map1, Map2, Operand, for_each_chunk, operand};
use super::vector::{VectorFloat, map_vector};
use super::view::View;
use super::walk::Walk;
use crate::Result;
use tallow_simd::{Kernel, Simd};

/// Elements in a block: three buffers of 512 f32 are 6 KiB, a fifth of the first-level cache.
const BLOCK: usize = 512;

/// `out[i] = f(src[i])`.
pub fn map1_narrow<T: VectorFloat, F: Map1<f32, f32>>(
    src: View<'_, T>,
    out: &mut [T],
    cost: Cost,
    f: F,
) -> Result<()> {
    drive1(src, out, cost, &|src, dst| {
        tallow_simd::dispatch(Run1 { src, dst, f })
    })
}

struct Run1<'a, F> {
    src: &'a [f32],
    dst: &'a mut [f32],
    f: F,
}

impl<F: Map1<f32, f32>> Kernel for Run1<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.f.run(simd, self.src, self.dst);
    }
}

fn drive1<T: VectorFloat>(
    src: View<'_, T>,
    out: &mut [T],
    cost: Cost,
    f: &(dyn Fn(&[f32], &mut [f32]) + Sync),
) -> Result<()> {
    let straightened = copy::straighten(src)?;
    let src = straightened.view(src);
    let walk = Walk::new(src.dims, [src.strides]);
    let [stride] = walk.inner_strides();
    for_each_chunk(out, cost, &|range, dst| {
        let mut gathered = [T::default(); BLOCK];
        let (mut wide, mut result) = ([0.0; BLOCK], [0.0; BLOCK]);
        walk.for_each_run(
            range,
            #[inline(always)]
            |[offset], span| {
                for (block, dst) in dst[span].chunks_mut(BLOCK).enumerate() {
                    let at = offset + block * BLOCK * stride;
                    let result = &mut result[..dst.len()];
                    match widen(
                        operand(src.data, at, stride, dst.len(), &mut gathered),
                        &mut wide,
                    ) {
                        Operand::Slice(wide) => f(wide, result),
                        Operand::Constant(value) => {
                            f(&[value], &mut result[..1]);
                            let value = result[0];
                            result.fill(value);
                        }
                    }
                    tallow_simd::dispatch(Convert { src: result, dst });
                }
            },
        );
    });
    Ok(())
}

/// `out[i] = f(lhs[i], rhs[i])`; both views have the same sizes.
pub fn map2_narrow<T: VectorFloat, F: Map2<f32, f32, f32>>(
    lhs: View<'_, T>,
    rhs: View<'_, T>,
    out: &mut [T],
    cost: Cost,
    f: F,
) -> Result<()> {
    drive2(lhs, rhs, out, cost, &|lhs, rhs, dst| {
        tallow_simd::dispatch(Run2 { lhs, rhs, dst, f });
    })
}

struct Run2<'a, F> {
    lhs: Operand<'a, f32>,
    rhs: Operand<'a, f32>,
    dst: &'a mut [f32],
    f: F,
}

impl<F: Map2<f32, f32, f32>> Kernel for Run2<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.f.run(simd, self.lhs, self.rhs, self.dst);
    }
}

type Function2<'a> = dyn Fn(Operand<'_, f32>, Operand<'_, f32>, &mut [f32]) + Sync + 'a;

fn drive2<T: VectorFloat>(
    lhs: View<'_, T>,
    rhs: View<'_, T>,
    out: &mut [T],
    cost: Cost,
    f: &Function2<'_>,
) -> Result<()> {
    let (lhs_straightened, rhs_straightened) = (copy::straighten(lhs)?, copy::straighten(rhs)?);
    let (lhs, rhs) = (lhs_straightened.view(lhs), rhs_straightened.view(rhs));
    let walk = Walk::new(lhs.dims, [lhs.strides, rhs.strides]);
    let [lhs_stride, rhs_stride] = walk.inner_strides();
    for_each_chunk(out, cost, &|range, dst| {
        let (mut lhs_gathered, mut rhs_gathered) = ([T::default(); BLOCK], [T::default(); BLOCK]);
        let (mut left, mut right, mut result) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        walk.for_each_run(
            range,
            #[inline(always)]
            |[lhs_offset, rhs_offset], span| {
                for (block, dst) in dst[span].chunks_mut(BLOCK).enumerate() {
                    let (skip, len) = (block * BLOCK, dst.len());
                    let lhs_at = lhs_offset + skip * lhs_stride;
                    let rhs_at = rhs_offset + skip * rhs_stride;
                    let lhs = operand(lhs.data, lhs_at, lhs_stride, len, &mut lhs_gathered);
                    let rhs = operand(rhs.data, rhs_at, rhs_stride, len, &mut rhs_gathered);
                    f(
                        widen(lhs, &mut left),
                        widen(rhs, &mut right),
                        &mut result[..len],
                    );
                    tallow_simd::dispatch(Convert {
                        src: &result[..len],
                        dst,
                    });
                }
            },
        );
    });
    Ok(())
}

/// The operand as f32, in a buffer that is long enough.
pub fn widen<'a, T: VectorFloat>(from: Operand<'_, T>, wide: &'a mut [f32]) -> Operand<'a, f32> {
    match from {
        Operand::Constant(value) => Operand::Constant(value.widen()),
        Operand::Slice(src) => {
            let dst = &mut wide[..src.len()];
            tallow_simd::dispatch(Convert { src, dst });
            Operand::Slice(&wide[..src.len()])
        }
    }
}

/// Widens or rounds each element.
struct Convert<'a, A, O> {
    src: &'a [A],
    dst: &'a mut [O],
}

impl<A: VectorFloat, O: VectorFloat> Kernel for Convert<'_, A, O> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        map_vector(
            simd,
            self.src,
            self.dst,
            #[inline(always)]
            |x| x,
        );
    }
}
