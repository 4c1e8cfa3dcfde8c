//! The error function.
//!
//! For |x| < 59/64 erf x = x + x P(x²), P of degree 6; above, 1 - e^-Q(|x|), where Q, of degree 6,
//! approximates -log erfc with an error weighted by erfc. Both are computed and one is taken; the
//! sign is put back at the end, which keeps that of zero.

use super::exp::exp_of_small;
use super::polynomial;
use crate::simd::Simd;

/// erf x = 2/√π ∫ e^-t² dt from 0 to x, within 1.5 ulp; ±1 at ±∞.
///
/// ```
/// use tallow_simd::{Scalar, Simd, math};
/// let y = math::erf(Scalar, Scalar.splat_f32(1.0));
/// assert_eq!(Scalar.reduce_max_f32(y), 0.842_700_84);
/// ```
#[inline(always)]
pub fn erf<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let magnitude = s.abs_f32(x);
    let p = polynomial(
        s,
        s.mul_f32(magnitude, magnitude),
        [
            1.283_791_7e-1,
            -3.761_263e-1,
            1.128_362_6e-1,
            -2.685_572_8e-2,
            5.192_377e-3,
            -8.049_174e-4,
            7.992_796e-5,
        ],
    );
    let near = s.fma_f32(magnitude, p, magnitude);

    // From 3.92 on the result rounds to 1, so 4 stands for all that is larger.
    let bounded = s.min_f32(s.splat_f32(4.0), magnitude);
    let q = polynomial(
        s,
        bounded,
        [
            1.985_533_9e-4,
            1.127_663_7,
            6.372_022_6e-1,
            1.039_140_7e-1,
            -2.221_850_1e-2,
            3.041_116_3e-3,
            -1.957_243_8e-4,
        ],
    );
    let far = s.sub_f32(s.splat_f32(1.0), exp_of_small(s, s.neg_f32(q)));

    let is_near = s.lt_f32(magnitude, s.splat_f32(0.921_875));
    s.copysign_f32(s.select_f32(is_near, near, far), x)
}
