//! The portable level: vectors are arrays of four lanes that the compiler may put in registers.
//!
//! No unsafe code, no intrinsics: this is the level that Miri checks and that a target without
//! its own file gets. `fma` is fused only where the compile target has the instruction, because
//! the library call that stands in for it is far slower than two roundings.

use std::array;

use half::{bf16, f16};

use crate::level::Level;
use crate::simd::{Sealed, Simd};

/// The token of [`Level::Scalar`]; every CPU has it.
#[derive(Clone, Copy, Debug)]
pub struct Scalar;

const LANES: usize = 4;

/// All bits set where true, so that a selection is three bitwise operations.
#[inline(always)]
fn mask_of(truth: bool) -> u32 {
    u32::from(truth).wrapping_neg()
}

#[inline(always)]
fn mask64_of(truth: bool) -> u64 {
    u64::from(truth).wrapping_neg()
}

#[inline(always)]
fn map<T: Copy, R, const N: usize>(v: [T; N], f: impl Fn(T) -> R) -> [R; N] {
    array::from_fn(|lane| f(v[lane]))
}

#[inline(always)]
fn zip<T: Copy, U: Copy, R, const N: usize>(a: [T; N], b: [U; N], f: impl Fn(T, U) -> R) -> [R; N] {
    array::from_fn(|lane| f(a[lane], b[lane]))
}

#[inline(always)]
fn load<T: Copy, const N: usize>(src: &[T]) -> [T; N] {
    *src.first_chunk()
        .expect("simd: load: slice is shorter than a vector")
}

#[inline(always)]
fn store<T: Copy, const N: usize>(v: [T; N], dst: &mut [T]) {
    *dst.first_chunk_mut()
        .expect("simd: store: slice is shorter than a vector") = v;
}

#[inline(always)]
fn load_partial<T: Copy + Default, const N: usize>(src: &[T]) -> [T; N] {
    array::from_fn(|lane| src.get(lane).copied().unwrap_or_default())
}

#[inline(always)]
fn store_partial<T: Copy, const N: usize>(v: [T; N], dst: &mut [T]) {
    for (element, lane) in dst.iter_mut().zip(v) {
        *element = lane;
    }
}

/// The smaller, or NaN if either is: `b` comes through when it is NaN, as `a < b` is false then.
#[inline(always)]
fn min_f32(a: f32, b: f32) -> f32 {
    if a < b || a.is_nan() { a } else { b }
}

#[inline(always)]
fn max_f32(a: f32, b: f32) -> f32 {
    if a > b || a.is_nan() { a } else { b }
}

#[inline(always)]
fn min_f64(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

#[inline(always)]
fn max_f64(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

#[inline(always)]
fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        a.mul_add(b, c)
    } else {
        a * b + c
    }
}

#[inline(always)]
fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        a.mul_add(b, c)
    } else {
        a * b + c
    }
}

impl Sealed for Scalar {}

impl Simd for Scalar {
    const LEVEL: Level = Level::Scalar;
    const F32_LANES: usize = LANES;
    const F64_LANES: usize = LANES / 2;
    type F32 = [f32; LANES];
    type I32 = [i32; LANES];
    type M32 = [u32; LANES];
    type F64 = [f64; LANES / 2];
    type M64 = [u64; LANES / 2];

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        f()
    }

    #[inline(always)]
    fn splat_f32(self, value: f32) -> Self::F32 {
        [value; LANES]
    }

    #[inline(always)]
    fn load_f32(self, src: &[f32]) -> Self::F32 {
        load(src)
    }

    #[inline(always)]
    fn store_f32(self, v: Self::F32, dst: &mut [f32]) {
        store(v, dst);
    }

    #[inline(always)]
    fn load_partial_f32(self, src: &[f32]) -> Self::F32 {
        load_partial(src)
    }

    #[inline(always)]
    fn store_partial_f32(self, v: Self::F32, dst: &mut [f32]) {
        store_partial(v, dst);
    }

    #[inline(always)]
    fn add_f32(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub_f32(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn mul_f32(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn div_f32(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |a, b| a / b)
    }

    #[inline(always)]
    fn fma_f32(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 {
        array::from_fn(|lane| fma_f32(a[lane], b[lane], c[lane]))
    }

    #[inline(always)]
    fn min_f32(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, min_f32)
    }

    #[inline(always)]
    fn max_f32(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, max_f32)
    }

    #[inline(always)]
    fn neg_f32(self, v: Self::F32) -> Self::F32 {
        map(v, |v| -v)
    }

    #[inline(always)]
    fn abs_f32(self, v: Self::F32) -> Self::F32 {
        map(v, f32::abs)
    }

    #[inline(always)]
    fn sqrt_f32(self, v: Self::F32) -> Self::F32 {
        map(v, f32::sqrt)
    }

    #[inline(always)]
    fn floor_f32(self, v: Self::F32) -> Self::F32 {
        map(v, f32::floor)
    }

    #[inline(always)]
    fn ceil_f32(self, v: Self::F32) -> Self::F32 {
        map(v, f32::ceil)
    }

    #[inline(always)]
    fn trunc_f32(self, v: Self::F32) -> Self::F32 {
        map(v, f32::trunc)
    }

    #[inline(always)]
    fn round_even_f32(self, v: Self::F32) -> Self::F32 {
        map(v, f32::round_ties_even)
    }

    #[inline(always)]
    fn lt_f32(self, a: Self::F32, b: Self::F32) -> Self::M32 {
        zip(a, b, |a, b| mask_of(a < b))
    }

    #[inline(always)]
    fn le_f32(self, a: Self::F32, b: Self::F32) -> Self::M32 {
        zip(a, b, |a, b| mask_of(a <= b))
    }

    #[inline(always)]
    fn eq_f32(self, a: Self::F32, b: Self::F32) -> Self::M32 {
        zip(a, b, |a, b| mask_of(a == b))
    }

    #[inline(always)]
    fn is_nan_f32(self, v: Self::F32) -> Self::M32 {
        map(v, |v| mask_of(v.is_nan()))
    }

    #[inline(always)]
    fn select_f32(self, mask: Self::M32, a: Self::F32, b: Self::F32) -> Self::F32 {
        array::from_fn(|lane| {
            let (a, b) = (a[lane].to_bits(), b[lane].to_bits());
            f32::from_bits((mask[lane] & a) | (!mask[lane] & b))
        })
    }

    #[inline(always)]
    fn reduce_add_f32(self, v: Self::F32) -> f32 {
        (v[0] + v[2]) + (v[1] + v[3])
    }

    #[inline(always)]
    fn reduce_max_f32(self, v: Self::F32) -> f32 {
        max_f32(max_f32(v[0], v[2]), max_f32(v[1], v[3]))
    }

    #[inline(always)]
    fn reduce_min_f32(self, v: Self::F32) -> f32 {
        min_f32(min_f32(v[0], v[2]), min_f32(v[1], v[3]))
    }

    #[inline(always)]
    fn first_m32(self, count: usize) -> Self::M32 {
        array::from_fn(|lane| mask_of(lane < count))
    }

    #[inline(always)]
    fn and_m32(self, a: Self::M32, b: Self::M32) -> Self::M32 {
        zip(a, b, |a, b| a & b)
    }

    #[inline(always)]
    fn or_m32(self, a: Self::M32, b: Self::M32) -> Self::M32 {
        zip(a, b, |a, b| a | b)
    }

    #[inline(always)]
    fn not_m32(self, m: Self::M32) -> Self::M32 {
        map(m, |m| !m)
    }

    #[inline(always)]
    fn any_m32(self, m: Self::M32) -> bool {
        m.iter().fold(0, |any, m| any | m) != 0
    }

    #[inline(always)]
    fn to_i32(self, v: Self::F32) -> Self::I32 {
        map(v, |v| v as i32)
    }

    #[inline(always)]
    fn from_i32(self, v: Self::I32) -> Self::F32 {
        map(v, |v| v as f32)
    }

    #[inline(always)]
    fn bits_f32(self, v: Self::F32) -> Self::I32 {
        map(v, |v| v.to_bits().cast_signed())
    }

    #[inline(always)]
    fn from_bits_f32(self, v: Self::I32) -> Self::F32 {
        map(v, |v| f32::from_bits(v.cast_unsigned()))
    }

    #[inline(always)]
    fn splat_i32(self, value: i32) -> Self::I32 {
        [value; LANES]
    }

    #[inline(always)]
    fn load_i32(self, src: &[i32]) -> Self::I32 {
        load(src)
    }

    #[inline(always)]
    fn store_i32(self, v: Self::I32, dst: &mut [i32]) {
        store(v, dst);
    }

    #[inline(always)]
    fn add_i32(self, a: Self::I32, b: Self::I32) -> Self::I32 {
        zip(a, b, i32::wrapping_add)
    }

    #[inline(always)]
    fn sub_i32(self, a: Self::I32, b: Self::I32) -> Self::I32 {
        zip(a, b, i32::wrapping_sub)
    }

    #[inline(always)]
    fn and_i32(self, a: Self::I32, b: Self::I32) -> Self::I32 {
        zip(a, b, |a, b| a & b)
    }

    #[inline(always)]
    fn or_i32(self, a: Self::I32, b: Self::I32) -> Self::I32 {
        zip(a, b, |a, b| a | b)
    }

    #[inline(always)]
    fn xor_i32(self, a: Self::I32, b: Self::I32) -> Self::I32 {
        zip(a, b, |a, b| a ^ b)
    }

    #[inline(always)]
    fn shl_i32(self, v: Self::I32, count: u32) -> Self::I32 {
        map(v, |v| v.checked_shl(count).unwrap_or(0))
    }

    #[inline(always)]
    fn shr_arithmetic_i32(self, v: Self::I32, count: u32) -> Self::I32 {
        map(v, |v| v >> count.min(31))
    }

    #[inline(always)]
    fn shr_logical_i32(self, v: Self::I32, count: u32) -> Self::I32 {
        map(v, |v| {
            v.cast_unsigned()
                .checked_shr(count)
                .unwrap_or(0)
                .cast_signed()
        })
    }

    #[inline(always)]
    fn eq_i32(self, a: Self::I32, b: Self::I32) -> Self::M32 {
        zip(a, b, |a, b| mask_of(a == b))
    }

    #[inline(always)]
    fn gt_i32(self, a: Self::I32, b: Self::I32) -> Self::M32 {
        zip(a, b, |a, b| mask_of(a > b))
    }

    #[inline(always)]
    fn select_i32(self, mask: Self::M32, a: Self::I32, b: Self::I32) -> Self::I32 {
        array::from_fn(|lane| {
            let mask = mask[lane].cast_signed();
            (mask & a[lane]) | (!mask & b[lane])
        })
    }

    #[inline(always)]
    fn splat_f64(self, value: f64) -> Self::F64 {
        [value; LANES / 2]
    }

    #[inline(always)]
    fn load_f64(self, src: &[f64]) -> Self::F64 {
        load(src)
    }

    #[inline(always)]
    fn store_f64(self, v: Self::F64, dst: &mut [f64]) {
        store(v, dst);
    }

    #[inline(always)]
    fn load_partial_f64(self, src: &[f64]) -> Self::F64 {
        load_partial(src)
    }

    #[inline(always)]
    fn store_partial_f64(self, v: Self::F64, dst: &mut [f64]) {
        store_partial(v, dst);
    }

    #[inline(always)]
    fn add_f64(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        zip(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub_f64(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        zip(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn mul_f64(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        zip(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn div_f64(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        zip(a, b, |a, b| a / b)
    }

    #[inline(always)]
    fn fma_f64(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64 {
        array::from_fn(|lane| fma_f64(a[lane], b[lane], c[lane]))
    }

    #[inline(always)]
    fn min_f64(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        zip(a, b, min_f64)
    }

    #[inline(always)]
    fn max_f64(self, a: Self::F64, b: Self::F64) -> Self::F64 {
        zip(a, b, max_f64)
    }

    #[inline(always)]
    fn neg_f64(self, v: Self::F64) -> Self::F64 {
        map(v, |v| -v)
    }

    #[inline(always)]
    fn abs_f64(self, v: Self::F64) -> Self::F64 {
        map(v, f64::abs)
    }

    #[inline(always)]
    fn sqrt_f64(self, v: Self::F64) -> Self::F64 {
        map(v, f64::sqrt)
    }

    #[inline(always)]
    fn lt_f64(self, a: Self::F64, b: Self::F64) -> Self::M64 {
        zip(a, b, |a, b| mask64_of(a < b))
    }

    #[inline(always)]
    fn le_f64(self, a: Self::F64, b: Self::F64) -> Self::M64 {
        zip(a, b, |a, b| mask64_of(a <= b))
    }

    #[inline(always)]
    fn eq_f64(self, a: Self::F64, b: Self::F64) -> Self::M64 {
        zip(a, b, |a, b| mask64_of(a == b))
    }

    #[inline(always)]
    fn is_nan_f64(self, v: Self::F64) -> Self::M64 {
        map(v, |v| mask64_of(v.is_nan()))
    }

    #[inline(always)]
    fn select_f64(self, mask: Self::M64, a: Self::F64, b: Self::F64) -> Self::F64 {
        array::from_fn(|lane| {
            let (a, b) = (a[lane].to_bits(), b[lane].to_bits());
            f64::from_bits((mask[lane] & a) | (!mask[lane] & b))
        })
    }

    #[inline(always)]
    fn reduce_add_f64(self, v: Self::F64) -> f64 {
        v[0] + v[1]
    }

    #[inline(always)]
    fn reduce_max_f64(self, v: Self::F64) -> f64 {
        max_f64(v[0], v[1])
    }

    #[inline(always)]
    fn reduce_min_f64(self, v: Self::F64) -> f64 {
        min_f64(v[0], v[1])
    }

    #[inline(always)]
    fn widen_f32(self, v: Self::F32) -> (Self::F64, Self::F64) {
        (
            [f64::from(v[0]), f64::from(v[1])],
            [f64::from(v[2]), f64::from(v[3])],
        )
    }

    #[inline(always)]
    fn narrow_f64(self, low: Self::F64, high: Self::F64) -> Self::F32 {
        [low[0] as f32, low[1] as f32, high[0] as f32, high[1] as f32]
    }

    #[inline(always)]
    fn load_f16(self, src: &[f16]) -> Self::F32 {
        map(load(src), |v: f16| f16_bits_to_f32(v.to_bits()))
    }

    #[inline(always)]
    fn store_f16(self, v: Self::F32, dst: &mut [f16]) {
        store(map(v, |v| f16::from_bits(f16_bits_from_f32(v))), dst);
    }

    #[inline(always)]
    fn load_bf16(self, src: &[bf16]) -> Self::F32 {
        map(load(src), |v: bf16| bf16_bits_to_f32(v.to_bits()))
    }

    #[inline(always)]
    fn store_bf16(self, v: Self::F32, dst: &mut [bf16]) {
        store(map(v, |v| bf16::from_bits(bf16_bits_from_f32(v))), dst);
    }
}

/// Widens an f16 by shifting it into place and correcting the exponent with exact float arithmetic.
///
/// ```text
/// f16  s eeeee mmmmmmmmmm                    value = (-1)^s 2^(e-15) 1.m, denormal 2^-14 0.m
/// f32  s eeeeeeee mmmmmmmmmmmmmmmmmmmmmmm    value = (-1)^s 2^(e-127) 1.m
/// ```
#[inline(always)]
fn f16_bits_to_f32(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let magnitude = u32::from(half & 0x7fff);
    // Read as f32 the value is 2^-112 of the right one; the product is exact, denormals included.
    let finite = (f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23)).to_bits();
    // Infinity and NaN keep all exponent bits set; NaN becomes quiet.
    let quiet = mask_of(magnitude > 0x7c00) & 0x0040_0000;
    let special = (magnitude << 13) | 0x7f80_0000 | quiet;
    let is_special = mask_of(magnitude >= 0x7c00);
    f32::from_bits(sign | (is_special & special) | (!is_special & finite))
}

/// Rounds an f32 to the nearest f16, halves to even, by integer arithmetic.
#[inline(always)]
fn f16_bits_from_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Normal results: rebias the exponent by 112, round off 13 bits to even. A carry runs into the
    // exponent, up to infinity, as it should.
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    // Denormal results: adding 0.5 aligns the lowest kept bit, 2^-24, with the last bit of the
    // f32 mantissa, and the addition itself rounds to even.
    let aligned = f32::from_bits(magnitude) + 0.5;
    let denormal = aligned.to_bits().wrapping_sub(0.5f32.to_bits());
    let finite = if magnitude < 113 << 23 {
        denormal
    } else {
        normal
    };
    // From 65520 on the result is infinity (and the formulas above would overflow f16).
    let quiet = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    let large = if magnitude > 0x7f80_0000 {
        quiet
    } else {
        0x7c00
    };
    let result = if magnitude >= 143 << 23 {
        large
    } else {
        finite
    };
    (sign | result) as u16
}

#[inline(always)]
fn bf16_bits_to_f32(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// Rounds an f32 to the nearest bf16, halves to even; NaN stays NaN (made quiet).
#[inline(always)]
fn bf16_bits_from_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    let odd = (bits >> 16) & 1;
    let rounded = bits.wrapping_add(0x7fff + odd) >> 16;
    let quiet = (bits >> 16) | 0x0040;
    (if value.is_nan() { quiet } else { rounded }) as u16
}
