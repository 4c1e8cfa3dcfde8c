//! The exponential function.
//!
//! e^x = 2^n e^r with n = round(x / ln 2) and r = x - n ln 2, |r| ≤ ln(2)/2. ln 2 is split into a
//! part of ten bits, whose product with n is exact, and the rest (Cody and Waite, Software Manual
//! for the Elementary Functions, 1980). Then e^r = 1 + r + r² P(r), P of degree 4.

use super::polynomial;
use crate::simd::Simd;

/// 1.5 · 2^23: adding it to |v| < 2^22 rounds v to a whole number, which then stands in the low
/// bits of the sum.
pub(super) const ROUNDER: f32 = 12_582_912.0;
/// The upper ten bits of ln 2, and the rest.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// e^x = 2^n (1 + tail), for |x| ≤ 150.
pub(super) struct Split<S: Simd> {
    /// e^r - 1, in [-0.3, 0.42].
    pub(super) tail: S::F32,
    /// n
    pub(super) exponent: S::F32,
    /// n + [`ROUNDER`]: n in the low nine bits of each lane, other bits above.
    pub(super) rounded: S::F32,
}

#[inline(always)]
pub(super) fn split<S: Simd>(s: S, x: S::F32) -> Split<S> {
    let rounder = s.splat_f32(ROUNDER);
    let rounded = s.fma_f32(x, s.splat_f32(std::f32::consts::LOG2_E), rounder);
    let exponent = s.sub_f32(rounded, rounder);
    let r = s.fma_f32(exponent, s.splat_f32(-LN_2_HIGH), x);
    let r = s.fma_f32(exponent, s.splat_f32(-LN_2_LOW), r);
    let p = polynomial(
        s,
        r,
        [
            4.999_999_4e-1,
            1.666_652_1e-1,
            4.166_827_4e-2,
            8.368_686e-3,
            1.382_013_6e-3,
        ],
    );
    let tail = s.fma_f32(s.mul_f32(r, r), p, r);
    Split {
        tail,
        exponent,
        rounded,
    }
}

/// e^x within 1.1 ulp.
///
/// ```
/// use tallow_simd::{Scalar, Simd, math};
/// let y = math::exp(Scalar, Scalar.splat_f32(0.0));
/// assert_eq!(Scalar.reduce_max_f32(y), 1.0);
/// ```
#[inline(always)]
pub fn exp<S: Simd>(s: S, x: S::F32) -> S::F32 {
    // Beyond these the result is 0 or infinity; here n ≥ -152 and n ≤ 129 still scale to that.
    let x = s.min_f32(s.splat_f32(89.0), s.max_f32(s.splat_f32(-105.0), x));
    let parts = split(s, x);
    s.scale_by_pow2_f32(s.add_f32(parts.tail, s.splat_f32(1.0)), parts.exponent)
}

/// e^x within 1.1 ulp where the result is a normal number: for -87 ≤ x ≤ 88, or NaN.
#[inline(always)]
pub(super) fn exp_of_small<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let parts = split(s, x);
    // 2^n, made in its exponent field: the upper bits of `rounded` are shifted out.
    let field = s.shl_i32(s.bits_f32(parts.rounded), 23);
    let power = s.from_bits_f32(s.add_i32(field, s.splat_i32(1.0f32.to_bits().cast_signed())));
    s.fma_f32(parts.tail, power, power)
}
