//! The natural logarithm.
//!
//! x = 2^n m with m in [2/3, 4/3), so that f = m - 1 is exact and as small on both sides; then
//! log x = n ln 2 + log(1 + f) and log(1 + f) = f + f² P(f), P of degree 8. Near x = 1 n is 0 and
//! nothing cancels. n ln 2 is added in two parts, the upper of which has 12 bits and a product
//! with n that is exact.

use super::polynomial;
use crate::simd::Simd;

/// The bits of 2/3: a lane's bits minus these have n in the exponent field.
const TWO_THIRDS_BITS: i32 = 0x3f2a_aaab;
/// The upper 12 bits of ln 2, and the rest.
const LN_2_HIGH: f32 = 0.693_115_23;
const LN_2_LOW: f32 = 3.194_618_3e-5;
const TWO_POW_23: f32 = 8_388_608.0;

/// The natural logarithm within 1 ulp; -∞ at ±0, NaN below zero.
///
/// ```
/// use tallow_simd::{Scalar, Simd, math};
/// let y = math::log(Scalar, Scalar.splat_f32(1.0));
/// assert_eq!(Scalar.reduce_max_f32(y), 0.0);
/// ```
#[inline(always)]
pub fn log<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let zero = s.splat_f32(0.0);
    // Denormals are made normal, and 23 is taken from n.
    let is_tiny = s.lt_f32(x, s.splat_f32(f32::MIN_POSITIVE));
    let scaled = s.select_f32(is_tiny, s.mul_f32(x, s.splat_f32(TWO_POW_23)), x);
    let extra = s.select_f32(is_tiny, s.splat_f32(-23.0), zero);

    let bits = s.bits_f32(scaled);
    let n = s.shr_arithmetic_i32(s.sub_i32(bits, s.splat_i32(TWO_THIRDS_BITS)), 23);
    let m = s.from_bits_f32(s.sub_i32(bits, s.shl_i32(n, 23)));
    let n = s.add_f32(s.from_i32(n), extra);
    let f = s.sub_f32(m, s.splat_f32(1.0));

    let p = polynomial(
        s,
        f,
        [
            -0.5,
            3.333_321_5e-1,
            -2.499_980_5e-1,
            2.001_043_6e-1,
            -1.668_022_1e-1,
            1.400_554_3e-1,
            -1.218_745_4e-1,
            1.398_559_4e-1,
            -1.287_928_4e-1,
        ],
    );
    let small = s.fma_f32(n, s.splat_f32(LN_2_LOW), s.mul_f32(s.mul_f32(f, f), p));
    let result = s.fma_f32(n, s.splat_f32(LN_2_HIGH), s.add_f32(f, small));

    // +∞ and NaN come back as they are; what is not positive gives -∞ or NaN.
    let is_regular = s.lt_f32(x, s.splat_f32(f32::INFINITY));
    let result = s.select_f32(is_regular, result, x);
    let at_zero = s.select_f32(s.eq_f32(x, zero), s.splat_f32(f32::NEG_INFINITY), result);
    s.select_f32(s.lt_f32(x, zero), s.splat_f32(f32::NAN), at_zero)
}
