//! The logistic function.
//!
//! With e = exp(-|x|) ≤ 1 it is 1 / (1 + e) for x ≥ 0 and e / (1 + e) below: nothing overflows or
//! cancels, and results down to the smallest denormal keep their digits.

use super::exp;
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
    let power = exp(s, s.neg_f32(s.abs_f32(x)));
    let is_negative = s.lt_f32(x, s.splat_f32(0.0));
    s.div_f32(s.select_f32(is_negative, power, one), s.add_f32(one, power))
}
