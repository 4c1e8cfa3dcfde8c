//! Advanced SIMD of 64-bit Arm: four f32 lanes, masks as vectors of all-ones or all-zeros lanes.
//!
//! The f16 conversions are part of the base instruction set, but their intrinsics need a newer
//! compiler than the one this crate promises, hence the two lines of `asm!`. Read `arch/mod.rs`
//! first for what `token_methods!` does.

use std::arch::aarch64::*;
use std::arch::asm;

use half::{bf16, f16};

use crate::dispatch;
use crate::level::Level;
use crate::simd::{Sealed, Simd};

/// The token of [`Level::Neon`].
#[derive(Clone, Copy, Debug)]
pub struct Neon(());

impl Neon {
    /// The token, if this CPU has the level.
    #[inline]
    pub fn new() -> Option<Self> {
        dispatch::supports(Level::Neon).then_some(Self(()))
    }
}

/// A mask of the first `count` of four lanes.
#[target_feature(enable = "neon")]
#[inline]
fn first_lanes(count: usize) -> uint32x4_t {
    let lanes: [u32; 4] = [0, 1, 2, 3];
    // SAFETY: `lanes` holds four u32.
    let lanes = unsafe { vld1q_u32(lanes.as_ptr()) };
    vcltq_u32(lanes, vdupq_n_u32(count.min(4) as u32))
}

#[target_feature(enable = "neon")]
#[inline]
fn load_f32(src: &[f32; 4]) -> float32x4_t {
    // SAFETY: `src` holds four f32.
    unsafe { vld1q_f32(src.as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
fn load_f64(src: &[f64; 2]) -> float64x2_t {
    // SAFETY: `src` holds two f64.
    unsafe { vld1q_f64(src.as_ptr()) }
}

/// Four f16 bit patterns to f32 (`fcvtl`).
#[target_feature(enable = "neon")]
#[inline]
fn widen_f16(halves: uint16x4_t) -> float32x4_t {
    let wide: float32x4_t;
    // SAFETY: one instruction of the base instruction set that reads and writes only registers.
    unsafe {
        asm!(
            "fcvtl {wide:v}.4s, {halves:v}.4h",
            wide = out(vreg) wide,
            halves = in(vreg) halves,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    wide
}

/// Four f32 to the nearest f16, halves to even (`fcvtn`).
#[target_feature(enable = "neon")]
#[inline]
fn narrow_f16(wide: float32x4_t) -> uint16x4_t {
    let halves: uint16x4_t;
    // SAFETY: one instruction of the base instruction set that reads and writes only registers.
    unsafe {
        asm!(
            "fcvtn {halves:v}.4h, {wide:v}.4s",
            halves = out(vreg) halves,
            wide = in(vreg) wide,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    halves
}

impl Sealed for Neon {}

impl Simd for Neon {
    const LEVEL: Level = Level::Neon;
    const F32_LANES: usize = 4;
    const F64_LANES: usize = 2;
    type F32 = float32x4_t;
    type I32 = int32x4_t;
    type M32 = uint32x4_t;
    type F64 = float64x2_t;
    type M64 = uint64x2_t;

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "neon")]
        #[inline]
        fn inner<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: a token is made only after `dispatch::supports` has found this feature.
        unsafe { inner(f) }
    }

    token_methods! { "neon";
        fn splat_f32(value: f32) -> float32x4_t { vdupq_n_f32(value) }
        fn load_f32(src: &[f32]) -> float32x4_t {
            let src = &src[..4];
            // SAFETY: the line above checked that four f32 are there.
            unsafe { vld1q_f32(src.as_ptr()) }
        }
        fn store_f32(v: float32x4_t, dst: &mut [f32]) {
            let dst = &mut dst[..4];
            // SAFETY: the line above checked that four f32 are there.
            unsafe { vst1q_f32(dst.as_mut_ptr(), v) }
        }
        fn load_partial_f32(src: &[f32]) -> float32x4_t {
            let mut buffer = [0.0; 4];
            let count = src.len().min(4);
            buffer[..count].copy_from_slice(&src[..count]);
            load_f32(&buffer)
        }
        fn store_partial_f32(v: float32x4_t, dst: &mut [f32]) {
            let mut buffer = [0.0; 4];
            // SAFETY: `buffer` holds four f32.
            unsafe { vst1q_f32(buffer.as_mut_ptr(), v) };
            let count = dst.len().min(4);
            dst[..count].copy_from_slice(&buffer[..count]);
        }
        fn add_f32(a: float32x4_t, b: float32x4_t) -> float32x4_t { vaddq_f32(a, b) }
        fn sub_f32(a: float32x4_t, b: float32x4_t) -> float32x4_t { vsubq_f32(a, b) }
        fn mul_f32(a: float32x4_t, b: float32x4_t) -> float32x4_t { vmulq_f32(a, b) }
        fn div_f32(a: float32x4_t, b: float32x4_t) -> float32x4_t { vdivq_f32(a, b) }
        fn fma_f32(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
            vfmaq_f32(c, a, b)
        }
        fn min_f32(a: float32x4_t, b: float32x4_t) -> float32x4_t { vminq_f32(a, b) }
        fn max_f32(a: float32x4_t, b: float32x4_t) -> float32x4_t { vmaxq_f32(a, b) }
        fn neg_f32(v: float32x4_t) -> float32x4_t { vnegq_f32(v) }
        fn abs_f32(v: float32x4_t) -> float32x4_t { vabsq_f32(v) }
        fn sqrt_f32(v: float32x4_t) -> float32x4_t { vsqrtq_f32(v) }
        fn floor_f32(v: float32x4_t) -> float32x4_t { vrndmq_f32(v) }
        fn ceil_f32(v: float32x4_t) -> float32x4_t { vrndpq_f32(v) }
        fn trunc_f32(v: float32x4_t) -> float32x4_t { vrndq_f32(v) }
        fn round_even_f32(v: float32x4_t) -> float32x4_t { vrndnq_f32(v) }
        fn lt_f32(a: float32x4_t, b: float32x4_t) -> uint32x4_t { vcltq_f32(a, b) }
        fn le_f32(a: float32x4_t, b: float32x4_t) -> uint32x4_t { vcleq_f32(a, b) }
        fn eq_f32(a: float32x4_t, b: float32x4_t) -> uint32x4_t { vceqq_f32(a, b) }
        fn is_nan_f32(v: float32x4_t) -> uint32x4_t { vmvnq_u32(vceqq_f32(v, v)) }
        fn select_f32(mask: uint32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t {
            vbslq_f32(mask, a, b)
        }
        fn reduce_add_f32(v: float32x4_t) -> f32 { vaddvq_f32(v) }
        fn reduce_max_f32(v: float32x4_t) -> f32 { vmaxvq_f32(v) }
        fn reduce_min_f32(v: float32x4_t) -> f32 { vminvq_f32(v) }

        fn first_m32(count: usize) -> uint32x4_t { first_lanes(count) }
        fn and_m32(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vandq_u32(a, b) }
        fn or_m32(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t { vorrq_u32(a, b) }
        fn not_m32(m: uint32x4_t) -> uint32x4_t { vmvnq_u32(m) }
        fn any_m32(m: uint32x4_t) -> bool { vmaxvq_u32(m) != 0 }

        fn to_i32(v: float32x4_t) -> int32x4_t { vcvtq_s32_f32(v) }
        fn from_i32(v: int32x4_t) -> float32x4_t { vcvtq_f32_s32(v) }
        fn bits_f32(v: float32x4_t) -> int32x4_t { vreinterpretq_s32_f32(v) }
        fn from_bits_f32(v: int32x4_t) -> float32x4_t { vreinterpretq_f32_s32(v) }
        fn splat_i32(value: i32) -> int32x4_t { vdupq_n_s32(value) }
        fn load_i32(src: &[i32]) -> int32x4_t {
            let src = &src[..4];
            // SAFETY: the line above checked that four i32 are there.
            unsafe { vld1q_s32(src.as_ptr()) }
        }
        fn store_i32(v: int32x4_t, dst: &mut [i32]) {
            let dst = &mut dst[..4];
            // SAFETY: the line above checked that four i32 are there.
            unsafe { vst1q_s32(dst.as_mut_ptr(), v) }
        }
        fn add_i32(a: int32x4_t, b: int32x4_t) -> int32x4_t { vaddq_s32(a, b) }
        fn sub_i32(a: int32x4_t, b: int32x4_t) -> int32x4_t { vsubq_s32(a, b) }
        fn and_i32(a: int32x4_t, b: int32x4_t) -> int32x4_t { vandq_s32(a, b) }
        fn or_i32(a: int32x4_t, b: int32x4_t) -> int32x4_t { vorrq_s32(a, b) }
        fn xor_i32(a: int32x4_t, b: int32x4_t) -> int32x4_t { veorq_s32(a, b) }
        // The instruction shifts by a signed count from the lane's low byte, right if negative.
        fn shl_i32(v: int32x4_t, count: u32) -> int32x4_t {
            vshlq_s32(v, vdupq_n_s32(count.min(32).cast_signed()))
        }
        fn shr_arithmetic_i32(v: int32x4_t, count: u32) -> int32x4_t {
            vshlq_s32(v, vdupq_n_s32(-count.min(32).cast_signed()))
        }
        fn shr_logical_i32(v: int32x4_t, count: u32) -> int32x4_t {
            let count = vdupq_n_s32(-count.min(32).cast_signed());
            vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(v), count))
        }
        fn eq_i32(a: int32x4_t, b: int32x4_t) -> uint32x4_t { vceqq_s32(a, b) }
        fn gt_i32(a: int32x4_t, b: int32x4_t) -> uint32x4_t { vcgtq_s32(a, b) }
        fn select_i32(mask: uint32x4_t, a: int32x4_t, b: int32x4_t) -> int32x4_t {
            vbslq_s32(mask, a, b)
        }

        fn splat_f64(value: f64) -> float64x2_t { vdupq_n_f64(value) }
        fn load_f64(src: &[f64]) -> float64x2_t {
            let src = &src[..2];
            // SAFETY: the line above checked that two f64 are there.
            unsafe { vld1q_f64(src.as_ptr()) }
        }
        fn store_f64(v: float64x2_t, dst: &mut [f64]) {
            let dst = &mut dst[..2];
            // SAFETY: the line above checked that two f64 are there.
            unsafe { vst1q_f64(dst.as_mut_ptr(), v) }
        }
        fn load_partial_f64(src: &[f64]) -> float64x2_t {
            let mut buffer = [0.0; 2];
            let count = src.len().min(2);
            buffer[..count].copy_from_slice(&src[..count]);
            load_f64(&buffer)
        }
        fn store_partial_f64(v: float64x2_t, dst: &mut [f64]) {
            let mut buffer = [0.0; 2];
            // SAFETY: `buffer` holds two f64.
            unsafe { vst1q_f64(buffer.as_mut_ptr(), v) };
            let count = dst.len().min(2);
            dst[..count].copy_from_slice(&buffer[..count]);
        }
        fn add_f64(a: float64x2_t, b: float64x2_t) -> float64x2_t { vaddq_f64(a, b) }
        fn sub_f64(a: float64x2_t, b: float64x2_t) -> float64x2_t { vsubq_f64(a, b) }
        fn mul_f64(a: float64x2_t, b: float64x2_t) -> float64x2_t { vmulq_f64(a, b) }
        fn div_f64(a: float64x2_t, b: float64x2_t) -> float64x2_t { vdivq_f64(a, b) }
        fn fma_f64(a: float64x2_t, b: float64x2_t, c: float64x2_t) -> float64x2_t {
            vfmaq_f64(c, a, b)
        }
        fn min_f64(a: float64x2_t, b: float64x2_t) -> float64x2_t { vminq_f64(a, b) }
        fn max_f64(a: float64x2_t, b: float64x2_t) -> float64x2_t { vmaxq_f64(a, b) }
        fn neg_f64(v: float64x2_t) -> float64x2_t { vnegq_f64(v) }
        fn abs_f64(v: float64x2_t) -> float64x2_t { vabsq_f64(v) }
        fn sqrt_f64(v: float64x2_t) -> float64x2_t { vsqrtq_f64(v) }
        fn lt_f64(a: float64x2_t, b: float64x2_t) -> uint64x2_t { vcltq_f64(a, b) }
        fn le_f64(a: float64x2_t, b: float64x2_t) -> uint64x2_t { vcleq_f64(a, b) }
        fn eq_f64(a: float64x2_t, b: float64x2_t) -> uint64x2_t { vceqq_f64(a, b) }
        fn is_nan_f64(v: float64x2_t) -> uint64x2_t {
            let is_number = vreinterpretq_u32_u64(vceqq_f64(v, v));
            vreinterpretq_u64_u32(vmvnq_u32(is_number))
        }
        fn select_f64(mask: uint64x2_t, a: float64x2_t, b: float64x2_t) -> float64x2_t {
            vbslq_f64(mask, a, b)
        }
        fn reduce_add_f64(v: float64x2_t) -> f64 { vaddvq_f64(v) }
        fn reduce_max_f64(v: float64x2_t) -> f64 { vmaxvq_f64(v) }
        fn reduce_min_f64(v: float64x2_t) -> f64 { vminvq_f64(v) }
        fn widen_f32(v: float32x4_t) -> (float64x2_t, float64x2_t) {
            (vcvt_f64_f32(vget_low_f32(v)), vcvt_high_f64_f32(v))
        }
        fn narrow_f64(low: float64x2_t, high: float64x2_t) -> float32x4_t {
            vcvt_high_f32_f64(vcvt_f32_f64(low), high)
        }

        fn load_f16(src: &[f16]) -> float32x4_t {
            let src = &src[..4];
            // SAFETY: the line above checked that four f16, each 16 bits, are there.
            widen_f16(unsafe { vld1_u16(src.as_ptr().cast()) })
        }
        fn store_f16(v: float32x4_t, dst: &mut [f16]) {
            let dst = &mut dst[..4];
            let halves = narrow_f16(v);
            // SAFETY: the first line checked that four f16, each 16 bits, are there.
            unsafe { vst1_u16(dst.as_mut_ptr().cast(), halves) }
        }
        fn load_bf16(src: &[bf16]) -> float32x4_t {
            let src = &src[..4];
            // SAFETY: the line above checked that four bf16, each 16 bits, are there.
            let halves = unsafe { vld1_u16(src.as_ptr().cast()) };
            vreinterpretq_f32_u32(vshll_n_u16::<16>(halves))
        }
        fn store_bf16(v: float32x4_t, dst: &mut [bf16]) {
            let dst = &mut dst[..4];
            let bits = vreinterpretq_u32_f32(v);
            let high = vshrq_n_u32::<16>(bits);
            let odd = vandq_u32(high, vdupq_n_u32(1));
            let rounding = vaddq_u32(odd, vdupq_n_u32(0x7fff));
            let rounded = vshrq_n_u32::<16>(vaddq_u32(bits, rounding));
            // Rounding could turn NaN into infinity: keep its upper bits and make it quiet.
            let quiet = vorrq_u32(high, vdupq_n_u32(0x0040));
            let halves = vmovn_u32(vbslq_u32(vceqq_f32(v, v), rounded, quiet));
            // SAFETY: the first line checked that four bf16, each 16 bits, are there.
            unsafe { vst1_u16(dst.as_mut_ptr().cast(), halves) }
        }
    }
}
