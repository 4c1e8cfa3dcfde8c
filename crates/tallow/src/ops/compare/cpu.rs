//! Comparisons: plain loops that the compiler makes vectors of. f16, bf16 and f8e4m3 are widened to
//! f32 a block at a time.

use super::CmpOp;
use crate::cpu::CpuView;
use crate::cpu::map::{Cost, Map2, Operand, map2};
use crate::cpu::narrow::widen;
use crate::cpu::pairs::zip;
use crate::cpu::vector::VectorFloat;
use crate::{CpuStorage, DType, Error, F8E4M3, Result, WithDType, bf16, f16};
use std::marker::PhantomData;
use tallow_simd::Simd;

/// Elements widened at a time: two buffers of 256 f32 are 2 KiB, a small part of the first-level
/// cache.
const BLOCK: usize = 256;

/// A relation of two numbers. Greater-than is less-than with the sides exchanged.
trait Relation: Copy + Send + Sync {
    fn holds<T: PartialOrd>(a: T, b: T) -> bool;
}

macro_rules! relations {
    ($($Type:ident $operator:tt;)+) => {
        $(
            #[derive(Clone, Copy)]
            struct $Type;
            impl Relation for $Type {
                #[inline(always)]
                fn holds<T: PartialOrd>(a: T, b: T) -> bool {
                    a $operator b
                }
            }
        )+
    };
}
relations! {
    Equal ==;
    Different !=;
    Less <;
    LessOrEqual <=;
}

pub(super) fn run(op: CmpOp, views: [CpuView<'_>; 2], out: &mut CpuStorage) -> Result<()> {
    let [lhs, rhs] = views;
    match op {
        CmpOp::Eq => compare::<Equal>(lhs, rhs, out),
        CmpOp::Ne => compare::<Different>(lhs, rhs, out),
        CmpOp::Lt => compare::<Less>(lhs, rhs, out),
        CmpOp::Le => compare::<LessOrEqual>(lhs, rhs, out),
        CmpOp::Gt => compare::<Less>(rhs, lhs, out),
        CmpOp::Ge => compare::<LessOrEqual>(rhs, lhs, out),
    }
}

fn compare<R: Relation>(lhs: CpuView<'_>, rhs: CpuView<'_>, out: &mut CpuStorage) -> Result<()> {
    match lhs.dtype() {
        DType::F32 => with::<f32, _>(lhs, rhs, out, Plain(PhantomData::<R>)),
        DType::F64 => with::<f64, _>(lhs, rhs, out, Plain(PhantomData::<R>)),
        DType::F16 => with::<f16, _>(lhs, rhs, out, Widened(PhantomData::<R>)),
        DType::BF16 => with::<bf16, _>(lhs, rhs, out, Widened(PhantomData::<R>)),
        DType::F8E4M3 => with::<F8E4M3, _>(lhs, rhs, out, Widened(PhantomData::<R>)),
        DType::U8 => with::<u8, _>(lhs, rhs, out, Plain(PhantomData::<R>)),
        DType::U32 => with::<u32, _>(lhs, rhs, out, Plain(PhantomData::<R>)),
        DType::I16 => with::<i16, _>(lhs, rhs, out, Plain(PhantomData::<R>)),
        DType::I32 => with::<i32, _>(lhs, rhs, out, Plain(PhantomData::<R>)),
        DType::I64 => with::<i64, _>(lhs, rhs, out, Plain(PhantomData::<R>)),
        other => Err(Error::UnsupportedDTypeForOp(other, "cmp")),
    }
}

fn with<T: WithDType, K: Map2<T, T, u8>>(
    lhs: CpuView<'_>,
    rhs: CpuView<'_>,
    out: &mut CpuStorage,
    kernel: K,
) -> Result<()> {
    map2(
        lhs.typed::<T>()?,
        rhs.typed::<T>()?,
        out.as_mut_slice::<u8>()?,
        Cost::Light,
        kernel,
    )
}

/// Compares elements as they are.
#[derive(Clone, Copy)]
struct Plain<R>(PhantomData<R>);

impl<R: Relation, T: WithDType> Map2<T, T, u8> for Plain<R> {
    // f32 alone is compiled for each level.
    const PLAIN: bool = !matches!(T::DTYPE, DType::F32);
    #[inline(always)]
    fn run<S: Simd>(self, _: S, lhs: Operand<'_, T>, rhs: Operand<'_, T>, dst: &mut [u8]) {
        zip(
            lhs,
            rhs,
            dst,
            #[inline(always)]
            |a, b| u8::from(R::holds(a, b)),
        );
    }
}

/// Compares elements as f32.
#[derive(Clone, Copy)]
struct Widened<R>(PhantomData<R>);

impl<R: Relation, T: VectorFloat> Map2<T, T, u8> for Widened<R> {
    const PLAIN: bool = true;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S, lhs: Operand<'_, T>, rhs: Operand<'_, T>, dst: &mut [u8]) {
        let (mut left, mut right) = ([0.0; BLOCK], [0.0; BLOCK]);
        for (block, dst) in dst.chunks_mut(BLOCK).enumerate() {
            let (from, len) = (block * BLOCK, dst.len());
            let lhs = widen(lhs.part(from, len), &mut left);
            let rhs = widen(rhs.part(from, len), &mut right);
            Plain(PhantomData::<R>).run(simd, lhs, rhs, dst);
        }
    }
}
