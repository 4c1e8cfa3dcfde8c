//! The hyperbolic tangent.
//!
//! For |x| < 5/8 tanh x = x + x³ P(x²), P of degree 4; above, 1 - 2 / (e^(2|x|) + 1), where the
//! quotient is at most 0.45 and its error counts for less than half. Both are computed and one is
//! taken; the sign is put back at the end, which keeps that of zero.

use super::exp::exp_of_small;
use super::polynomial;
use crate::simd::Simd;

/// tanh x within 1.5 ulp; ±1 at ±∞.
///
/// ```
/// use tallow_simd::{Scalar, Simd, math};
/// let y = math::tanh(Scalar, Scalar.splat_f32(f32::NEG_INFINITY));
/// assert_eq!(Scalar.reduce_max_f32(y), -1.0);
/// ```
#[inline(always)]
pub fn tanh<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let magnitude = s.abs_f32(x);
    let z = s.mul_f32(magnitude, magnitude);
    let p = polynomial(
        s,
        z,
        [
            -3.333_328e-1,
            1.333_140_6e-1,
            -5.373_651_5e-2,
            2.062_816_7e-2,
            -5.692_296e-3,
        ],
    );
    let near = s.fma_f32(s.mul_f32(z, magnitude), p, magnitude);

    // From 9.02 on the result rounds to 1, so 10 stands for all that is larger.
    let bounded = s.min_f32(s.splat_f32(10.0), magnitude);
    let power = exp_of_small(s, s.add_f32(bounded, bounded));
    let one = s.splat_f32(1.0);
    let far = s.sub_f32(one, s.div_f32(s.splat_f32(2.0), s.add_f32(power, one)));

    let is_near = s.lt_f32(magnitude, s.splat_f32(0.625));
    s.copysign_f32(s.select_f32(is_near, near, far), x)
}
