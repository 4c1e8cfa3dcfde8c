//! Three passes over a row: maximum, exponentials and their sum, division.

use crate::cpu::CpuView;
use crate::cpu::rows::{PairwiseSum, RowKernel, SUM_VECTORS, fold_vectors, for_each_row, load_or};
use crate::cpu::vector::VectorFloat;
use crate::{CpuStorage, DType, F8E4M3, Result, bf16, f16};
use tallow_simd::{Simd, math};

pub(super) fn softmax(x: CpuView<'_>, out: &mut CpuStorage) -> Result<()> {
    match x.dtype() {
        DType::F64 => for_each_row(x.typed::<f64>()?, out.as_mut_slice::<f64>()?, Double),
        DType::F16 => for_each_row(x.typed::<f16>()?, out.as_mut_slice::<f16>()?, Vectors),
        DType::BF16 => for_each_row(x.typed::<bf16>()?, out.as_mut_slice::<bf16>()?, Vectors),
        DType::F8E4M3 => for_each_row(x.typed::<F8E4M3>()?, out.as_mut_slice::<F8E4M3>()?, Vectors),
        _ => for_each_row(x.typed::<f32>()?, out.as_mut_slice::<f32>()?, Vectors),
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Vectors;

impl<T: VectorFloat> RowKernel<T, T> for Vectors {
    const SCRATCH: bool = true;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S, src: &[T], dst: &mut [T], scratch: &mut [f32]) {
        let lanes = S::F32_LANES;
        let lowest = simd.splat_f32(f32::NEG_INFINITY);
        let [a, b, c, d] = fold_vectors(
            simd,
            src,
            lowest,
            [lowest; 4],
            #[inline(always)]
            |greatest, value| simd.max_f32(greatest, value),
        );
        let greatest = simd.max_f32(simd.max_f32(a, b), simd.max_f32(c, d));
        let greatest = simd.reduce_max_f32(greatest);
        if greatest == f32::NEG_INFINITY {
            dst.fill(T::narrow(0.0));
            return;
        }
        let base = simd.splat_f32(greatest);
        let mut total = PairwiseSum::new(simd);
        let block_len = SUM_VECTORS * lanes;
        for (src, wide) in src.chunks(block_len).zip(scratch.chunks_mut(block_len)) {
            let mut sum = simd.splat_f32(0.0);
            for (src, wide) in src.chunks(lanes).zip(wide.chunks_mut(lanes)) {
                let shifted = simd.sub_f32(load_or(simd, src, lowest), base);
                let weight = math::exp(simd, shifted);
                sum = simd.add_f32(sum, weight);
                simd.store_partial_f32(weight, wide);
            }
            total.add(sum);
        }
        let factor = simd.splat_f32(1.0 / total.total());
        for (wide, dst) in scratch.chunks(lanes).zip(dst.chunks_mut(lanes)) {
            let weight = simd.mul_f32(simd.load_partial_f32(wide), factor);
            match dst.len() == lanes {
                true => T::store(simd, weight, dst),
                false => T::store_partial(simd, weight, dst),
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Double;

impl RowKernel<f64, f64> for Double {
    #[inline(always)]
    fn run<S: Simd>(self, _: S, src: &[f64], dst: &mut [f64], _: &mut [f32]) {
        let greater = |a: f64, &b: &f64| if b > a || b.is_nan() { b } else { a };
        let greatest = src.iter().fold(f64::NEG_INFINITY, greater);
        if greatest == f64::NEG_INFINITY {
            dst.fill(0.0);
            return;
        }
        dst.iter_mut()
            .zip(src)
            .for_each(|(y, x)| *y = (x - greatest).exp());
        let total: f64 = dst.iter().sum();
        dst.iter_mut().for_each(|y| *y /= total);
    }
}
