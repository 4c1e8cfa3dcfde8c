//! Activations of neural networks that are one line over the functions beside this file.

use super::{erf, sigmoid};
use crate::simd::Simd;

/// x · sigmoid(x), also called swish (Elfwing, Uchibe and Doya, arXiv:1702.03118). NaN at -∞.
#[inline(always)]
pub fn silu<S: Simd>(s: S, x: S::F32) -> S::F32 {
    s.mul_f32(x, sigmoid(s, x))
}

/// The Gaussian error linear unit in its tanh form: x/2 · (1 + tanh u) with
/// u = √(2/π) (x + 0.044715 x³) (Hendrycks and Gimpel, arXiv:1606.08415). NaN at -∞.
///
/// Computed as x · sigmoid(2u), which is the same and does not cancel for negative x.
#[inline(always)]
pub fn gelu<S: Simd>(s: S, x: S::F32) -> S::F32 {
    /// 2 √(2/π)
    const TWICE_SQRT_2_OVER_PI: f32 = 1.595_769;
    let square = s.mul_f32(x, x);
    let slope = s.fma_f32(
        square,
        s.splat_f32(0.044_715 * TWICE_SQRT_2_OVER_PI),
        s.splat_f32(TWICE_SQRT_2_OVER_PI),
    );
    s.mul_f32(x, sigmoid(s, s.mul_f32(x, slope)))
}

/// The Gaussian error linear unit: x/2 · (1 + erf(x / √2)) (Hendrycks and Gimpel,
/// arXiv:1606.08415). NaN at -∞. Its absolute error is a few ulp of x/2.
#[inline(always)]
pub fn gelu_erf<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let inner = s.mul_f32(x, s.splat_f32(std::f32::consts::FRAC_1_SQRT_2));
    let half = s.mul_f32(x, s.splat_f32(0.5));
    s.fma_f32(half, erf(s, inner), half)
}
