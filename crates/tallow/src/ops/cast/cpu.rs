//! Drives the conversions over any view: contiguous runs as they are, others gathered by blocks.

use super::convert::Convert;
use crate::cpu::map::{Cost, Operand, for_each_chunk, operand};
use crate::cpu::walk::Walk;
use crate::cpu::{CpuView, View, copy};
use crate::{CpuStorage, Result, WithDType};
use tallow_simd::{Kernel, Scalar, Simd};

/// Elements gathered at a time: 1024 f64 are 8 KiB, a quarter of the first-level cache.
const BLOCK: usize = 1024;

pub(super) fn run(src: CpuView<'_>, out: &mut CpuStorage) -> Result<()> {
    crate::with_dtype!(src.dtype(), super::NAME, A in all => {
        let src = src.typed::<A>()?;
        crate::with_dtype!(out.dtype(), super::NAME, O in all => {
            convert::<A, O>(src, out.as_mut_slice::<O>()?)
        })
    })
}

fn convert<A: Convert<O>, O: WithDType>(src: View<'_, A>, out: &mut [O]) -> Result<()> {
    let straightened = copy::straighten(src)?;
    let src = straightened.view(src);
    let walk = Walk::new(src.dims, [src.strides]);
    let [stride] = walk.inner_strides();
    for_each_chunk(out, Cost::Light, &|range, dst| {
        walk.for_each_run(
            range,
            #[inline(always)]
            |[offset], span| {
                convert_run(&src.data[offset..], stride, &mut dst[span]);
            },
        );
    });
    Ok(())
}

fn convert_run<A: Convert<O>, O: WithDType>(data: &[A], stride: usize, dst: &mut [O]) {
    if stride == 1 {
        return convert_block(&data[..dst.len()], dst);
    }
    let mut gathered = [A::default(); BLOCK];
    for (block, dst) in dst.chunks_mut(BLOCK).enumerate() {
        match operand(
            data,
            block * BLOCK * stride,
            stride,
            dst.len(),
            &mut gathered,
        ) {
            Operand::Slice(src) => convert_block(src, dst),
            Operand::Constant(value) => {
                convert_block(&[value], &mut dst[..1]);
                let converted = dst[0];
                dst.fill(converted);
            }
        }
    }
}

fn convert_block<A: Convert<O>, O>(src: &[A], dst: &mut [O]) {
    let block = Block { src, dst };
    if A::PLAIN {
        block.run(Scalar)
    } else {
        tallow_simd::dispatch(block)
    }
}

struct Block<'a, A, O> {
    src: &'a [A],
    dst: &'a mut [O],
}

impl<A: Convert<O>, O> Kernel for Block<'_, A, O> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        A::convert(simd, self.src, self.dst);
    }
}
