//! AVX2 with FMA and F16C: eight f32 lanes, masks as vectors of all-ones or all-zeros lanes.
//!
//! Read `arch/mod.rs` first for what `token_methods!` does.

use std::arch::x86_64::*;

use half::{bf16, f16};

use crate::dispatch;
use crate::level::Level;
use crate::simd::{Sealed, Simd};

/// The token of [`Level::Avx2`]: proves that the CPU has AVX2, FMA, F16C, BMI1 and BMI2.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// The token, if this CPU has the level.
    #[inline]
    pub fn new() -> Option<Self> {
        dispatch::supports(Level::Avx2).then_some(Self(()))
    }
}

/// `LANE_MASKS[8 - n..][..8]` has the sign bit set in the first n lanes.
static LANE_MASKS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
/// The same for 64-bit lanes: `LANE_MASKS_64[4 - n..][..4]`.
static LANE_MASKS_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

/// A mask of the first `count` of eight lanes.
#[target_feature(enable = "avx2")]
#[inline]
fn first_lanes(count: usize) -> __m256i {
    let masks = &LANE_MASKS[8 - count.min(8)..][..8];
    // SAFETY: `masks` holds eight i32.
    unsafe { _mm256_loadu_si256(masks.as_ptr().cast()) }
}

/// A mask of the first `count` of four lanes.
#[target_feature(enable = "avx2")]
#[inline]
fn first_lanes_64(count: usize) -> __m256i {
    let masks = &LANE_MASKS_64[4 - count.min(4)..][..4];
    // SAFETY: `masks` holds four i64.
    unsafe { _mm256_loadu_si256(masks.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn fold_add(v: __m128) -> f32 {
    let v = _mm_add_ps(v, _mm_movehl_ps(v, v));
    _mm_cvtss_f32(_mm_add_ss(v, _mm_movehdup_ps(v)))
}

#[target_feature(enable = "avx2")]
#[inline]
fn halves(v: __m256) -> (__m128, __m128) {
    (_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v))
}

#[target_feature(enable = "avx2")]
#[inline]
fn halves_64(v: __m256d) -> (__m128d, __m128d) {
    (_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v))
}

/// The 16-bit pattern of each lane's nearest bf16, halves to even, in the lower half of the lane.
#[target_feature(enable = "avx2")]
#[inline]
fn bf16_bits(v: __m256) -> __m256i {
    let bits = _mm256_castps_si256(v);
    let high = _mm256_srli_epi32::<16>(bits);
    let odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
    let rounding = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    let rounded = _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, rounding));
    // Rounding could turn NaN into infinity: keep its upper bits and make it quiet.
    let quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x0040));
    let is_nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(v, v));
    _mm256_blendv_epi8(rounded, quiet, is_nan)
}

impl Sealed for Avx2 {}

impl Simd for Avx2 {
    const LEVEL: Level = Level::Avx2;
    const F32_LANES: usize = 8;
    const F64_LANES: usize = 4;
    type F32 = __m256;
    type I32 = __m256i;
    type M32 = __m256;
    type F64 = __m256d;
    type M64 = __m256d;

    #[inline(always)]
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
        #[inline]
        fn inner<R>(f: impl FnOnce() -> R) -> R {
            f()
        }
        // SAFETY: a token is made only after `dispatch::supports` has found these features.
        unsafe { inner(f) }
    }

    token_methods! { "avx2,fma,f16c";
        fn splat_f32(value: f32) -> __m256 { _mm256_set1_ps(value) }
        fn load_f32(src: &[f32]) -> __m256 {
            let src = &src[..8];
            // SAFETY: the line above checked that eight f32 are there.
            unsafe { _mm256_loadu_ps(src.as_ptr()) }
        }
        fn store_f32(v: __m256, dst: &mut [f32]) {
            let dst = &mut dst[..8];
            // SAFETY: the line above checked that eight f32 are there.
            unsafe { _mm256_storeu_ps(dst.as_mut_ptr(), v) }
        }
        fn load_partial_f32(src: &[f32]) -> __m256 {
            let mask = first_lanes(src.len());
            // SAFETY: only the first `src.len()` lanes are read.
            unsafe { _mm256_maskload_ps(src.as_ptr(), mask) }
        }
        fn store_partial_f32(v: __m256, dst: &mut [f32]) {
            let mask = first_lanes(dst.len());
            // SAFETY: only the first `dst.len()` lanes are written.
            unsafe { _mm256_maskstore_ps(dst.as_mut_ptr(), mask, v) }
        }
        fn add_f32(a: __m256, b: __m256) -> __m256 { _mm256_add_ps(a, b) }
        fn sub_f32(a: __m256, b: __m256) -> __m256 { _mm256_sub_ps(a, b) }
        fn mul_f32(a: __m256, b: __m256) -> __m256 { _mm256_mul_ps(a, b) }
        fn div_f32(a: __m256, b: __m256) -> __m256 { _mm256_div_ps(a, b) }
        fn fma_f32(a: __m256, b: __m256, c: __m256) -> __m256 { _mm256_fmadd_ps(a, b, c) }
        // The instruction gives b when either side is NaN: right unless a is the NaN.
        fn min_f32(a: __m256, b: __m256) -> __m256 {
            _mm256_blendv_ps(_mm256_min_ps(a, b), a, _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a))
        }
        fn max_f32(a: __m256, b: __m256) -> __m256 {
            _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a))
        }
        fn neg_f32(v: __m256) -> __m256 { _mm256_xor_ps(v, _mm256_set1_ps(-0.0)) }
        fn abs_f32(v: __m256) -> __m256 { _mm256_andnot_ps(_mm256_set1_ps(-0.0), v) }
        fn sqrt_f32(v: __m256) -> __m256 { _mm256_sqrt_ps(v) }
        fn floor_f32(v: __m256) -> __m256 { _mm256_floor_ps(v) }
        fn ceil_f32(v: __m256) -> __m256 { _mm256_ceil_ps(v) }
        fn trunc_f32(v: __m256) -> __m256 {
            _mm256_round_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(v)
        }
        fn round_even_f32(v: __m256) -> __m256 {
            _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(v)
        }
        fn lt_f32(a: __m256, b: __m256) -> __m256 { _mm256_cmp_ps::<_CMP_LT_OQ>(a, b) }
        fn le_f32(a: __m256, b: __m256) -> __m256 { _mm256_cmp_ps::<_CMP_LE_OQ>(a, b) }
        fn eq_f32(a: __m256, b: __m256) -> __m256 { _mm256_cmp_ps::<_CMP_EQ_OQ>(a, b) }
        fn is_nan_f32(v: __m256) -> __m256 { _mm256_cmp_ps::<_CMP_UNORD_Q>(v, v) }
        fn select_f32(mask: __m256, a: __m256, b: __m256) -> __m256 {
            _mm256_blendv_ps(b, a, mask)
        }
        fn reduce_add_f32(v: __m256) -> f32 {
            let (low, high) = halves(v);
            fold_add(_mm_add_ps(low, high))
        }
        fn reduce_max_f32(v: __m256) -> f32 {
            if _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(v, v)) != 0 {
                return f32::NAN;
            }
            let (low, high) = halves(v);
            let v = _mm_max_ps(low, high);
            let v = _mm_max_ps(v, _mm_movehl_ps(v, v));
            _mm_cvtss_f32(_mm_max_ss(v, _mm_movehdup_ps(v)))
        }
        fn reduce_min_f32(v: __m256) -> f32 {
            if _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(v, v)) != 0 {
                return f32::NAN;
            }
            let (low, high) = halves(v);
            let v = _mm_min_ps(low, high);
            let v = _mm_min_ps(v, _mm_movehl_ps(v, v));
            _mm_cvtss_f32(_mm_min_ss(v, _mm_movehdup_ps(v)))
        }

        fn first_m32(count: usize) -> __m256 { _mm256_castsi256_ps(first_lanes(count)) }
        fn and_m32(a: __m256, b: __m256) -> __m256 { _mm256_and_ps(a, b) }
        fn or_m32(a: __m256, b: __m256) -> __m256 { _mm256_or_ps(a, b) }
        fn not_m32(m: __m256) -> __m256 {
            _mm256_xor_ps(m, _mm256_castsi256_ps(_mm256_set1_epi32(-1)))
        }
        fn any_m32(m: __m256) -> bool { _mm256_movemask_ps(m) != 0 }

        fn to_i32(v: __m256) -> __m256i { _mm256_cvttps_epi32(v) }
        fn from_i32(v: __m256i) -> __m256 { _mm256_cvtepi32_ps(v) }
        fn bits_f32(v: __m256) -> __m256i { _mm256_castps_si256(v) }
        fn from_bits_f32(v: __m256i) -> __m256 { _mm256_castsi256_ps(v) }
        fn splat_i32(value: i32) -> __m256i { _mm256_set1_epi32(value) }
        fn load_i32(src: &[i32]) -> __m256i {
            let src = &src[..8];
            // SAFETY: the line above checked that eight i32 are there.
            unsafe { _mm256_loadu_si256(src.as_ptr().cast()) }
        }
        fn store_i32(v: __m256i, dst: &mut [i32]) {
            let dst = &mut dst[..8];
            // SAFETY: the line above checked that eight i32 are there.
            unsafe { _mm256_storeu_si256(dst.as_mut_ptr().cast(), v) }
        }
        fn add_i32(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi32(a, b) }
        fn sub_i32(a: __m256i, b: __m256i) -> __m256i { _mm256_sub_epi32(a, b) }
        fn and_i32(a: __m256i, b: __m256i) -> __m256i { _mm256_and_si256(a, b) }
        fn or_i32(a: __m256i, b: __m256i) -> __m256i { _mm256_or_si256(a, b) }
        fn xor_i32(a: __m256i, b: __m256i) -> __m256i { _mm256_xor_si256(a, b) }
        fn shl_i32(v: __m256i, count: u32) -> __m256i {
            _mm256_sllv_epi32(v, _mm256_set1_epi32(count.cast_signed()))
        }
        fn shr_arithmetic_i32(v: __m256i, count: u32) -> __m256i {
            _mm256_srav_epi32(v, _mm256_set1_epi32(count.cast_signed()))
        }
        fn shr_logical_i32(v: __m256i, count: u32) -> __m256i {
            _mm256_srlv_epi32(v, _mm256_set1_epi32(count.cast_signed()))
        }
        fn eq_i32(a: __m256i, b: __m256i) -> __m256 {
            _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b))
        }
        fn gt_i32(a: __m256i, b: __m256i) -> __m256 {
            _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b))
        }
        fn select_i32(mask: __m256, a: __m256i, b: __m256i) -> __m256i {
            _mm256_blendv_epi8(b, a, _mm256_castps_si256(mask))
        }

        fn splat_f64(value: f64) -> __m256d { _mm256_set1_pd(value) }
        fn load_f64(src: &[f64]) -> __m256d {
            let src = &src[..4];
            // SAFETY: the line above checked that four f64 are there.
            unsafe { _mm256_loadu_pd(src.as_ptr()) }
        }
        fn store_f64(v: __m256d, dst: &mut [f64]) {
            let dst = &mut dst[..4];
            // SAFETY: the line above checked that four f64 are there.
            unsafe { _mm256_storeu_pd(dst.as_mut_ptr(), v) }
        }
        fn load_partial_f64(src: &[f64]) -> __m256d {
            let mask = first_lanes_64(src.len());
            // SAFETY: only the first `src.len()` lanes are read.
            unsafe { _mm256_maskload_pd(src.as_ptr(), mask) }
        }
        fn store_partial_f64(v: __m256d, dst: &mut [f64]) {
            let mask = first_lanes_64(dst.len());
            // SAFETY: only the first `dst.len()` lanes are written.
            unsafe { _mm256_maskstore_pd(dst.as_mut_ptr(), mask, v) }
        }
        fn add_f64(a: __m256d, b: __m256d) -> __m256d { _mm256_add_pd(a, b) }
        fn sub_f64(a: __m256d, b: __m256d) -> __m256d { _mm256_sub_pd(a, b) }
        fn mul_f64(a: __m256d, b: __m256d) -> __m256d { _mm256_mul_pd(a, b) }
        fn div_f64(a: __m256d, b: __m256d) -> __m256d { _mm256_div_pd(a, b) }
        fn fma_f64(a: __m256d, b: __m256d, c: __m256d) -> __m256d { _mm256_fmadd_pd(a, b, c) }
        fn min_f64(a: __m256d, b: __m256d) -> __m256d {
            _mm256_blendv_pd(_mm256_min_pd(a, b), a, _mm256_cmp_pd::<_CMP_UNORD_Q>(a, a))
        }
        fn max_f64(a: __m256d, b: __m256d) -> __m256d {
            _mm256_blendv_pd(_mm256_max_pd(a, b), a, _mm256_cmp_pd::<_CMP_UNORD_Q>(a, a))
        }
        fn neg_f64(v: __m256d) -> __m256d { _mm256_xor_pd(v, _mm256_set1_pd(-0.0)) }
        fn abs_f64(v: __m256d) -> __m256d { _mm256_andnot_pd(_mm256_set1_pd(-0.0), v) }
        fn sqrt_f64(v: __m256d) -> __m256d { _mm256_sqrt_pd(v) }
        fn lt_f64(a: __m256d, b: __m256d) -> __m256d { _mm256_cmp_pd::<_CMP_LT_OQ>(a, b) }
        fn le_f64(a: __m256d, b: __m256d) -> __m256d { _mm256_cmp_pd::<_CMP_LE_OQ>(a, b) }
        fn eq_f64(a: __m256d, b: __m256d) -> __m256d { _mm256_cmp_pd::<_CMP_EQ_OQ>(a, b) }
        fn is_nan_f64(v: __m256d) -> __m256d { _mm256_cmp_pd::<_CMP_UNORD_Q>(v, v) }
        fn select_f64(mask: __m256d, a: __m256d, b: __m256d) -> __m256d {
            _mm256_blendv_pd(b, a, mask)
        }
        fn reduce_add_f64(v: __m256d) -> f64 {
            let (low, high) = halves_64(v);
            let v = _mm_add_pd(low, high);
            _mm_cvtsd_f64(_mm_add_sd(v, _mm_unpackhi_pd(v, v)))
        }
        fn reduce_max_f64(v: __m256d) -> f64 {
            if _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_UNORD_Q>(v, v)) != 0 {
                return f64::NAN;
            }
            let (low, high) = halves_64(v);
            let v = _mm_max_pd(low, high);
            _mm_cvtsd_f64(_mm_max_sd(v, _mm_unpackhi_pd(v, v)))
        }
        fn reduce_min_f64(v: __m256d) -> f64 {
            if _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_UNORD_Q>(v, v)) != 0 {
                return f64::NAN;
            }
            let (low, high) = halves_64(v);
            let v = _mm_min_pd(low, high);
            _mm_cvtsd_f64(_mm_min_sd(v, _mm_unpackhi_pd(v, v)))
        }
        fn widen_f32(v: __m256) -> (__m256d, __m256d) {
            let (low, high) = halves(v);
            (_mm256_cvtps_pd(low), _mm256_cvtps_pd(high))
        }
        fn narrow_f64(low: __m256d, high: __m256d) -> __m256 {
            _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))
        }

        fn load_f16(src: &[f16]) -> __m256 {
            let src = &src[..8];
            // SAFETY: the line above checked that eight f16, 16 bytes, are there.
            _mm256_cvtph_ps(unsafe { _mm_loadu_si128(src.as_ptr().cast()) })
        }
        fn store_f16(v: __m256, dst: &mut [f16]) {
            let dst = &mut dst[..8];
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v);
            // SAFETY: the line above the last checked that eight f16, 16 bytes, are there.
            unsafe { _mm_storeu_si128(dst.as_mut_ptr().cast(), halves) }
        }
        fn load_bf16(src: &[bf16]) -> __m256 {
            let src = &src[..8];
            // SAFETY: the line above checked that eight bf16, 16 bytes, are there.
            let halves = unsafe { _mm_loadu_si128(src.as_ptr().cast()) };
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves)))
        }
        fn store_bf16(v: __m256, dst: &mut [bf16]) {
            let dst = &mut dst[..8];
            let bits = bf16_bits(v);
            let low = _mm256_castsi256_si128(bits);
            let halves = _mm_packus_epi32(low, _mm256_extracti128_si256::<1>(bits));
            // SAFETY: the first line checked that eight bf16, 16 bytes, are there.
            unsafe { _mm_storeu_si128(dst.as_mut_ptr().cast(), halves) }
        }
    }
}
