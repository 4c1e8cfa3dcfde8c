//! AVX-512 with VNNI: 32-byte vectors for rows, two 64-byte vectors and 32 rows for tiles.
//!
//! `vpdpbusd` multiplies unsigned by signed bytes and adds four products to an i32 without
//! saturating, so wide codes are made unsigned by adding 128. A tile is two vectors wide because
//! each broadcast of four activations then serves two multiplications.

use std::arch::x86_64::*;

use super::avx2::{Avx2, head, head_mut, quad};
use super::{RowKernel, RowLanes, Target, TileKernel, TileLanes};

/// Proof that the CPU has AVX-512 F, BW, DQ, VL and VNNI, AVX2, FMA and F16C.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

impl Avx512 {
    /// A target of this set is made only where the CPU has it.
    pub(super) fn assume_present(_: Target) -> Self {
        Self(())
    }

    /// The operations that are the same in AVX2.
    #[inline(always)]
    fn base(self) -> Avx2 {
        Avx2::from_avx512(self)
    }
}

/// Calls an intrinsic of AVX-512 that touches no memory.
macro_rules! avx512 {
    ($name:ident $(::<$constant:literal>)? ($a:expr)) => {{
        let a = $a;
        // SAFETY: a value of Avx512 exists only where the CPU has the features.
        unsafe { $name$(::<$constant>)?(a) }
    }};
    ($name:ident $(::<$constant:literal>)? ($a:expr, $b:expr)) => {{
        let (a, b) = ($a, $b);
        // SAFETY: a value of Avx512 exists only where the CPU has the features.
        unsafe { $name$(::<$constant>)?(a, b) }
    }};
    ($name:ident($a:expr, $b:expr, $c:expr)) => {{
        let (a, b, c) = ($a, $b, $c);
        // SAFETY: a value of Avx512 exists only where the CPU has the features.
        unsafe { $name(a, b, c) }
    }};
}

/// Runs the kernel compiled for AVX-512.
pub(super) fn run_row<K: RowKernel>(lanes: Avx512, kernel: K) -> K::Output {
    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c,bmi1,bmi2"
    )]
    fn inner<K: RowKernel>(lanes: Avx512, kernel: K) -> K::Output {
        kernel.run(lanes)
    }
    // SAFETY: `lanes` exists only where the CPU has the features.
    unsafe { inner(lanes, kernel) }
}

/// Runs the kernel compiled for AVX-512.
pub(super) fn run_tile<K: TileKernel>(lanes: Avx512, kernel: K) -> K::Output {
    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c,bmi1,bmi2"
    )]
    fn inner<K: TileKernel>(lanes: Avx512, kernel: K) -> K::Output {
        kernel.run(lanes)
    }
    // SAFETY: `lanes` exists only where the CPU has the features.
    unsafe { inner(lanes, kernel) }
}

#[inline(always)]
fn load32_signed(bytes: &[i8; 32]) -> __m256i {
    // SAFETY: the array has 32 bytes.
    unsafe { bytes.as_ptr().cast::<__m256i>().read_unaligned() }
}

impl RowLanes for Avx512 {
    type Bytes = __m256i;
    type Floats = __m256;
    const WIDE_ZERO: u8 = 128;

    #[inline(always)]
    fn load(self, bytes: &[u8; 32]) -> __m256i {
        RowLanes::load(self.base(), bytes)
    }

    #[inline(always)]
    fn store(self, bytes: __m256i) -> [u8; 32] {
        RowLanes::store(self.base(), bytes)
    }

    #[inline(always)]
    fn nibbles(self, bytes: &[u8; 16]) -> __m256i {
        self.base().nibbles(bytes)
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], bytes: &[u8; 16]) -> __m256i {
        self.base().look_up(table, bytes)
    }

    #[inline(always)]
    fn wide(self, codes: &[i8; 32]) -> __m256i {
        let flip = avx512!(_mm256_set1_epi8(-128));
        avx512!(_mm256_xor_si256(load32_signed(codes), flip))
    }

    #[inline(always)]
    fn field(self, bytes: __m256i, shift: u32, mask: u8) -> __m256i {
        RowLanes::field(self.base(), bytes, shift, mask)
    }

    #[inline(always)]
    fn raise(self, bytes: __m256i, shift: u32) -> __m256i {
        RowLanes::raise(self.base(), bytes, shift)
    }

    #[inline(always)]
    fn or(self, a: __m256i, b: __m256i) -> __m256i {
        RowLanes::or(self.base(), a, b)
    }

    #[inline(always)]
    fn spread_bits(self, bits: [u8; 4], value: u8) -> __m256i {
        avx512!(_mm256_maskz_set1_epi8(
            u32::from_le_bytes(bits),
            value as i8
        ))
    }

    #[inline(always)]
    fn dot(self, codes: __m256i, activations: &[i8; 32]) -> __m256 {
        let zero = avx512!(_mm256_set1_epi32(0));
        let sums = avx512!(_mm256_dpbusd_epi32(zero, codes, load32_signed(activations)));
        avx512!(_mm256_cvtepi32_ps(sums))
    }

    #[inline(always)]
    fn dot_wide(self, codes: __m256i, activations: &[i8; 32]) -> __m256 {
        RowLanes::dot(self, codes, activations)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> __m256 {
        RowLanes::splat(self.base(), value)
    }

    #[inline(always)]
    fn floats(self, values: &[f32; 8]) -> __m256 {
        RowLanes::floats(self.base(), values)
    }

    #[inline(always)]
    fn halves(self, bits: [u16; 8]) -> __m256 {
        RowLanes::halves(self.base(), bits)
    }

    #[inline(always)]
    fn unsigned(self, values: [u8; 8]) -> __m256 {
        RowLanes::unsigned(self.base(), values)
    }

    #[inline(always)]
    fn signed(self, values: [i8; 8]) -> __m256 {
        RowLanes::signed(self.base(), values)
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        self.base().add(a, b)
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        RowLanes::mul(self.base(), a, b)
    }

    #[inline(always)]
    fn fma(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        RowLanes::fma(self.base(), a, b, c)
    }

    #[inline(always)]
    fn lane(self, values: __m256, at: usize) -> __m256 {
        self.base().lane(values, at)
    }

    #[inline(always)]
    fn lane_pair(self, values: __m256, at: usize) -> __m256 {
        self.base().lane_pair(values, at)
    }

    #[inline(always)]
    fn twice(self, values: __m256) -> [__m256; 2] {
        self.base().twice(values)
    }

    #[inline(always)]
    fn sum(self, values: __m256) -> f32 {
        self.base().sum(values)
    }
}

/// Bytes or sums of 32 rows.
type Pair = [__m512i; 2];

/// Floats of 32 rows.
type FloatPair = [__m512; 2];

impl TileLanes for Avx512 {
    type Bytes = Pair;
    type Ints = Pair;
    type Floats = FloatPair;
    const LANES: usize = 32;
    const WIDE_ZERO: u8 = 128;

    #[inline(always)]
    fn load(self, bytes: &[u8]) -> Pair {
        // SAFETY: the array has as many bytes as the pair.
        unsafe {
            head::<u8, 128>(bytes)
                .as_ptr()
                .cast::<Pair>()
                .read_unaligned()
        }
    }

    #[inline(always)]
    fn field(self, bytes: Pair, shift: u32, mask: u8) -> Pair {
        // Bits of a neighbour's come in only above `8 − shift`.
        let mask = avx512!(_mm512_set1_epi8((mask & (0xff >> shift)) as i8));
        let count = avx512!(_mm_cvtsi32_si128(shift as i32));
        let shifted = if shift == 0 {
            bytes
        } else {
            [
                avx512!(_mm512_srl_epi16(bytes[0], count)),
                avx512!(_mm512_srl_epi16(bytes[1], count)),
            ]
        };
        [
            avx512!(_mm512_and_si512(shifted[0], mask)),
            avx512!(_mm512_and_si512(shifted[1], mask)),
        ]
    }

    #[inline(always)]
    fn raise(self, bytes: Pair, shift: u32) -> Pair {
        let count = avx512!(_mm_cvtsi32_si128(shift as i32));
        [
            avx512!(_mm512_sll_epi16(bytes[0], count)),
            avx512!(_mm512_sll_epi16(bytes[1], count)),
        ]
    }

    #[inline(always)]
    fn or(self, a: Pair, b: Pair) -> Pair {
        [
            avx512!(_mm512_or_si512(a[0], b[0])),
            avx512!(_mm512_or_si512(a[1], b[1])),
        ]
    }

    #[inline(always)]
    fn zero(self) -> Pair {
        [avx512!(_mm512_set1_epi32(0)); 2]
    }

    #[inline(always)]
    fn dot(self, sums: Pair, codes: Pair, activations: [i8; 4]) -> Pair {
        let activations = avx512!(_mm512_set1_epi32(quad(activations)));
        [
            avx512!(_mm512_dpbusd_epi32(sums[0], codes[0], activations)),
            avx512!(_mm512_dpbusd_epi32(sums[1], codes[1], activations)),
        ]
    }

    #[inline(always)]
    fn dot_wide(self, sums: Pair, codes: Pair, activations: [i8; 4]) -> Pair {
        TileLanes::dot(self, sums, codes, activations)
    }

    #[inline(always)]
    fn to_floats(self, sums: Pair) -> FloatPair {
        [
            avx512!(_mm512_cvtepi32_ps(sums[0])),
            avx512!(_mm512_cvtepi32_ps(sums[1])),
        ]
    }

    #[inline(always)]
    fn splat(self, value: f32) -> FloatPair {
        [avx512!(_mm512_set1_ps(value)); 2]
    }

    #[inline(always)]
    fn store_floats(self, values: FloatPair, out: &mut [f32]) {
        let out = head_mut::<f32, 32>(out);
        // SAFETY: the array has as many bytes as the pair.
        unsafe { out.as_mut_ptr().cast::<FloatPair>().write_unaligned(values) }
    }

    #[inline(always)]
    fn halves(self, bytes: &[u8]) -> FloatPair {
        // SAFETY: the array has as many bytes as the pair.
        let pair = unsafe {
            head::<u8, 64>(bytes)
                .as_ptr()
                .cast::<[__m256i; 2]>()
                .read_unaligned()
        };
        [
            avx512!(_mm512_cvtph_ps(pair[0])),
            avx512!(_mm512_cvtph_ps(pair[1])),
        ]
    }

    #[inline(always)]
    fn unsigned(self, bytes: &[u8], shift: u32, mask: u8) -> FloatPair {
        let bytes = RowLanes::field(self, RowLanes::load(self, head(bytes)), shift, mask);
        let low = avx512!(_mm512_cvtepu8_epi32(avx512!(_mm256_castsi256_si128(bytes))));
        let high = avx512!(_mm512_cvtepu8_epi32(avx512!(
            _mm256_extracti128_si256::<1>(bytes)
        )));
        TileLanes::to_floats(self, [low, high])
    }

    #[inline(always)]
    fn signed(self, bytes: &[u8]) -> FloatPair {
        let bytes = RowLanes::load(self, head(bytes));
        let low = avx512!(_mm512_cvtepi8_epi32(avx512!(_mm256_castsi256_si128(bytes))));
        let high = avx512!(_mm512_cvtepi8_epi32(avx512!(
            _mm256_extracti128_si256::<1>(bytes)
        )));
        TileLanes::to_floats(self, [low, high])
    }

    #[inline(always)]
    fn mul(self, a: FloatPair, b: FloatPair) -> FloatPair {
        [
            avx512!(_mm512_mul_ps(a[0], b[0])),
            avx512!(_mm512_mul_ps(a[1], b[1])),
        ]
    }

    #[inline(always)]
    fn fma(self, a: FloatPair, b: FloatPair, c: FloatPair) -> FloatPair {
        [
            avx512!(_mm512_fmadd_ps(a[0], b[0], c[0])),
            avx512!(_mm512_fmadd_ps(a[1], b[1], c[1])),
        ]
    }
}
