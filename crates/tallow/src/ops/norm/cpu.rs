//! A row at a time: sums in vectors of f32, then the scaled row.

use crate::cpu::rows::{PairwiseSum, RowKernel, for_each_row};
use crate::cpu::vector::VectorFloat;
use crate::cpu::{CpuView, copy, recycle};
use crate::{CpuStorage, DType, Result, WithDType, bf16, f16};
use tallow_simd::Simd;

/// Vectors whose squares are added up, in two sums, before these go into a [`PairwiseSum`].
const SQUARES: usize = 128;

pub(super) fn norm(inputs: &[CpuView<'_>], eps: f32, out: &mut CpuStorage) -> Result<()> {
    match inputs[0].dtype() {
        DType::F64 => {
            let (weight, bias) = (
                contiguous::<f64>(inputs[1])?,
                optional::<f64>(inputs.get(2))?,
            );
            let kernel = Double {
                weight: &weight,
                bias: bias.as_deref(),
                eps: f64::from(eps),
            };
            for_each_row(inputs[0].typed()?, out.as_mut_slice::<f64>()?, kernel);
            Ok(())
        }
        DType::F16 => vectors::<f16>(inputs, eps, out),
        DType::BF16 => vectors::<bf16>(inputs, eps, out),
        _ => vectors::<f32>(inputs, eps, out),
    }
}

fn vectors<T: VectorFloat>(inputs: &[CpuView<'_>], eps: f32, out: &mut CpuStorage) -> Result<()> {
    let (weight, bias) = (contiguous::<T>(inputs[1])?, optional::<T>(inputs.get(2))?);
    let kernel = Vectors {
        weight: &weight,
        bias: bias.as_deref(),
        eps,
    };
    for_each_row(inputs[0].typed()?, out.as_mut_slice::<T>()?, kernel);
    recycle::give(weight);
    bias.into_iter().for_each(recycle::give);
    Ok(())
}

/// The elements of a weight: a row's worth, copied, since it may be any view.
fn contiguous<T: WithDType>(view: CpuView<'_>) -> Result<Vec<T>> {
    let view = view.typed::<T>()?;
    let mut out = recycle::take(view.count());
    copy::copy(view, &mut out);
    Ok(out)
}

fn optional<T: WithDType>(view: Option<&CpuView<'_>>) -> Result<Option<Vec<T>>> {
    view.map(|view| contiguous(*view)).transpose()
}

#[derive(Clone, Copy)]
struct Vectors<'a, T> {
    weight: &'a [T],
    bias: Option<&'a [T]>,
    eps: f32,
}

#[inline(always)]
fn load<T: VectorFloat, S: Simd>(simd: S, from: &[T]) -> S::F32 {
    match from.len() >= S::F32_LANES {
        true => T::load(simd, from),
        false => T::load_partial(simd, from),
    }
}

/// A mean with the rounding of its sum taken out: what the values are off it by is small, and its
/// own mean has nearly all digits. Where a row is nearly constant, the variance is made of these
/// digits.
#[inline(always)]
fn refined_mean<S: Simd>(simd: S, values: &[f32], mean: f32) -> f32 {
    let center = simd.splat_f32(mean);
    let mut rest = simd.splat_f32(0.0);
    for values in values.chunks(S::F32_LANES) {
        let away = simd.sub_f32(simd.load_partial_or_f32(values, mean), center);
        rest = simd.add_f32(rest, away);
    }
    mean + simd.reduce_add_f32(rest) / values.len() as f32
}

impl<T: VectorFloat> RowKernel<T, T> for Vectors<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, src: &[T], dst: &mut [T], scratch: &mut [f32]) {
        let (lanes, count) = (S::F32_LANES, src.len() as f32);
        let mut sum = simd.splat_f32(0.0);
        for (src, wide) in src.chunks(lanes).zip(scratch.chunks_mut(lanes)) {
            let value = load(simd, src);
            sum = simd.add_f32(sum, value);
            simd.store_partial_f32(value, wide);
        }
        let mean = match self.bias {
            Some(_) => refined_mean(simd, scratch, simd.reduce_add_f32(sum) / count),
            None => 0.0,
        };
        let center = simd.splat_f32(mean);
        let mut squares = PairwiseSum::new(simd);
        for block in scratch.chunks(SQUARES * lanes) {
            // Two sums, so that one addition need not wait for the last.
            let mut sums = [simd.splat_f32(0.0); 2];
            for (at, wide) in block.chunks(lanes).enumerate() {
                let away = simd.sub_f32(simd.load_partial_or_f32(wide, mean), center);
                sums[at % 2] = simd.fma_f32(away, away, sums[at % 2]);
            }
            squares.add(simd.add_f32(sums[0], sums[1]));
        }
        let squares = squares.total();
        let factor = simd.splat_f32(1.0 / (squares / count + self.eps).sqrt());
        for (at, (wide, dst)) in scratch.chunks(lanes).zip(dst.chunks_mut(lanes)).enumerate() {
            let away = simd.sub_f32(simd.load_partial_f32(wide), center);
            let mut value = simd.mul_f32(
                simd.mul_f32(away, factor),
                load(simd, &self.weight[at * lanes..]),
            );
            if let Some(bias) = self.bias {
                value = simd.add_f32(value, load(simd, &bias[at * lanes..]));
            }
            match dst.len() == lanes {
                true => T::store(simd, value, dst),
                false => T::store_partial(simd, value, dst),
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Double<'a> {
    weight: &'a [f64],
    bias: Option<&'a [f64]>,
    eps: f64,
}

impl RowKernel<f64, f64> for Double<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, _: S, src: &[f64], dst: &mut [f64], _: &mut [f32]) {
        let count = src.len() as f64;
        let mean = if self.bias.is_some() {
            src.iter().sum::<f64>() / count
        } else {
            0.0
        };
        let squares: f64 = src.iter().map(|x| (x - mean) * (x - mean)).sum();
        let factor = 1.0 / (squares / count + self.eps).sqrt();
        for (at, (y, x)) in dst.iter_mut().zip(src).enumerate() {
            let bias = self.bias.map_or(0.0, |bias| bias[at]);
            *y = (x - mean) * factor * self.weight[at] + bias;
        }
    }
}
