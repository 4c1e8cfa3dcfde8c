//! One kernel for all formulas: vectors of f32, plain loops for f64 and integers. Narrow floats go
//! through f32.

use super::formulas::Formula;
use crate::cpu::CpuView;
use crate::cpu::integer::Integer;
use crate::cpu::map::{Map2, Operand, map2};
use crate::cpu::narrow::map2_narrow;
use crate::cpu::pairs::{zip, zip_vector};
use crate::cpu::vector::VectorFloat;
use crate::{CpuStorage, DType, Error, F8E4M3, Result, bail, bf16, f16};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use tallow_simd::Simd;

type Views<'a> = [CpuView<'a>; 2];

pub(super) fn run<F: Formula>(formula: F, views: Views<'_>, out: &mut CpuStorage) -> Result<()> {
    match views[0].dtype() {
        DType::F32 => {
            let [lhs, rhs] = views;
            let kernel = Vectors(formula);
            map2(
                lhs.typed::<f32>()?,
                rhs.typed::<f32>()?,
                out.as_mut_slice()?,
                F::COST,
                kernel,
            )
        }
        DType::F16 => narrow::<f16, F>(formula, views, out),
        DType::BF16 => narrow::<bf16, F>(formula, views, out),
        DType::F8E4M3 => narrow::<F8E4M3, F>(formula, views, out),
        DType::F64 => {
            let [lhs, rhs] = views;
            let kernel = Doubles(formula);
            map2(
                lhs.typed::<f64>()?,
                rhs.typed::<f64>()?,
                out.as_mut_slice()?,
                F::COST,
                kernel,
            )
        }
        DType::I64 => integers::<i64, F>(views, out),
        DType::I32 => integers::<i32, F>(views, out),
        DType::I16 => integers::<i16, F>(views, out),
        DType::U32 => integers::<u32, F>(views, out),
        DType::U8 => integers::<u8, F>(views, out),
        other => Err(Error::UnsupportedDTypeForOp(other, F::NAME)),
    }
}

fn narrow<T: VectorFloat, F: Formula>(
    formula: F,
    [lhs, rhs]: Views<'_>,
    out: &mut CpuStorage,
) -> Result<()> {
    let (lhs, rhs) = (lhs.typed::<T>()?, rhs.typed::<T>()?);
    map2_narrow(
        lhs,
        rhs,
        out.as_mut_slice::<T>()?,
        F::COST,
        Vectors(formula),
    )
}

fn integers<T: Integer, F: Formula>([lhs, rhs]: Views<'_>, out: &mut CpuStorage) -> Result<()> {
    let refused = AtomicBool::new(false);
    let kernel = Integers {
        refused: &refused,
        formula: PhantomData::<F>,
    };
    map2(
        lhs.typed::<T>()?,
        rhs.typed::<T>()?,
        out.as_mut_slice::<T>()?,
        F::COST,
        kernel,
    )?;
    match F::REFUSAL {
        Some(why) if refused.into_inner() => bail!("{}: {} tensors: {why}", F::NAME, lhs.dtype()),
        _ => Ok(()),
    }
}

/// Formulas over vectors of f32.
#[derive(Clone, Copy)]
struct Vectors<F>(F);

impl<F: Formula> Map2<f32, f32, f32> for Vectors<F> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, lhs: Operand<'_, f32>, rhs: Operand<'_, f32>, dst: &mut [f32]) {
        zip_vector(
            simd,
            lhs,
            rhs,
            dst,
            #[inline(always)]
            |a, b| F::vector(simd, a, b),
        );
    }
}

/// Formulas over f64.
#[derive(Clone, Copy)]
struct Doubles<F>(F);

impl<F: Formula> Map2<f64, f64, f64> for Doubles<F> {
    const PLAIN: bool = true;
    #[inline(always)]
    fn run<S: Simd>(self, _: S, lhs: Operand<'_, f64>, rhs: Operand<'_, f64>, dst: &mut [f64]) {
        zip(lhs, rhs, dst, F::double);
    }
}

/// Formulas over integers. A pair that has no answer sets the flag.
struct Integers<'a, F> {
    refused: &'a AtomicBool,
    formula: PhantomData<F>,
}

impl<F> Clone for Integers<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<F> Copy for Integers<'_, F> {}

impl<F: Formula, T: Integer> Map2<T, T, T> for Integers<'_, F> {
    const PLAIN: bool = true;
    #[inline(always)]
    fn run<S: Simd>(self, _: S, lhs: Operand<'_, T>, rhs: Operand<'_, T>, dst: &mut [T]) {
        if F::REFUSAL.is_some() && any_refused::<F, T>(lhs, rhs) {
            // Whoever reads it does so after the threads have joined.
            self.refused.store(true, Ordering::Relaxed);
            return;
        }
        zip(lhs, rhs, dst, F::integer);
    }
}

#[inline(always)]
fn any_refused<F: Formula, T: Integer>(lhs: Operand<'_, T>, rhs: Operand<'_, T>) -> bool {
    // No early end: the loop then is one of vectors.
    let refuses = |any: bool, a: T, b: T| any | F::refuses(a, b);
    match (lhs, rhs) {
        (Operand::Slice(lhs), Operand::Slice(rhs)) => lhs
            .iter()
            .zip(rhs)
            .fold(false, |any, (&a, &b)| refuses(any, a, b)),
        (Operand::Slice(lhs), Operand::Constant(b)) => {
            lhs.iter().fold(false, |any, &a| refuses(any, a, b))
        }
        (Operand::Constant(a), Operand::Slice(rhs)) => {
            rhs.iter().fold(false, |any, &b| refuses(any, a, b))
        }
        (Operand::Constant(a), Operand::Constant(b)) => F::refuses(a, b),
    }
}
