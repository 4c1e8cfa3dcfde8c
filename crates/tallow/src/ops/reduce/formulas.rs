//! How two partial results become one: a line of maths for each kind of number.

use crate::{Result, Tensor};
use tallow_simd::Simd;

/// A reduction.
pub(super) trait Reducer: Copy + Send + Sync {
    const NAME: &'static str;
    /// What changes nothing; also the lanes that a partial vector does not fill.
    const IDENTITY: f64;
    /// The result over no elements, if there is one.
    const EMPTY: Option<f64>;
    fn vector<S: Simd>(simd: S, a: S::F32, b: S::F32) -> S::F32;
    fn lanes<S: Simd>(simd: S, v: S::F32) -> f32;
    fn double(a: f64, b: f64) -> f64;
    fn integer(a: i64, b: i64) -> i64;
    /// What changes nothing among integers.
    const INTEGER_IDENTITY: i64;
    /// The gradient with respect to x, from the result and the gradient with respect to it, both
    /// stretched to x's shape; `dims` were reduced.
    fn gradient(x: &Tensor, y: &Tensor, u: &Tensor, dims: &[usize]) -> Result<Tensor>;
}

/// Σ x
#[derive(Clone, Copy)]
pub(super) struct Sum;

impl Reducer for Sum {
    const NAME: &'static str = "sum";
    const IDENTITY: f64 = 0.0;
    const EMPTY: Option<f64> = Some(0.0);
    const INTEGER_IDENTITY: i64 = 0;
    #[inline(always)]
    fn vector<S: Simd>(simd: S, a: S::F32, b: S::F32) -> S::F32 {
        simd.add_f32(a, b)
    }
    #[inline(always)]
    fn lanes<S: Simd>(simd: S, v: S::F32) -> f32 {
        simd.reduce_add_f32(v)
    }
    #[inline(always)]
    fn double(a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    fn integer(a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
    fn gradient(_: &Tensor, _: &Tensor, u: &Tensor, _: &[usize]) -> Result<Tensor> {
        Ok(u.clone())
    }
}

/// The greatest; NaN if there is one.
#[derive(Clone, Copy)]
pub(super) struct Max;

impl Reducer for Max {
    const NAME: &'static str = "max";
    const IDENTITY: f64 = f64::NEG_INFINITY;
    const EMPTY: Option<f64> = None;
    const INTEGER_IDENTITY: i64 = i64::MIN;
    #[inline(always)]
    fn vector<S: Simd>(simd: S, a: S::F32, b: S::F32) -> S::F32 {
        simd.max_f32(a, b)
    }
    #[inline(always)]
    fn lanes<S: Simd>(simd: S, v: S::F32) -> f32 {
        simd.reduce_max_f32(v)
    }
    #[inline(always)]
    fn double(a: f64, b: f64) -> f64 {
        if b > a || b.is_nan() { b } else { a }
    }
    #[inline(always)]
    fn integer(a: i64, b: i64) -> i64 {
        a.max(b)
    }
    fn gradient(x: &Tensor, y: &Tensor, u: &Tensor, dims: &[usize]) -> Result<Tensor> {
        to_equals(x, y, u, dims)
    }
}

/// The least; NaN if there is one.
#[derive(Clone, Copy)]
pub(super) struct Min;

impl Reducer for Min {
    const NAME: &'static str = "min";
    const IDENTITY: f64 = f64::INFINITY;
    const EMPTY: Option<f64> = None;
    const INTEGER_IDENTITY: i64 = i64::MAX;
    #[inline(always)]
    fn vector<S: Simd>(simd: S, a: S::F32, b: S::F32) -> S::F32 {
        simd.min_f32(a, b)
    }
    #[inline(always)]
    fn lanes<S: Simd>(simd: S, v: S::F32) -> f32 {
        simd.reduce_min_f32(v)
    }
    #[inline(always)]
    fn double(a: f64, b: f64) -> f64 {
        if b < a || b.is_nan() { b } else { a }
    }
    #[inline(always)]
    fn integer(a: i64, b: i64) -> i64 {
        a.min(b)
    }
    fn gradient(x: &Tensor, y: &Tensor, u: &Tensor, dims: &[usize]) -> Result<Tensor> {
        to_equals(x, y, u, dims)
    }
}

/// To the elements that are the greatest or least, in equal shares.
fn to_equals(x: &Tensor, y: &Tensor, u: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let chosen = x.eq(y)?.to_dtype(u.dtype())?;
    let count = chosen.sum_keepdim(dims)?.broadcast_as(x.shape())?;
    u.mul(&chosen.div(&count)?)
}
