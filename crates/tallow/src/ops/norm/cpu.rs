//! A row at a time: sums in vectors of f32, then the scaled row.

use crate::cpu::rows::{PairwiseSum, RowKernel, fold_vectors, for_each_row, load_or};
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

/// The mean, of what elements are away from the first: that has all digits where a row is nearly
/// constant.
#[inline(always)]
fn mean<T: VectorFloat, S: Simd>(simd: S, row: &[T]) -> f32 {
    let first = row[0].widen();
    let (center, zero) = (simd.splat_f32(first), simd.splat_f32(0.0));
    let [a, b, c, d] = fold_vectors(
        simd,
        row,
        center,
        [zero; 4],
        #[inline(always)]
        |sum, value| simd.add_f32(sum, simd.sub_f32(value, center)),
    );
    let sum = simd.add_f32(simd.add_f32(a, b), simd.add_f32(c, d));
    first + simd.reduce_add_f32(sum) / row.len() as f32
}

/// What a row's elements are away from a number.
struct Away {
    sum: f32,
    squares: f32,
}

/// Two sums of each, so that one addition need not wait for the last.
#[inline(always)]
fn away_from<T: VectorFloat, S: Simd>(simd: S, row: &[T], center: f32) -> Away {
    let (center, zero) = (simd.splat_f32(center), simd.splat_f32(0.0));
    let (mut sum, mut squares) = (zero, PairwiseSum::new(simd));
    for block in row.chunks(SQUARES * S::F32_LANES) {
        let [even, odd] = fold_vectors(
            simd,
            block,
            center,
            [(zero, zero); 2],
            #[inline(always)]
            |(sum, squares), value| {
                let away = simd.sub_f32(value, center);
                (simd.add_f32(sum, away), simd.fma_f32(away, away, squares))
            },
        );
        sum = simd.add_f32(sum, simd.add_f32(even.0, odd.0));
        squares.add(simd.add_f32(even.1, odd.1));
    }
    let (sum, squares) = (simd.reduce_add_f32(sum), squares.total());
    Away { sum, squares }
}

/// A row's numbers, in every lane.
struct Scale<V> {
    mean: V,
    /// What the mean lost when it was rounded.
    rest: V,
    factor: V,
}

impl<T: VectorFloat> Vectors<'_, T> {
    /// A vector of the result, whole or not, from where it starts in the row.
    #[inline(always)]
    fn scale<S: Simd>(
        self,
        simd: S,
        scale: &Scale<S::F32>,
        (src, from): (&[T], usize),
        dst: &mut [T],
    ) {
        let (len, zero) = (dst.len(), simd.splat_f32(0.0));
        let mut value = simd.sub_f32(load_or(simd, &src[from..][..len], zero), scale.mean);
        if self.bias.is_some() {
            value = simd.sub_f32(value, scale.rest);
        }
        let weight = load_or(simd, &self.weight[from..][..len], zero);
        value = simd.mul_f32(simd.mul_f32(value, scale.factor), weight);
        if let Some(bias) = self.bias {
            value = simd.add_f32(value, load_or(simd, &bias[from..][..len], zero));
        }
        match len == S::F32_LANES {
            true => T::store(simd, value, dst),
            false => T::store_partial(simd, value, dst),
        }
    }
}

impl<T: VectorFloat> RowKernel<T, T> for Vectors<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, src: &[T], dst: &mut [T], _: &mut [f32]) {
        let (lanes, count) = (S::F32_LANES, src.len() as f32);
        let has_mean = self.bias.is_some();
        let mean = if has_mean { mean(simd, src) } else { 0.0 };
        let away = away_from(simd, src, mean);
        let rest = if has_mean { away.sum / count } else { 0.0 };
        let variance = away.squares / count - rest * rest;
        let variance = if variance < 0.0 { 0.0 } else { variance };
        let scale = Scale {
            mean: simd.splat_f32(mean),
            rest: simd.splat_f32(rest),
            factor: simd.splat_f32(1.0 / (variance + self.eps).sqrt()),
        };
        let mut parts = dst.chunks_exact_mut(lanes);
        for (at, dst) in parts.by_ref().enumerate() {
            self.scale(simd, &scale, (src, at * lanes), dst);
        }
        let dst = parts.into_remainder();
        if !dst.is_empty() {
            self.scale(simd, &scale, (src, src.len() - dst.len()), dst);
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
        let mean = match self.bias {
            Some(_) => src[0] + src.iter().map(|x| x - src[0]).sum::<f64>() / count,
            None => 0.0,
        };
        let squares: f64 = src.iter().map(|x| (x - mean) * (x - mean)).sum();
        let factor = 1.0 / (squares / count + self.eps).sqrt();
        for (at, (y, x)) in dst.iter_mut().zip(src).enumerate() {
            let bias = self.bias.map_or(0.0, |bias| bias[at]);
            *y = (x - mean) * factor * self.weight[at] + bias;
        }
    }
}
