//! One kernel for all formulas: vectors for what computes in f32, plain loops for f64 and integers.

use super::formulas::Formula;
use crate::cpu::CpuView;
use crate::cpu::map::{Map1, map1};
use crate::cpu::narrow::map1_narrow;
use crate::cpu::vector::{VectorFloat, map_vector};
use crate::{CpuStorage, DType, Error, F8E4M3, Result, WithDType, bf16, f16};
use tallow_simd::Simd;

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
        DType::I64 => integers::<i64, F>(x, out),
        DType::I32 => integers::<i32, F>(x, out),
        DType::I16 => integers::<i16, F>(x, out),
        DType::U32 => integers::<u32, F>(x, out),
        DType::U8 => integers::<u8, F>(x, out),
        other => Err(Error::UnsupportedDTypeForOp(other, F::NAME)),
    }
}

fn narrow<T: VectorFloat, F: Formula>(
    formula: F,
    x: CpuView<'_>,
    out: &mut CpuStorage,
) -> Result<()> {
    let (x, out) = (x.typed::<T>()?, out.as_mut_slice::<T>()?);
    map1_narrow(x, out, F::COST, Vectors(formula))
}

fn integers<T: WithDType, F: Formula>(x: CpuView<'_>, out: &mut CpuStorage) -> Result<()>
where
    i64: Wrap<T>,
{
    map1(
        x.typed::<T>()?,
        out.as_mut_slice()?,
        F::COST,
        Integers(std::marker::PhantomData::<F>),
    )
}

/// Formulas over vectors of f32.
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
            |x| F::vector(simd, x),
        );
    }
}

/// Formulas over f64.
#[derive(Clone, Copy)]
struct Doubles<F>(F);

impl<F: Formula> Map1<f64, f64> for Doubles<F> {
    const PLAIN: bool = true;
    #[inline(always)]
    fn run<S: Simd>(self, _: S, src: &[f64], dst: &mut [f64]) {
        dst.iter_mut()
            .zip(src)
            .for_each(|(y, x)| *y = F::double(*x));
    }
}

/// Formulas over integers, computed in i64 and wrapped to the type, which is what the type's own
/// wrapping arithmetic gives.
#[derive(Clone, Copy)]
struct Integers<F>(std::marker::PhantomData<F>);

impl<F: Formula, T: WithDType> Map1<T, T> for Integers<F>
where
    i64: Wrap<T>,
{
    const PLAIN: bool = true;
    #[inline(always)]
    fn run<S: Simd>(self, _: S, src: &[T], dst: &mut [T]) {
        dst.iter_mut()
            .zip(src)
            .for_each(|(y, x)| *y = F::integer(i64::widen(*x)).wrap());
    }
}

/// Integers of any width, to i64 and back.
trait Wrap<T> {
    fn widen(value: T) -> Self;
    fn wrap(self) -> T;
}

macro_rules! wrap {
    ($($ty:ty),+) => {
        $(impl Wrap<$ty> for i64 {
            #[inline(always)]
            fn widen(value: $ty) -> i64 {
                i64::from(value)
            }
            #[inline(always)]
            fn wrap(self) -> $ty {
                self as $ty
            }
        })+
    };
}
wrap!(u8, u32, i16, i32, i64);
