//! AVX2 with FMA and F16C: 32 bytes a vector, 8 rows a tile.
//!
//! `vpmaddubsw` multiplies unsigned by signed bytes and adds pairs into i16, saturating. Codes
//! below 64 give at most 2·63·127 = 16,002, so they are exact. Wide codes stay signed: the product
//! of |code| with the activation that carries the code's sign is at most 2·128·127 = 32,512.

use std::arch::x86_64::*;

use super::{RowKernel, RowLanes, Target, TileKernel, TileLanes};

/// Proof that the CPU has AVX2, FMA and F16C.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    /// A target of this set is made only where the CPU has it.
    pub(super) fn assume_present(_: Target) -> Self {
        Self(())
    }

    /// For sets that contain this one.
    pub(super) fn from_avx512(_: super::avx512::Avx512) -> Self {
        Self(())
    }
}

/// Calls an intrinsic of AVX2, FMA or F16C that touches no memory.
macro_rules! avx2 {
    ($name:ident $(::<$constant:literal>)? ($a:expr)) => {{
        let a = $a;
        // SAFETY: a value of Avx2 exists only where the CPU has the features.
        unsafe { $name$(::<$constant>)?(a) }
    }};
    ($name:ident $(::<$constant:literal>)? ($a:expr, $b:expr)) => {{
        let (a, b) = ($a, $b);
        // SAFETY: a value of Avx2 exists only where the CPU has the features.
        unsafe { $name$(::<$constant>)?(a, b) }
    }};
    ($name:ident($a:expr, $b:expr, $c:expr)) => {{
        let (a, b, c) = ($a, $b, $c);
        // SAFETY: a value of Avx2 exists only where the CPU has the features.
        unsafe { $name(a, b, c) }
    }};
}

/// Runs the kernel compiled for AVX2.
pub(super) fn run_row<K: RowKernel>(lanes: Avx2, kernel: K) -> K::Output {
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
    fn inner<K: RowKernel>(lanes: Avx2, kernel: K) -> K::Output {
        kernel.run(lanes)
    }
    // SAFETY: `lanes` exists only where the CPU has the features.
    unsafe { inner(lanes, kernel) }
}

/// Runs the kernel compiled for AVX2.
pub(super) fn run_tile<K: TileKernel>(lanes: Avx2, kernel: K) -> K::Output {
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
    fn inner<K: TileKernel>(lanes: Avx2, kernel: K) -> K::Output {
        kernel.run(lanes)
    }
    // SAFETY: `lanes` exists only where the CPU has the features.
    unsafe { inner(lanes, kernel) }
}

#[inline(always)]
fn load32(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the array has 32 bytes.
    unsafe { bytes.as_ptr().cast::<__m256i>().read_unaligned() }
}

#[inline(always)]
fn load32_signed(bytes: &[i8; 32]) -> __m256i {
    // SAFETY: the array has 32 bytes.
    unsafe { bytes.as_ptr().cast::<__m256i>().read_unaligned() }
}

#[inline(always)]
fn load16(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the array has 16 bytes.
    unsafe { bytes.as_ptr().cast::<__m128i>().read_unaligned() }
}

#[inline(always)]
fn load8f(values: &[f32; 8]) -> __m256 {
    // SAFETY: the array has 32 bytes.
    unsafe { values.as_ptr().cast::<__m256>().read_unaligned() }
}

#[inline(always)]
fn store8f(values: __m256) -> [f32; 8] {
    let mut out = [0.0f32; 8];
    // SAFETY: the array has 32 bytes.
    unsafe { out.as_mut_ptr().cast::<__m256>().write_unaligned(values) };
    out
}

/// The first `LEN` elements as an array.
#[inline(always)]
pub(super) fn head<T, const LEN: usize>(values: &[T]) -> &[T; LEN] {
    values
        .first_chunk()
        .expect("the caller hands a whole vector")
}

/// The first `LEN` elements as an array.
#[inline(always)]
pub(super) fn head_mut<T, const LEN: usize>(values: &mut [T]) -> &mut [T; LEN] {
    values
        .first_chunk_mut()
        .expect("the caller hands a whole vector")
}

impl Avx2 {
    #[inline(always)]
    fn splat_byte(self, byte: u8) -> __m256i {
        avx2!(_mm256_set1_epi8(byte as i8))
    }

    /// Sums of four products, of unsigned codes below 64.
    #[inline(always)]
    fn products(self, codes: __m256i, activations: __m256i) -> __m256i {
        let pairs = avx2!(_mm256_maddubs_epi16(codes, activations));
        avx2!(_mm256_madd_epi16(pairs, avx2!(_mm256_set1_epi16(1))))
    }

    /// Sums of four products, of signed codes.
    #[inline(always)]
    fn products_wide(self, codes: __m256i, activations: __m256i) -> __m256i {
        let magnitudes = avx2!(_mm256_abs_epi8(codes));
        let signed = avx2!(_mm256_sign_epi8(activations, codes));
        self.products(magnitudes, signed)
    }

    #[inline(always)]
    fn shift_right(self, bytes: __m256i, shift: u32) -> __m256i {
        avx2!(_mm256_srl_epi16(
            bytes,
            avx2!(_mm_cvtsi32_si128(shift as i32))
        ))
    }
}

impl RowLanes for Avx2 {
    type Bytes = __m256i;
    type Floats = __m256;
    const WIDE_ZERO: u8 = 0;

    #[inline(always)]
    fn load(self, bytes: &[u8; 32]) -> __m256i {
        load32(bytes)
    }

    #[inline(always)]
    fn store(self, bytes: __m256i) -> [u8; 32] {
        let mut out = [0; 32];
        // SAFETY: the array has 32 bytes.
        unsafe { out.as_mut_ptr().cast::<__m256i>().write_unaligned(bytes) };
        out
    }

    #[inline(always)]
    fn nibbles(self, bytes: &[u8; 16]) -> __m256i {
        let low = load16(bytes);
        let high = avx2!(_mm_srli_epi16::<4>(low));
        let both = avx2!(_mm256_set_m128i(high, low));
        avx2!(_mm256_and_si256(both, self.splat_byte(15)))
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], bytes: &[u8; 16]) -> __m256i {
        let table = avx2!(_mm256_broadcastsi128_si256(load16(table)));
        avx2!(_mm256_shuffle_epi8(table, self.nibbles(bytes)))
    }

    #[inline(always)]
    fn wide(self, codes: &[i8; 32]) -> __m256i {
        load32_signed(codes)
    }

    #[inline(always)]
    fn field(self, bytes: __m256i, shift: u32, mask: u8) -> __m256i {
        let shifted = if shift == 0 {
            bytes
        } else {
            self.shift_right(bytes, shift)
        };
        // Bits of a neighbour's come in only above `8 − shift`.
        avx2!(_mm256_and_si256(
            shifted,
            self.splat_byte(mask & (0xff >> shift))
        ))
    }

    #[inline(always)]
    fn raise(self, bytes: __m256i, shift: u32) -> __m256i {
        avx2!(_mm256_sll_epi16(
            bytes,
            avx2!(_mm_cvtsi32_si128(shift as i32))
        ))
    }

    #[inline(always)]
    fn or(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_or_si256(a, b))
    }

    #[inline(always)]
    fn spread_bits(self, bits: [u8; 4], value: u8) -> __m256i {
        let all = avx2!(_mm256_set1_epi32(i32::from_le_bytes(bits)));
        // Byte j gets the byte of the word that holds bit j, then keeps bit j % 8 only.
        const SOURCE: [u8; 32] = [
            0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, //
            2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3,
        ];
        const SINGLE: [u8; 32] = [
            1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128, //
            1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128,
        ];
        let (source, single) = (load32(&SOURCE), load32(&SINGLE));
        let kept = avx2!(_mm256_and_si256(
            avx2!(_mm256_shuffle_epi8(all, source)),
            single
        ));
        let set = avx2!(_mm256_cmpeq_epi8(kept, single));
        avx2!(_mm256_and_si256(set, self.splat_byte(value)))
    }

    #[inline(always)]
    fn dot(self, codes: __m256i, activations: &[i8; 32]) -> __m256 {
        avx2!(_mm256_cvtepi32_ps(
            self.products(codes, load32_signed(activations))
        ))
    }

    #[inline(always)]
    fn dot_wide(self, codes: __m256i, activations: &[i8; 32]) -> __m256 {
        avx2!(_mm256_cvtepi32_ps(
            self.products_wide(codes, load32_signed(activations))
        ))
    }

    #[inline(always)]
    fn splat(self, value: f32) -> __m256 {
        avx2!(_mm256_set1_ps(value))
    }

    #[inline(always)]
    fn floats(self, values: &[f32; 8]) -> __m256 {
        load8f(values)
    }

    #[inline(always)]
    fn halves(self, bits: [u16; 8]) -> __m256 {
        // SAFETY: the array has 16 bytes.
        let bits = unsafe { bits.as_ptr().cast::<__m128i>().read_unaligned() };
        avx2!(_mm256_cvtph_ps(bits))
    }

    #[inline(always)]
    fn unsigned(self, values: [u8; 8]) -> __m256 {
        let word = avx2!(_mm_cvtsi64_si128(i64::from_le_bytes(values)));
        avx2!(_mm256_cvtepi32_ps(avx2!(_mm256_cvtepu8_epi32(word))))
    }

    #[inline(always)]
    fn signed(self, values: [i8; 8]) -> __m256 {
        let bytes = values.map(|value| value as u8);
        let word = avx2!(_mm_cvtsi64_si128(i64::from_le_bytes(bytes)));
        avx2!(_mm256_cvtepi32_ps(avx2!(_mm256_cvtepi8_epi32(word))))
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        avx2!(_mm256_add_ps(a, b))
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        avx2!(_mm256_mul_ps(a, b))
    }

    #[inline(always)]
    fn fma(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        avx2!(_mm256_fmadd_ps(a, b, c))
    }

    #[inline(always)]
    fn lane(self, values: __m256, at: usize) -> __m256 {
        let index = avx2!(_mm256_set1_epi32(at as i32));
        avx2!(_mm256_permutevar8x32_ps(values, index))
    }

    #[inline(always)]
    fn lane_pair(self, values: __m256, at: usize) -> __m256 {
        let first = avx2!(_mm_set1_epi32(at as i32));
        let second = avx2!(_mm_set1_epi32(at as i32 + 1));
        let index = avx2!(_mm256_set_m128i(second, first));
        avx2!(_mm256_permutevar8x32_ps(values, index))
    }

    #[inline(always)]
    fn twice(self, values: __m256) -> [__m256; 2] {
        // Unpacking works within 128-bit halves: 0 0 1 1 | 4 4 5 5 and 2 2 3 3 | 6 6 7 7.
        let even = avx2!(_mm256_unpacklo_ps(values, values));
        let odd = avx2!(_mm256_unpackhi_ps(values, values));
        [
            avx2!(_mm256_permute2f128_ps::<0x20>(even, odd)),
            avx2!(_mm256_permute2f128_ps::<0x31>(even, odd)),
        ]
    }

    #[inline(always)]
    fn sum(self, values: __m256) -> f32 {
        let [a, b, c, d, e, f, g, h] = store8f(values);
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }
}

impl TileLanes for Avx2 {
    type Bytes = __m256i;
    type Ints = __m256i;
    type Floats = __m256;
    const LANES: usize = 8;
    const WIDE_ZERO: u8 = 0;

    #[inline(always)]
    fn load(self, bytes: &[u8]) -> __m256i {
        load32(head(bytes))
    }

    #[inline(always)]
    fn field(self, bytes: __m256i, shift: u32, mask: u8) -> __m256i {
        RowLanes::field(self, bytes, shift, mask)
    }

    #[inline(always)]
    fn raise(self, bytes: __m256i, shift: u32) -> __m256i {
        RowLanes::raise(self, bytes, shift)
    }

    #[inline(always)]
    fn or(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_or_si256(a, b))
    }

    #[inline(always)]
    fn zero(self) -> __m256i {
        avx2!(_mm256_set1_epi32(0))
    }

    #[inline(always)]
    fn dot(self, sums: __m256i, codes: __m256i, activations: [i8; 4]) -> __m256i {
        let activations = avx2!(_mm256_set1_epi32(quad(activations)));
        avx2!(_mm256_add_epi32(sums, self.products(codes, activations)))
    }

    #[inline(always)]
    fn dot_wide(self, sums: __m256i, codes: __m256i, activations: [i8; 4]) -> __m256i {
        let activations = avx2!(_mm256_set1_epi32(quad(activations)));
        avx2!(_mm256_add_epi32(
            sums,
            self.products_wide(codes, activations)
        ))
    }

    #[inline(always)]
    fn to_floats(self, sums: __m256i) -> __m256 {
        avx2!(_mm256_cvtepi32_ps(sums))
    }

    #[inline(always)]
    fn splat(self, value: f32) -> __m256 {
        avx2!(_mm256_set1_ps(value))
    }

    #[inline(always)]
    fn store_floats(self, values: __m256, out: &mut [f32]) {
        *head_mut(out) = store8f(values);
    }

    #[inline(always)]
    fn halves(self, bytes: &[u8]) -> __m256 {
        avx2!(_mm256_cvtph_ps(load16(head(bytes))))
    }

    #[inline(always)]
    fn unsigned(self, bytes: &[u8], shift: u32, mask: u8) -> __m256 {
        RowLanes::unsigned(self, head::<u8, 8>(bytes).map(|byte| byte >> shift & mask))
    }

    #[inline(always)]
    fn signed(self, bytes: &[u8]) -> __m256 {
        RowLanes::signed(self, head::<u8, 8>(bytes).map(|byte| byte as i8))
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        avx2!(_mm256_mul_ps(a, b))
    }

    #[inline(always)]
    fn fma(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        avx2!(_mm256_fmadd_ps(a, b, c))
    }
}

/// Four bytes as one word, for a broadcast.
#[inline(always)]
pub(super) fn quad(activations: [i8; 4]) -> i32 {
    i32::from_le_bytes(activations.map(|byte| byte as u8))
}
