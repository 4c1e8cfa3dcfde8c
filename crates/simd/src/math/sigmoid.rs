//! The logistic function.
//!
//! With e^|x| = 2^n (1 + t) and h = 2^-n, 1 / (1 + e^|x|) = h / (1 + t + h) is the value at -|x|;
//! one minus it is the value at |x|. Nothing overflows or cancels, e^|x| is never rounded to an f32
//! itself, and values down to the smallest denormal keep their digits.

use super::exp::{ROUNDER, split};
use crate::simd::Simd;

/// 1 / (1 + e^-x) within 2 ulp; 0 at -∞, 1 at +∞.
///
/// ```
/// use tallow_simd::{Scalar, Simd, math};
/// let y = math::sigmoid(Scalar, Scalar.splat_f32(0.0));
/// assert_eq!(Scalar.reduce_max_f32(y), 0.5);
/// ```
#[inline(always)]
pub fn sigmoid<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let one = s.splat_f32(1.0);
    // From 104 on the results round to 0 and 1; there n is 150.
    let parts = split(s, s.min_f32(s.splat_f32(105.0), s.abs_f32(x)));
    // h is made in its exponent field. Below 2^-60 it no longer counts beside 1 + t.
    let bounded = s.min_f32(s.splat_f32(ROUNDER + 60.0), parts.rounded);
    let field = s.shl_i32(s.bits_f32(bounded), 23);
    let h = s.from_bits_f32(s.sub_i32(s.splat_i32(1.0f32.to_bits().cast_signed()), field));
    // The sum 1 + t + h starts where it is exact: 1 + h while h is large, h + t when it is small.
    let is_large = s.lt_f32(s.splat_f32(1.0 / 4096.0), h);
    let large_sum = s.add_f32(s.add_f32(one, h), parts.tail);
    let small_sum = s.add_f32(one, s.add_f32(parts.tail, h));
    let quotient = s.div_f32(one, s.select_f32(is_large, large_sum, small_sum));
    let lower = s.scale_by_pow2_f32(quotient, s.neg_f32(parts.exponent));
    s.select_f32(s.lt_f32(x, s.splat_f32(0.0)), lower, s.sub_f32(one, lower))
}
