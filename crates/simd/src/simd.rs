//! The trait that kernels are generic over: one set of vector operations, one impl per level.
//!
//! An implementor is a capability token: a zero-sized value that can be made only when the CPU has
//! the level's instructions, so that every method is safe. Vectors have a width fixed by the
//! level: `F32_LANES` lanes of f32 or i32, half as many of f64.
//!
//! Deliberately not here: integer dot products and matrix tiles (gemm and quant own those
//! kernels), and anything about tensors. Read next: `math/`, kernels written over this trait.

use half::{bf16, f16};

use crate::level::Level;

/// The widest `F32_LANES` of any level: a buffer of that many elements holds any vector.
pub const MAX_F32_LANES: usize = 16;

/// Keeps the tokens a closed set: a foreign one could claim a level that the CPU lacks.
pub trait Sealed {}

/// Vector operations of one instruction set.
///
/// An implementor is a capability token: `S::LEVEL` can be relied on by unsafe code, so only this
/// crate implements the trait. Rules that hold at every level:
/// * `load_*` and `store_*` take at least a full vector and panic on less; `*_partial_*` take any
///   length and use at most a full vector of it, lanes beyond it load as zero;
/// * `min` and `max` are NaN when either side is NaN; of -0 and +0 either may come;
/// * comparisons with NaN are false;
/// * arithmetic rounds to nearest even; `fma` rounds once where the level has the instruction and
///   twice at [`Level::Scalar`] on a CPU without it, so algorithms must not need the single one;
/// * `reduce_*` combine lanes in an order fixed by the level, the same for every input.
#[allow(clippy::wrong_self_convention)] // `from_*` take the token, not the value, as self
pub trait Simd: Sealed + Copy + Send + Sync + 'static {
    /// The level that this token proves.
    const LEVEL: Level;
    /// Lanes of `F32`, `I32` and `M32`.
    const F32_LANES: usize;
    /// Lanes of `F64` and `M64`: half of `F32_LANES`.
    const F64_LANES: usize;
    /// A vector of f32.
    type F32: Copy;
    /// A vector of i32, as many lanes as `F32`.
    type I32: Copy;
    /// A truth value per lane of `F32` or `I32`.
    type M32: Copy;
    /// A vector of f64.
    type F64: Copy;
    /// A truth value per lane of `F64`.
    type M64: Copy;

    /// Runs `f` compiled with the level's features, so that plain loops in it auto-vectorise.
    ///
    /// This reaches only code that is inlined: write `#[inline(always)]` on the closure and on
    /// what it calls. [`crate::dispatch`] has done it already for a kernel's `run`.
    fn vectorize<R>(self, f: impl FnOnce() -> R) -> R;

    /// All lanes `value`.
    fn splat_f32(self, value: f32) -> Self::F32;
    /// The first `F32_LANES` elements. Panics if there are fewer.
    fn load_f32(self, src: &[f32]) -> Self::F32;
    /// Writes all lanes to the first `F32_LANES` elements. Panics if there are fewer.
    fn store_f32(self, v: Self::F32, dst: &mut [f32]);
    /// As many elements as there are, at most `F32_LANES`; the other lanes are 0.
    fn load_partial_f32(self, src: &[f32]) -> Self::F32;
    /// Writes the first `dst.len()` lanes, at most `F32_LANES`.
    fn store_partial_f32(self, v: Self::F32, dst: &mut [f32]);
    /// As `load_partial_f32`, with `fill` in the lanes beyond the slice.
    #[inline(always)]
    fn load_partial_or_f32(self, src: &[f32], fill: f32) -> Self::F32 {
        let present = self.first_m32(src.len());
        self.select_f32(present, self.load_partial_f32(src), self.splat_f32(fill))
    }
    /// a + b
    fn add_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a - b
    fn sub_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a · b
    fn mul_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a / b
    fn div_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// a · b + c
    fn fma_f32(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// The smaller; NaN if either is NaN.
    fn min_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The larger; NaN if either is NaN.
    fn max_f32(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// -v: the sign bit flipped, NaN included.
    fn neg_f32(self, v: Self::F32) -> Self::F32;
    /// |v|: the sign bit cleared, NaN included.
    fn abs_f32(self, v: Self::F32) -> Self::F32;
    /// The magnitude of `magnitude` with the sign bit of `sign`.
    #[inline(always)]
    fn copysign_f32(self, magnitude: Self::F32, sign: Self::F32) -> Self::F32 {
        let sign_bit = self.splat_i32(i32::MIN);
        let sign = self.and_i32(self.bits_f32(sign), sign_bit);
        self.from_bits_f32(self.or_i32(self.bits_f32(self.abs_f32(magnitude)), sign))
    }
    /// Correctly rounded square root; NaN below zero.
    fn sqrt_f32(self, v: Self::F32) -> Self::F32;
    /// Rounds down.
    fn floor_f32(self, v: Self::F32) -> Self::F32;
    /// Rounds up.
    fn ceil_f32(self, v: Self::F32) -> Self::F32;
    /// Rounds towards zero.
    fn trunc_f32(self, v: Self::F32) -> Self::F32;
    /// Rounds to nearest, halves to even.
    fn round_even_f32(self, v: Self::F32) -> Self::F32;
    /// v · 2^exponent, rounded once also when the result is denormal.
    ///
    /// `exponent` holds whole numbers of at most 250 in magnitude. Exact for |v| in [2^-1, 2].
    #[inline(always)]
    fn scale_by_pow2_f32(self, v: Self::F32, exponent: Self::F32) -> Self::F32 {
        // Two steps, so that each factor is a normal number: 2^(e >> 1) and 2^(e - (e >> 1)).
        let exponent = self.to_i32(exponent);
        let half = self.shr_arithmetic_i32(exponent, 1);
        let rest = self.sub_i32(exponent, half);
        let bias = self.splat_i32(127);
        let first = self.shl_i32(self.add_i32(half, bias), 23);
        let second = self.shl_i32(self.add_i32(rest, bias), 23);
        let scaled = self.mul_f32(v, self.from_bits_f32(first));
        self.mul_f32(scaled, self.from_bits_f32(second))
    }
    /// a < b
    fn lt_f32(self, a: Self::F32, b: Self::F32) -> Self::M32;
    /// a ≤ b
    fn le_f32(self, a: Self::F32, b: Self::F32) -> Self::M32;
    /// a = b
    fn eq_f32(self, a: Self::F32, b: Self::F32) -> Self::M32;
    /// Whether the lane is NaN.
    fn is_nan_f32(self, v: Self::F32) -> Self::M32;
    /// `a` where the mask is true, else `b`.
    fn select_f32(self, mask: Self::M32, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The sum of all lanes, pairwise.
    fn reduce_add_f32(self, v: Self::F32) -> f32;
    /// The largest lane; NaN if any is NaN.
    fn reduce_max_f32(self, v: Self::F32) -> f32;
    /// The smallest lane; NaN if any is NaN.
    fn reduce_min_f32(self, v: Self::F32) -> f32;

    /// The first `count` lanes true.
    fn first_m32(self, count: usize) -> Self::M32;
    /// a ∧ b
    fn and_m32(self, a: Self::M32, b: Self::M32) -> Self::M32;
    /// a ∨ b
    fn or_m32(self, a: Self::M32, b: Self::M32) -> Self::M32;
    /// ¬m
    fn not_m32(self, m: Self::M32) -> Self::M32;
    /// Whether any lane is true.
    fn any_m32(self, m: Self::M32) -> bool;

    /// Rounds towards zero. Lanes that are NaN or beyond i32 give an unspecified number.
    fn to_i32(self, v: Self::F32) -> Self::I32;
    /// To the nearest f32.
    fn from_i32(self, v: Self::I32) -> Self::F32;
    /// The bits as integers.
    fn bits_f32(self, v: Self::F32) -> Self::I32;
    /// The floats with these bits.
    fn from_bits_f32(self, v: Self::I32) -> Self::F32;
    /// All lanes `value`.
    fn splat_i32(self, value: i32) -> Self::I32;
    /// The first `F32_LANES` elements. Panics if there are fewer.
    fn load_i32(self, src: &[i32]) -> Self::I32;
    /// Writes all lanes to the first `F32_LANES` elements. Panics if there are fewer.
    fn store_i32(self, v: Self::I32, dst: &mut [i32]);
    /// a + b, wrapping.
    fn add_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// a - b, wrapping.
    fn sub_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// Bitwise a ∧ b.
    fn and_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// Bitwise a ∨ b.
    fn or_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// Bitwise exclusive or.
    fn xor_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// Shifts left; 0 for a count of 32 or more.
    fn shl_i32(self, v: Self::I32, count: u32) -> Self::I32;
    /// Shifts right and keeps the sign; all sign bits for a count of 32 or more.
    fn shr_arithmetic_i32(self, v: Self::I32, count: u32) -> Self::I32;
    /// Shifts right and fills with zeros; 0 for a count of 32 or more.
    fn shr_logical_i32(self, v: Self::I32, count: u32) -> Self::I32;
    /// a = b
    fn eq_i32(self, a: Self::I32, b: Self::I32) -> Self::M32;
    /// a > b, signed
    fn gt_i32(self, a: Self::I32, b: Self::I32) -> Self::M32;
    /// `a` where the mask is true, else `b`.
    fn select_i32(self, mask: Self::M32, a: Self::I32, b: Self::I32) -> Self::I32;

    /// All lanes `value`.
    fn splat_f64(self, value: f64) -> Self::F64;
    /// The first `F64_LANES` elements. Panics if there are fewer.
    fn load_f64(self, src: &[f64]) -> Self::F64;
    /// Writes all lanes to the first `F64_LANES` elements. Panics if there are fewer.
    fn store_f64(self, v: Self::F64, dst: &mut [f64]);
    /// As many elements as there are, at most `F64_LANES`; the other lanes are 0.
    fn load_partial_f64(self, src: &[f64]) -> Self::F64;
    /// Writes the first `dst.len()` lanes, at most `F64_LANES`.
    fn store_partial_f64(self, v: Self::F64, dst: &mut [f64]);
    /// As `load_partial_f64`, with `fill` in the lanes beyond the slice.
    #[inline(always)]
    fn load_partial_or_f64(self, src: &[f64], fill: f64) -> Self::F64 {
        let mut buffer = [fill; MAX_F32_LANES / 2];
        let count = src.len().min(Self::F64_LANES);
        buffer[..count].copy_from_slice(&src[..count]);
        self.load_f64(&buffer)
    }
    /// a + b
    fn add_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// a - b
    fn sub_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// a · b
    fn mul_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// a / b
    fn div_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// a · b + c
    fn fma_f64(self, a: Self::F64, b: Self::F64, c: Self::F64) -> Self::F64;
    /// The smaller; NaN if either is NaN.
    fn min_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// The larger; NaN if either is NaN.
    fn max_f64(self, a: Self::F64, b: Self::F64) -> Self::F64;
    /// -v: the sign bit flipped, NaN included.
    fn neg_f64(self, v: Self::F64) -> Self::F64;
    /// |v|: the sign bit cleared, NaN included.
    fn abs_f64(self, v: Self::F64) -> Self::F64;
    /// Correctly rounded square root; NaN below zero.
    fn sqrt_f64(self, v: Self::F64) -> Self::F64;
    /// a < b
    fn lt_f64(self, a: Self::F64, b: Self::F64) -> Self::M64;
    /// a ≤ b
    fn le_f64(self, a: Self::F64, b: Self::F64) -> Self::M64;
    /// a = b
    fn eq_f64(self, a: Self::F64, b: Self::F64) -> Self::M64;
    /// Whether the lane is NaN.
    fn is_nan_f64(self, v: Self::F64) -> Self::M64;
    /// `a` where the mask is true, else `b`.
    fn select_f64(self, mask: Self::M64, a: Self::F64, b: Self::F64) -> Self::F64;
    /// The sum of all lanes, pairwise.
    fn reduce_add_f64(self, v: Self::F64) -> f64;
    /// The largest lane; NaN if any is NaN.
    fn reduce_max_f64(self, v: Self::F64) -> f64;
    /// The smallest lane; NaN if any is NaN.
    fn reduce_min_f64(self, v: Self::F64) -> f64;
    /// The lower and the upper half of the lanes as f64, exactly.
    fn widen_f32(self, v: Self::F32) -> (Self::F64, Self::F64);
    /// Rounds to the nearest f32; `low` becomes the lower half of the lanes.
    fn narrow_f64(self, low: Self::F64, high: Self::F64) -> Self::F32;

    /// The first `F32_LANES` elements, widened exactly. Panics if there are fewer.
    fn load_f16(self, src: &[f16]) -> Self::F32;
    /// Rounds to nearest even and writes `F32_LANES` elements. Panics if there are fewer.
    fn store_f16(self, v: Self::F32, dst: &mut [f16]);
    /// As many elements as there are, at most `F32_LANES`; the other lanes are 0.
    #[inline(always)]
    fn load_partial_f16(self, src: &[f16]) -> Self::F32 {
        let mut buffer = [f16::ZERO; MAX_F32_LANES];
        let count = src.len().min(Self::F32_LANES);
        buffer[..count].copy_from_slice(&src[..count]);
        self.load_f16(&buffer)
    }
    /// Rounds to nearest even and writes the first `dst.len()` lanes, at most `F32_LANES`.
    #[inline(always)]
    fn store_partial_f16(self, v: Self::F32, dst: &mut [f16]) {
        let mut buffer = [f16::ZERO; MAX_F32_LANES];
        self.store_f16(v, &mut buffer);
        let count = dst.len().min(Self::F32_LANES);
        dst[..count].copy_from_slice(&buffer[..count]);
    }
    /// The first `F32_LANES` elements, widened exactly. Panics if there are fewer.
    fn load_bf16(self, src: &[bf16]) -> Self::F32;
    /// Rounds to nearest even and writes `F32_LANES` elements. Panics if there are fewer.
    fn store_bf16(self, v: Self::F32, dst: &mut [bf16]);
    /// As many elements as there are, at most `F32_LANES`; the other lanes are 0.
    #[inline(always)]
    fn load_partial_bf16(self, src: &[bf16]) -> Self::F32 {
        let mut buffer = [bf16::ZERO; MAX_F32_LANES];
        let count = src.len().min(Self::F32_LANES);
        buffer[..count].copy_from_slice(&src[..count]);
        self.load_bf16(&buffer)
    }
    /// Rounds to nearest even and writes the first `dst.len()` lanes, at most `F32_LANES`.
    #[inline(always)]
    fn store_partial_bf16(self, v: Self::F32, dst: &mut [bf16]) {
        let mut buffer = [bf16::ZERO; MAX_F32_LANES];
        self.store_bf16(v, &mut buffer);
        let count = dst.len().min(Self::F32_LANES);
        dst[..count].copy_from_slice(&buffer[..count]);
    }
}
