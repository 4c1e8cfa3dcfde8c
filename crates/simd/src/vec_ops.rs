//! Operations on slices of one type, in the form of candle's trait `VecOps`.
//!
//! Sums of f16, bf16 and f8e4m3 run in f32 and are rounded once; integers wrap; a NaN is what `min`
//! and `max` give. `vec_dot` and the reductions take raw pointers, as candle's do: the one unsafe
//! code of this crate outside `arch/`. Tallow's own kernels use [`slices`](crate::slices).

use crate::{Kernel, Simd, dispatch, slices};
use float8::F8E4M3;
use half::{bf16, f16};
use num_traits::NumAssign;
use std::slice::from_raw_parts;

/// A type whose slices can be added, multiplied and reduced.
///
/// ```
/// use tallow_simd::VecOps;
/// let mut sums = [0f32; 2];
/// f32::vec_add(&[1., 2.], &[10., 20.], &mut sums);
/// assert_eq!(sums, [11., 22.]);
/// ```
pub trait VecOps: NumAssign + Copy {
    /// The lesser; NaN if either is.
    fn min(self, rhs: Self) -> Self;
    /// The greater; NaN if either is.
    fn max(self, rhs: Self) -> Self;
    /// The sum; integers wrap.
    fn vec_plus(self, rhs: Self) -> Self;
    /// The product; integers wrap.
    fn vec_times(self, rhs: Self) -> Self;
    /// The sum of the elements.
    fn sum_of(values: &[Self]) -> Self;
    /// The sum of the products of elements at the same place.
    fn dot_of(lhs: &[Self], rhs: &[Self]) -> Self;

    /// The dot product of two vectors.
    ///
    /// # Safety
    /// `lhs` and `rhs` point to `len` elements, `res` to one that may be written.
    unsafe fn vec_dot(lhs: *const Self, rhs: *const Self, res: *mut Self, len: usize) {
        // SAFETY: the caller's, for `lhs`.
        let lhs = unsafe { from_raw_parts(lhs, len) };
        // SAFETY: the caller's, for `rhs`.
        let rhs = unsafe { from_raw_parts(rhs, len) };
        // SAFETY: the caller's, for `res`.
        unsafe { res.write(Self::dot_of(lhs, rhs)) }
    }

    /// The sum of a vector.
    ///
    /// # Safety
    /// `xs` points to `len` elements, `res` to one that may be written.
    unsafe fn vec_reduce_sum(xs: *const Self, res: *mut Self, len: usize) {
        // SAFETY: the caller's, for `xs`.
        let values = unsafe { from_raw_parts(xs, len) };
        // SAFETY: the caller's, for `res`.
        unsafe { res.write(Self::sum_of(values)) }
    }

    /// The greatest element of a vector that has one; nothing is written for an empty one.
    ///
    /// # Safety
    /// `xs` points to `len` elements, `res` to one that may be written.
    unsafe fn vec_reduce_max(xs: *const Self, res: *mut Self, len: usize) {
        // SAFETY: the caller's, for `xs`.
        let values = unsafe { from_raw_parts(xs, len) };
        if let Some(found) = values.iter().copied().reduce(Self::max) {
            // SAFETY: the caller's, for `res`.
            unsafe { res.write(found) }
        }
    }

    /// The least element of a vector that has one; nothing is written for an empty one.
    ///
    /// # Safety
    /// `xs` points to `len` elements, `res` to one that may be written.
    unsafe fn vec_reduce_min(xs: *const Self, res: *mut Self, len: usize) {
        // SAFETY: the caller's, for `xs`.
        let values = unsafe { from_raw_parts(xs, len) };
        if let Some(found) = values.iter().copied().reduce(Self::min) {
            // SAFETY: the caller's, for `res`.
            unsafe { res.write(found) }
        }
    }

    /// The sums of elements at the same place, as far as all three slices go.
    fn vec_add(lhs: &[Self], rhs: &[Self], out: &mut [Self]) {
        for ((out, &lhs), &rhs) in out.iter_mut().zip(lhs).zip(rhs) {
            *out = lhs.vec_plus(rhs);
        }
    }

    /// Each element plus one number, as far as both slices go.
    fn scalar_add(self, xs: &[Self], out: &mut [Self]) {
        for (out, &x) in out.iter_mut().zip(xs) {
            *out = x.vec_plus(self);
        }
    }

    /// The products of elements at the same place, as far as all three slices go.
    fn vec_mul(lhs: &[Self], rhs: &[Self], out: &mut [Self]) {
        for ((out, &lhs), &rhs) in out.iter_mut().zip(lhs).zip(rhs) {
            *out = lhs.vec_times(rhs);
        }
    }

    /// Each element times one number, as far as both slices go.
    fn scalar_mul(self, xs: &[Self], out: &mut [Self]) {
        for (out, &x) in out.iter_mut().zip(xs) {
            *out = x.vec_times(self);
        }
    }
}

/// The sum of a slice, in f32.
struct Sum<'a, T>(&'a [T]);

impl<T: slices::Element> Kernel for Sum<'_, T> {
    type Output = f32;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f32 {
        slices::sum(s, self.0)
    }
}

/// The dot product of two slices of one length, in f32.
struct Dot<'a, T>(&'a [T], &'a [T]);

impl<T: slices::Element> Kernel for Dot<'_, T> {
    type Output = f32;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f32 {
        slices::dot(s, self.0, self.1)
    }
}

/// What floats have in common.
macro_rules! float_pairs {
    () => {
        fn min(self, rhs: Self) -> Self {
            match self.is_nan() || self < rhs {
                true => self,
                false => rhs,
            }
        }
        fn max(self, rhs: Self) -> Self {
            match self.is_nan() || self > rhs {
                true => self,
                false => rhs,
            }
        }
        fn vec_plus(self, rhs: Self) -> Self {
            self + rhs
        }
        fn vec_times(self, rhs: Self) -> Self {
            self * rhs
        }
    };
}

macro_rules! of_floats {
    ($($ty:ty: $round:expr),+) => {
        $(impl VecOps for $ty {
            float_pairs!();
            fn sum_of(values: &[Self]) -> Self {
                $round(dispatch(Sum(values)))
            }
            fn dot_of(lhs: &[Self], rhs: &[Self]) -> Self {
                let len = lhs.len().min(rhs.len());
                $round(dispatch(Dot(&lhs[..len], &rhs[..len])))
            }
        })+
    };
}
of_floats!(f32: |sum| sum, f16: f16::from_f32, bf16: bf16::from_f32);

impl VecOps for f64 {
    float_pairs!();
    fn sum_of(values: &[Self]) -> Self {
        values.iter().sum()
    }
    fn dot_of(lhs: &[Self], rhs: &[Self]) -> Self {
        lhs.iter().zip(rhs).map(|(lhs, rhs)| lhs * rhs).sum()
    }
}

impl VecOps for F8E4M3 {
    float_pairs!();
    fn sum_of(values: &[Self]) -> Self {
        Self::from_f32(values.iter().map(|value| value.to_f32()).sum())
    }
    fn dot_of(lhs: &[Self], rhs: &[Self]) -> Self {
        let pairs = lhs.iter().zip(rhs);
        Self::from_f32(pairs.map(|(lhs, rhs)| lhs.to_f32() * rhs.to_f32()).sum())
    }
}

macro_rules! of_integers {
    ($($ty:ty),+) => {
        $(impl VecOps for $ty {
            fn min(self, rhs: Self) -> Self {
                Ord::min(self, rhs)
            }
            fn max(self, rhs: Self) -> Self {
                Ord::max(self, rhs)
            }
            fn vec_plus(self, rhs: Self) -> Self {
                self.wrapping_add(rhs)
            }
            fn vec_times(self, rhs: Self) -> Self {
                self.wrapping_mul(rhs)
            }
            fn sum_of(values: &[Self]) -> Self {
                values.iter().fold(0, |sum, &value| sum.wrapping_add(value))
            }
            fn dot_of(lhs: &[Self], rhs: &[Self]) -> Self {
                let products = lhs.iter().zip(rhs).map(|(lhs, rhs)| lhs.wrapping_mul(*rhs));
                products.fold(0, Self::wrapping_add)
            }
        })+
    };
}
of_integers!(u8, u32, i16, i32, i64);

#[cfg(test)]
mod tests {
    use super::*;

    /// What the four reductions write for two vectors.
    fn reduced<T: VecOps>(lhs: &[T], rhs: &[T]) -> [T; 4] {
        assert_eq!(lhs.len(), rhs.len());
        let mut found = [T::zero(); 4];
        let [dot, sum, max, min] = &mut found;
        let (len, lhs, rhs) = (lhs.len(), lhs.as_ptr(), rhs.as_ptr());
        // SAFETY: both slices have this length, and the result is an element.
        unsafe { T::vec_dot(lhs, rhs, dot, len) };
        // SAFETY: as above.
        unsafe { T::vec_reduce_sum(lhs, sum, len) };
        // SAFETY: as above.
        unsafe { T::vec_reduce_max(lhs, max, len) };
        // SAFETY: as above.
        unsafe { T::vec_reduce_min(lhs, min, len) };
        found
    }

    #[test]
    fn reductions_are_those_of_every_element() {
        for len in 0..70 {
            let floats: Vec<f32> = (0..len).map(|at| (at * 7 % 11) as f32 - 5.0).collect();
            let dot: f32 = floats.iter().map(|value| value * value).sum();
            let max = floats.iter().copied().reduce(f32::max).unwrap_or(0.0);
            let min = floats.iter().copied().reduce(f32::min).unwrap_or(0.0);
            let want = [dot, floats.iter().sum(), max, min];
            assert_eq!(reduced(&floats, &floats), want, "{len}");
            let halves: Vec<f16> = floats.iter().map(|&value| f16::from_f32(value)).collect();
            assert_eq!(reduced(&halves, &halves), want.map(f16::from_f32), "{len}");
            let doubles: Vec<f64> = floats.iter().map(|&value| value.into()).collect();
            assert_eq!(reduced(&doubles, &doubles), want.map(f64::from), "{len}");
        }
        assert_eq!(reduced(&[200u8, 100], &[2, 3]), [188, 44, 200, 100]);
        let eights = [1.5f32, -2.0, 4.0].map(F8E4M3::from_f32);
        assert_eq!(
            reduced(&eights, &eights).map(|value| value.to_f32()),
            [22., 3.5, 4., -2.]
        );
    }

    #[test]
    fn sums_of_sixteen_bits_are_rounded_once() {
        let ones = vec![bf16::ONE; 1000];
        assert_eq!(bf16::sum_of(&ones), bf16::from_f32(1000.0));
    }

    #[test]
    fn a_nan_is_the_greatest_and_the_least_wherever_it_stands() {
        for at in 0..3 {
            let mut values = [1f32, 2., 3.];
            values[at] = f32::NAN;
            let [.., max, min] = reduced(&values, &values);
            assert!(max.is_nan() && min.is_nan(), "{at}");
        }
    }

    #[test]
    fn elementwise_operations_end_with_the_shortest_slice() {
        let (lhs, rhs) = ([1i32, i32::MAX, 5], [2, 1]);
        let mut out = [7; 3];
        i32::vec_add(&lhs, &rhs, &mut out);
        assert_eq!(out, [3, i32::MIN, 7]);
        i32::vec_mul(&lhs, &rhs, &mut out);
        assert_eq!(out, [2, i32::MAX, 7]);
        2.scalar_add(&lhs, &mut out[..1]);
        10.scalar_mul(&lhs[..1], &mut out[1..]);
        assert_eq!(out, [3, 10, 7]);
    }
}
