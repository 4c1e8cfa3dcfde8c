//! Kernels of one tensor and numbers: each a vector formula, a formula over f64, and integer rules.

use super::{Affine, Clamp, Elu, Powf};
use crate::cpu::CpuView;
use crate::cpu::integer::Integer;
use crate::cpu::map::{Cost, Map1, map1};
use crate::cpu::narrow::map1_narrow;
use crate::cpu::pairs::by_lanes;
use crate::cpu::power::power;
use crate::cpu::vector::{VectorFloat, map_vector};
use crate::{CpuStorage, DType, Error, F8E4M3, Result, bail, bf16, f16};
use std::sync::atomic::{AtomicBool, Ordering};
use tallow_simd::{Simd, math};

/// A function of one number with parameters.
pub(super) trait Formula: Copy + Send + Sync {
    const NAME: &'static str;
    const COST: Cost;
    fn vector<S: Simd>(self, simd: S, x: S::F32) -> S::F32;
    fn double(self, x: f64) -> f64;
    /// The exact value; none if it is no integer.
    fn integer<T: Integer>(self, x: T) -> Option<T>;
    /// The parameters, for errors.
    fn describe(self) -> String;
}

pub(super) fn run<F: Formula>(formula: F, x: CpuView<'_>, out: &mut CpuStorage) -> Result<()> {
    match x.dtype() {
        DType::F32 => map1(
            x.typed::<f32>()?,
            out.as_mut_slice()?,
            F::COST,
            Vectors(formula),
        ),
        DType::F16 => narrow::<f16, F>(formula, x, out),
        DType::BF16 => narrow::<bf16, F>(formula, x, out),
        DType::F8E4M3 => narrow::<F8E4M3, F>(formula, x, out),
        DType::F64 => map1(
            x.typed::<f64>()?,
            out.as_mut_slice()?,
            F::COST,
            Doubles(formula),
        ),
        DType::I64 => integers::<i64, F>(formula, x, out),
        DType::I32 => integers::<i32, F>(formula, x, out),
        DType::I16 => integers::<i16, F>(formula, x, out),
        DType::U32 => integers::<u32, F>(formula, x, out),
        DType::U8 => integers::<u8, F>(formula, x, out),
        other => Err(Error::UnsupportedDTypeForOp(other, F::NAME)),
    }
}

fn narrow<T: VectorFloat, F: Formula>(
    formula: F,
    x: CpuView<'_>,
    out: &mut CpuStorage,
) -> Result<()> {
    map1_narrow(
        x.typed::<T>()?,
        out.as_mut_slice::<T>()?,
        F::COST,
        Vectors(formula),
    )
}

fn integers<T: Integer, F: Formula>(
    formula: F,
    x: CpuView<'_>,
    out: &mut CpuStorage,
) -> Result<()> {
    let refused = AtomicBool::new(false);
    let kernel = Integers {
        formula,
        refused: &refused,
    };
    map1(x.typed::<T>()?, out.as_mut_slice::<T>()?, F::COST, kernel)?;
    if refused.into_inner() {
        let (name, what) = (F::NAME, formula.describe());
        bail!(
            "{name}: {what} of {} values is not whole; cast to a float dtype",
            x.dtype()
        );
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Vectors<F>(F);

impl<F: Formula> Map1<f32, f32> for Vectors<F> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, src: &[f32], dst: &mut [f32]) {
        map_vector(
            simd,
            src,
            dst,
            #[inline(always)]
            |x| self.0.vector(simd, x),
        );
    }
}

#[derive(Clone, Copy)]
struct Doubles<F>(F);

impl<F: Formula> Map1<f64, f64> for Doubles<F> {
    const PLAIN: bool = true;
    #[inline(always)]
    fn run<S: Simd>(self, _: S, src: &[f64], dst: &mut [f64]) {
        dst.iter_mut()
            .zip(src)
            .for_each(|(y, &x)| *y = self.0.double(x));
    }
}

/// An element without an exact answer sets the flag.
#[derive(Clone, Copy)]
struct Integers<'a, F> {
    formula: F,
    refused: &'a AtomicBool,
}

impl<F: Formula, T: Integer> Map1<T, T> for Integers<'_, F> {
    const PLAIN: bool = true;
    #[inline(always)]
    fn run<S: Simd>(self, _: S, src: &[T], dst: &mut [T]) {
        let mut refused = false;
        for (y, &x) in dst.iter_mut().zip(src) {
            let exact = self.formula.integer(x);
            refused |= exact.is_none();
            *y = exact.unwrap_or(T::ZERO);
        }
        if refused {
            // Whoever reads it does so after the threads have joined.
            self.refused.store(true, Ordering::Relaxed);
        }
    }
}

impl Formula for Affine {
    const NAME: &'static str = "affine";
    const COST: Cost = Cost::Light;
    #[inline(always)]
    fn vector<S: Simd>(self, simd: S, x: S::F32) -> S::F32 {
        let (scale, shift) = (
            simd.splat_f32(self.scale as f32),
            simd.splat_f32(self.shift as f32),
        );
        simd.fma_f32(x, scale, shift)
    }
    #[inline(always)]
    fn double(self, x: f64) -> f64 {
        x * self.scale + self.shift
    }
    #[inline(always)]
    fn integer<T: Integer>(self, x: T) -> Option<T> {
        if let Some((scale, shift)) = self.whole {
            return Some(x.times(T::wrap(scale)).plus(T::wrap(shift)));
        }
        // Numbers up to 2⁵³ are exact in f64.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let (wide, value) = (x.widen() as f64, self.double(x.widen() as f64));
        let exact = wide.abs() <= EXACT && value.abs() <= EXACT && value.fract() == 0.0;
        exact.then_some(T::wrap(value as i64))
    }
    fn describe(self) -> String {
        format!("x · {} + {}", self.scale, self.shift)
    }
}

impl Formula for Powf {
    const NAME: &'static str = "powf";
    const COST: Cost = Cost::Heavy;
    #[inline(always)]
    fn vector<S: Simd>(self, simd: S, x: S::F32) -> S::F32 {
        // The usual exponents, each with pow's special values.
        if self.exponent == 2.0 {
            return simd.mul_f32(x, x);
        }
        if self.exponent == 1.0 {
            return x;
        }
        if self.exponent == -1.0 {
            return simd.div_f32(simd.splat_f32(1.0), x);
        }
        by_lanes(simd, x, simd.splat_f32(self.exponent as f32), power)
    }
    #[inline(always)]
    fn double(self, x: f64) -> f64 {
        x.powf(self.exponent)
    }
    #[inline(always)]
    fn integer<T: Integer>(self, x: T) -> Option<T> {
        let exponent = self.whole?;
        let unit = x.widen().unsigned_abs() == 1;
        (exponent >= 0 || unit).then(|| x.power(exponent as u64))
    }
    fn describe(self) -> String {
        format!("x to the power of {}", self.exponent)
    }
}

impl Formula for Elu {
    const NAME: &'static str = "elu";
    const COST: Cost = Cost::Heavy;
    #[inline(always)]
    fn vector<S: Simd>(self, simd: S, x: S::F32) -> S::F32 {
        // eˣ - 1 = 2h / (1 - h) for h = tanh(x/2), which keeps its digits where eˣ nears 1.
        let (zero, one) = (simd.splat_f32(0.0), simd.splat_f32(1.0));
        let h = math::tanh(simd, simd.mul_f32(x, simd.splat_f32(0.5)));
        let growth = simd.div_f32(simd.add_f32(h, h), simd.sub_f32(one, h));
        let scaled = simd.mul_f32(simd.splat_f32(self.alpha as f32), growth);
        // NaN fails the comparison and comes back as it is.
        simd.select_f32(simd.lt_f32(x, zero), scaled, x)
    }
    #[inline(always)]
    fn double(self, x: f64) -> f64 {
        if x < 0.0 { self.alpha * x.exp_m1() } else { x }
    }
    #[inline(always)]
    fn integer<T: Integer>(self, x: T) -> Option<T> {
        match x >= T::ZERO {
            true => Some(x),
            false => (self.alpha == 0.0).then_some(T::ZERO),
        }
    }
    fn describe(self) -> String {
        format!("{} · (e to the power of x - 1)", self.alpha)
    }
}

impl Formula for Clamp {
    const NAME: &'static str = "clamp";
    const COST: Cost = Cost::Light;
    #[inline(always)]
    fn vector<S: Simd>(self, simd: S, x: S::F32) -> S::F32 {
        let (least, most) = (
            simd.splat_f32(self.least as f32),
            simd.splat_f32(self.most as f32),
        );
        simd.min_f32(simd.max_f32(x, least), most)
    }
    #[inline(always)]
    fn double(self, x: f64) -> f64 {
        // Comparisons with a NaN x fail and leave it.
        let x = if x < self.least { self.least } else { x };
        if x > self.most { self.most } else { x }
    }
    #[inline(always)]
    fn integer<T: Integer>(self, x: T) -> Option<T> {
        let (least, most) = self.whole;
        Some(T::wrap(x.widen().max(least).min(most)))
    }
    fn describe(self) -> String {
        format!("{} to {}", self.least, self.most)
    }
}
