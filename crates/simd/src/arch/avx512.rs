//! AVX-512 F, BW, DQ and VL: sixteen f32 lanes, masks as bits in mask registers.
//!
//! Read `arch/mod.rs` first for what `token_methods!` does.

use std::arch::x86_64::*;

use half::{bf16, f16};

use crate::dispatch;
use crate::level::Level;
use crate::simd::{Sealed, Simd};

/// The token of [`Level::Avx512`]: proves that the CPU has AVX-512 F, BW, DQ, VL and all of AVX2's.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Avx512 {
    /// The token, if this CPU has the level.
    #[inline]
    pub fn new() -> Option<Self> {
        dispatch::supports(Level::Avx512).then_some(Self(()))
    }
}

/// A mask of the first `count` of sixteen lanes.
#[inline(always)]
fn first_lanes(count: usize) -> __mmask16 {
    // The shift drops all bits from 16 lanes on.
    !(u32::MAX << count.min(16)) as __mmask16
}

/// A mask of the first `count` of eight lanes.
#[inline(always)]
fn first_lanes_64(count: usize) -> __mmask8 {
    !(u32::MAX << count.min(8)) as __mmask8
}

impl Sealed for Avx512 {}

impl Simd for Avx512 {
    const LEVEL: Level = Level::Avx512;
    const F32_LANES: usize = 16;
    const F64_LANES: usize = 8;
    type F32 = __m512;
    type I32 = __m512i;
    type M32 = __mmask16;
    type F64 = __m512d;
    type M64 = __mmask8;

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2")]
        #[inline]
        fn inner<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: a token is made only after `dispatch::supports` has found these features.
        unsafe { inner(f) }
    }

    token_methods! { "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
        fn splat_f32(value: f32) -> __m512 { _mm512_set1_ps(value) }
        fn load_f32(src: &[f32]) -> __m512 {
            let src = &src[..16];
            // SAFETY: the line above checked that sixteen f32 are there.
            unsafe { _mm512_loadu_ps(src.as_ptr()) }
        }
        fn store_f32(v: __m512, dst: &mut [f32]) {
            let dst = &mut dst[..16];
            // SAFETY: the line above checked that sixteen f32 are there.
            unsafe { _mm512_storeu_ps(dst.as_mut_ptr(), v) }
        }
        fn load_partial_f32(src: &[f32]) -> __m512 {
            let mask = first_lanes(src.len());
            // SAFETY: only the first `src.len()` lanes are read.
            unsafe { _mm512_maskz_loadu_ps(mask, src.as_ptr()) }
        }
        fn store_partial_f32(v: __m512, dst: &mut [f32]) {
            let mask = first_lanes(dst.len());
            // SAFETY: only the first `dst.len()` lanes are written.
            unsafe { _mm512_mask_storeu_ps(dst.as_mut_ptr(), mask, v) }
        }
        fn add_f32(a: __m512, b: __m512) -> __m512 { _mm512_add_ps(a, b) }
        fn sub_f32(a: __m512, b: __m512) -> __m512 { _mm512_sub_ps(a, b) }
        fn mul_f32(a: __m512, b: __m512) -> __m512 { _mm512_mul_ps(a, b) }
        fn div_f32(a: __m512, b: __m512) -> __m512 { _mm512_div_ps(a, b) }
        fn fma_f32(a: __m512, b: __m512, c: __m512) -> __m512 { _mm512_fmadd_ps(a, b, c) }
        // The instruction gives b when either side is NaN: right unless a is the NaN.
        fn min_f32(a: __m512, b: __m512) -> __m512 {
            let a_is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a);
            _mm512_mask_mov_ps(_mm512_min_ps(a, b), a_is_nan, a)
        }
        fn max_f32(a: __m512, b: __m512) -> __m512 {
            let a_is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a);
            _mm512_mask_mov_ps(_mm512_max_ps(a, b), a_is_nan, a)
        }
        fn neg_f32(v: __m512) -> __m512 { _mm512_xor_ps(v, _mm512_set1_ps(-0.0)) }
        fn abs_f32(v: __m512) -> __m512 { _mm512_andnot_ps(_mm512_set1_ps(-0.0), v) }
        fn sqrt_f32(v: __m512) -> __m512 { _mm512_sqrt_ps(v) }
        fn floor_f32(v: __m512) -> __m512 {
            _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(v)
        }
        fn ceil_f32(v: __m512) -> __m512 {
            _mm512_roundscale_ps::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(v)
        }
        fn trunc_f32(v: __m512) -> __m512 {
            _mm512_roundscale_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(v)
        }
        fn round_even_f32(v: __m512) -> __m512 {
            _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(v)
        }
        fn scale_by_pow2_f32(v: __m512, exponent: __m512) -> __m512 {
            _mm512_scalef_ps(v, exponent)
        }
        fn lt_f32(a: __m512, b: __m512) -> __mmask16 { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b) }
        fn le_f32(a: __m512, b: __m512) -> __mmask16 { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b) }
        fn eq_f32(a: __m512, b: __m512) -> __mmask16 { _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(a, b) }
        fn is_nan_f32(v: __m512) -> __mmask16 { _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v) }
        fn select_f32(mask: __mmask16, a: __m512, b: __m512) -> __m512 {
            _mm512_mask_blend_ps(mask, b, a)
        }
        fn reduce_add_f32(v: __m512) -> f32 { _mm512_reduce_add_ps(v) }
        fn reduce_max_f32(v: __m512) -> f32 {
            if _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v) != 0 {
                return f32::NAN;
            }
            _mm512_reduce_max_ps(v)
        }
        fn reduce_min_f32(v: __m512) -> f32 {
            if _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v) != 0 {
                return f32::NAN;
            }
            _mm512_reduce_min_ps(v)
        }

        fn first_m32(count: usize) -> __mmask16 { first_lanes(count) }
        fn and_m32(a: __mmask16, b: __mmask16) -> __mmask16 { a & b }
        fn or_m32(a: __mmask16, b: __mmask16) -> __mmask16 { a | b }
        fn not_m32(m: __mmask16) -> __mmask16 { !m }
        fn any_m32(m: __mmask16) -> bool { m != 0 }

        fn to_i32(v: __m512) -> __m512i { _mm512_cvttps_epi32(v) }
        fn from_i32(v: __m512i) -> __m512 { _mm512_cvtepi32_ps(v) }
        fn bits_f32(v: __m512) -> __m512i { _mm512_castps_si512(v) }
        fn from_bits_f32(v: __m512i) -> __m512 { _mm512_castsi512_ps(v) }
        fn splat_i32(value: i32) -> __m512i { _mm512_set1_epi32(value) }
        fn load_i32(src: &[i32]) -> __m512i {
            let src = &src[..16];
            // SAFETY: the line above checked that sixteen i32 are there.
            unsafe { _mm512_loadu_epi32(src.as_ptr()) }
        }
        fn store_i32(v: __m512i, dst: &mut [i32]) {
            let dst = &mut dst[..16];
            // SAFETY: the line above checked that sixteen i32 are there.
            unsafe { _mm512_storeu_epi32(dst.as_mut_ptr(), v) }
        }
        fn add_i32(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi32(a, b) }
        fn sub_i32(a: __m512i, b: __m512i) -> __m512i { _mm512_sub_epi32(a, b) }
        fn and_i32(a: __m512i, b: __m512i) -> __m512i { _mm512_and_si512(a, b) }
        fn or_i32(a: __m512i, b: __m512i) -> __m512i { _mm512_or_si512(a, b) }
        fn xor_i32(a: __m512i, b: __m512i) -> __m512i { _mm512_xor_si512(a, b) }
        fn shl_i32(v: __m512i, count: u32) -> __m512i {
            _mm512_sllv_epi32(v, _mm512_set1_epi32(count.cast_signed()))
        }
        fn shr_arithmetic_i32(v: __m512i, count: u32) -> __m512i {
            _mm512_srav_epi32(v, _mm512_set1_epi32(count.cast_signed()))
        }
        fn shr_logical_i32(v: __m512i, count: u32) -> __m512i {
            _mm512_srlv_epi32(v, _mm512_set1_epi32(count.cast_signed()))
        }
        fn eq_i32(a: __m512i, b: __m512i) -> __mmask16 { _mm512_cmpeq_epi32_mask(a, b) }
        fn gt_i32(a: __m512i, b: __m512i) -> __mmask16 { _mm512_cmpgt_epi32_mask(a, b) }
        fn select_i32(mask: __mmask16, a: __m512i, b: __m512i) -> __m512i {
            _mm512_mask_blend_epi32(mask, b, a)
        }

        fn splat_f64(value: f64) -> __m512d { _mm512_set1_pd(value) }
        fn load_f64(src: &[f64]) -> __m512d {
            let src = &src[..8];
            // SAFETY: the line above checked that eight f64 are there.
            unsafe { _mm512_loadu_pd(src.as_ptr()) }
        }
        fn store_f64(v: __m512d, dst: &mut [f64]) {
            let dst = &mut dst[..8];
            // SAFETY: the line above checked that eight f64 are there.
            unsafe { _mm512_storeu_pd(dst.as_mut_ptr(), v) }
        }
        fn load_partial_f64(src: &[f64]) -> __m512d {
            let mask = first_lanes_64(src.len());
            // SAFETY: only the first `src.len()` lanes are read.
            unsafe { _mm512_maskz_loadu_pd(mask, src.as_ptr()) }
        }
        fn store_partial_f64(v: __m512d, dst: &mut [f64]) {
            let mask = first_lanes_64(dst.len());
            // SAFETY: only the first `dst.len()` lanes are written.
            unsafe { _mm512_mask_storeu_pd(dst.as_mut_ptr(), mask, v) }
        }
        fn add_f64(a: __m512d, b: __m512d) -> __m512d { _mm512_add_pd(a, b) }
        fn sub_f64(a: __m512d, b: __m512d) -> __m512d { _mm512_sub_pd(a, b) }
        fn mul_f64(a: __m512d, b: __m512d) -> __m512d { _mm512_mul_pd(a, b) }
        fn div_f64(a: __m512d, b: __m512d) -> __m512d { _mm512_div_pd(a, b) }
        fn fma_f64(a: __m512d, b: __m512d, c: __m512d) -> __m512d { _mm512_fmadd_pd(a, b, c) }
        fn min_f64(a: __m512d, b: __m512d) -> __m512d {
            let a_is_nan = _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, a);
            _mm512_mask_mov_pd(_mm512_min_pd(a, b), a_is_nan, a)
        }
        fn max_f64(a: __m512d, b: __m512d) -> __m512d {
            let a_is_nan = _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, a);
            _mm512_mask_mov_pd(_mm512_max_pd(a, b), a_is_nan, a)
        }
        fn neg_f64(v: __m512d) -> __m512d { _mm512_xor_pd(v, _mm512_set1_pd(-0.0)) }
        fn abs_f64(v: __m512d) -> __m512d { _mm512_andnot_pd(_mm512_set1_pd(-0.0), v) }
        fn sqrt_f64(v: __m512d) -> __m512d { _mm512_sqrt_pd(v) }
        fn lt_f64(a: __m512d, b: __m512d) -> __mmask8 { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b) }
        fn le_f64(a: __m512d, b: __m512d) -> __mmask8 { _mm512_cmp_pd_mask::<_CMP_LE_OQ>(a, b) }
        fn eq_f64(a: __m512d, b: __m512d) -> __mmask8 { _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(a, b) }
        fn is_nan_f64(v: __m512d) -> __mmask8 { _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(v, v) }
        fn select_f64(mask: __mmask8, a: __m512d, b: __m512d) -> __m512d {
            _mm512_mask_blend_pd(mask, b, a)
        }
        fn reduce_add_f64(v: __m512d) -> f64 { _mm512_reduce_add_pd(v) }
        fn reduce_max_f64(v: __m512d) -> f64 {
            if _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(v, v) != 0 {
                return f64::NAN;
            }
            _mm512_reduce_max_pd(v)
        }
        fn reduce_min_f64(v: __m512d) -> f64 {
            if _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(v, v) != 0 {
                return f64::NAN;
            }
            _mm512_reduce_min_pd(v)
        }
        fn widen_f32(v: __m512) -> (__m512d, __m512d) {
            let low = _mm512_castps512_ps256(v);
            (_mm512_cvtps_pd(low), _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(v)))
        }
        fn narrow_f64(low: __m512d, high: __m512d) -> __m512 {
            let low = _mm512_castps256_ps512(_mm512_cvtpd_ps(low));
            _mm512_insertf32x8::<1>(low, _mm512_cvtpd_ps(high))
        }

        fn load_f16(src: &[f16]) -> __m512 {
            let src = &src[..16];
            // SAFETY: the line above checked that sixteen f16, 32 bytes, are there.
            _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(src.as_ptr().cast()) })
        }
        fn store_f16(v: __m512, dst: &mut [f16]) {
            let dst = &mut dst[..16];
            let halves = _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(v);
            // SAFETY: the first line checked that sixteen f16, 32 bytes, are there.
            unsafe { _mm256_storeu_si256(dst.as_mut_ptr().cast(), halves) }
        }
        fn load_bf16(src: &[bf16]) -> __m512 {
            let src = &src[..16];
            // SAFETY: the line above checked that sixteen bf16, 32 bytes, are there.
            let halves = unsafe { _mm256_loadu_si256(src.as_ptr().cast()) };
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(halves)))
        }
        // Not vcvtneps2bf16: it is a feature of its own, and it flushes denormals to zero.
        fn store_bf16(v: __m512, dst: &mut [bf16]) {
            let dst = &mut dst[..16];
            let bits = _mm512_castps_si512(v);
            let high = _mm512_srli_epi32::<16>(bits);
            let odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
            let rounding = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
            let rounded = _mm512_srli_epi32::<16>(_mm512_add_epi32(bits, rounding));
            // Rounding could turn NaN into infinity: keep its upper bits and make it quiet.
            let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v);
            let bits = _mm512_mask_or_epi32(rounded, is_nan, high, _mm512_set1_epi32(0x0040));
            let halves = _mm512_cvtepi32_epi16(bits);
            // SAFETY: the first line checked that sixteen bf16, 32 bytes, are there.
            unsafe { _mm256_storeu_si256(dst.as_mut_ptr().cast(), halves) }
        }
    }
}
