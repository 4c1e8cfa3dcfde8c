//! Whole slices between f32 and the 16-bit float types, at the level in use.
//!
//! Widening is exact. Narrowing rounds to nearest, halves to even; what is too large becomes
//! infinite, what is too small denormal or zero; NaN stays NaN.

use half::{bf16, f16};

use crate::dispatch::{Kernel, dispatch};
use crate::simd::Simd;
use crate::slices::{self, Element};

/// Converts each element through f32. The kernel behind the functions of this module.
#[derive(Debug)]
pub struct Convert<'a, T, U> {
    /// What is converted.
    pub src: &'a [T],
    /// As long as `src`; overwritten.
    pub dst: &'a mut [U],
}

impl<T: Element, U: Element> Kernel for Convert<'_, T, U> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        slices::map(
            s,
            self.src,
            self.dst,
            #[inline(always)]
            |v| v,
        );
    }
}

/// Widens each element. Panics if the lengths differ.
///
/// ```
/// use half::f16;
/// let mut out = [0.0; 2];
/// tallow_simd::convert::f16_to_f32(&[f16::ONE, f16::INFINITY], &mut out);
/// assert_eq!(out, [1.0, f32::INFINITY]);
/// ```
pub fn f16_to_f32(src: &[f16], dst: &mut [f32]) {
    dispatch(Convert { src, dst });
}

/// Rounds each element to the nearest f16. Panics if the lengths differ.
pub fn f32_to_f16(src: &[f32], dst: &mut [f16]) {
    dispatch(Convert { src, dst });
}

/// Widens each element. Panics if the lengths differ.
pub fn bf16_to_f32(src: &[bf16], dst: &mut [f32]) {
    dispatch(Convert { src, dst });
}

/// Rounds each element to the nearest bf16. Panics if the lengths differ.
pub fn f32_to_bf16(src: &[f32], dst: &mut [bf16]) {
    dispatch(Convert { src, dst });
}
