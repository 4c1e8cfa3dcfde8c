//! NEON, with and without the dot-product instruction; 8 rows a tile.
//!
//! `sdot` multiplies signed bytes and adds four products to an i32; codes below 64 are signed bytes
//! as they are, and wide codes stay signed. It is written as assembler because its intrinsic
//! is not stable. Without it, products go through i16: 127·128 and the sum of two in i32.

use std::arch::aarch64::*;
use std::arch::asm;

use super::{RowLanes, Target, TileLanes};

/// Proof that the CPU has NEON, and `sdot` where `DOT` is true.
#[derive(Clone, Copy)]
pub(super) struct Neon<const DOT: bool>(());

impl<const DOT: bool> Neon<DOT> {
    /// A target of this set is made only where the CPU has it.
    pub(super) fn assume_present(_: Target) -> Self {
        Self(())
    }
}

/// Calls an intrinsic of NEON that touches no memory.
macro_rules! neon {
    ($name:ident $(::<$constant:literal>)? ($a:expr)) => {{
        let a = $a;
        // SAFETY: every aarch64 target of this project has NEON in its baseline.
        unsafe { $name$(::<$constant>)?(a) }
    }};
    ($name:ident $(::<$constant:literal>)? ($a:expr, $b:expr)) => {{
        let (a, b) = ($a, $b);
        // SAFETY: every aarch64 target of this project has NEON in its baseline.
        unsafe { $name$(::<$constant>)?(a, b) }
    }};
    ($name:ident($a:expr, $b:expr, $c:expr)) => {{
        let (a, b, c) = ($a, $b, $c);
        // SAFETY: every aarch64 target of this project has NEON in its baseline.
        unsafe { $name(a, b, c) }
    }};
}

/// 32 bytes.
type Bytes = [uint8x16_t; 2];
/// 8 `i32`.
type Ints = [int32x4_t; 2];
/// 8 `f32`.
type Floats = [float32x4_t; 2];

#[inline(always)]
fn load16(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: the array has 16 bytes.
    unsafe { bytes.as_ptr().cast::<uint8x16_t>().read_unaligned() }
}

#[inline(always)]
fn load32(bytes: &[u8; 32]) -> Bytes {
    // SAFETY: the array has as many bytes as the pair.
    unsafe { bytes.as_ptr().cast::<Bytes>().read_unaligned() }
}

#[inline(always)]
fn load8f(values: &[f32; 8]) -> Floats {
    // SAFETY: the array has as many bytes as the pair.
    unsafe { values.as_ptr().cast::<Floats>().read_unaligned() }
}

#[inline(always)]
fn head<T, const LEN: usize>(values: &[T]) -> &[T; LEN] {
    values
        .first_chunk()
        .expect("the caller hands a whole vector")
}

/// Floats of halves, by their bits.
#[inline(always)]
fn widen_halves(bits: [u16; 4]) -> float32x4_t {
    let bits = u64::from(bits[0])
        | u64::from(bits[1]) << 16
        | u64::from(bits[2]) << 32
        | u64::from(bits[3]) << 48;
    let bits = neon!(vcreate_u16(bits));
    let floats: float32x4_t;
    // SAFETY: the instruction is in the baseline and touches only the two registers.
    unsafe {
        asm!("fcvtl {out:v}.4s, {bits:v}.4h", out = lateout(vreg) floats, bits = in(vreg) bits,
             options(pure, nomem, nostack, preserves_flags));
    }
    floats
}

impl<const DOT: bool> Neon<DOT> {
    #[inline(always)]
    fn array(self, values: Floats) -> [f32; 8] {
        let mut out = [0.0; 8];
        // SAFETY: the array has as many bytes as the pair.
        unsafe { out.as_mut_ptr().cast::<Floats>().write_unaligned(values) };
        out
    }

    /// `sums` plus products of signed bytes, four to a lane.
    #[inline(always)]
    fn products(self, sums: int32x4_t, codes: uint8x16_t, activations: int8x16_t) -> int32x4_t {
        let codes = neon!(vreinterpretq_s8_u8(codes));
        if DOT {
            let mut sums = sums;
            // SAFETY: `DOT` is true only where the CPU has the instruction; registers only.
            unsafe {
                asm!(".arch_extension dotprod", "sdot {sums:v}.4s, {codes:v}.16b, {acts:v}.16b",
                     sums = inout(vreg) sums, codes = in(vreg) codes, acts = in(vreg) activations,
                     options(pure, nomem, nostack, preserves_flags));
            }
            return sums;
        }
        let low = neon!(vmull_s8(
            neon!(vget_low_s8(codes)),
            neon!(vget_low_s8(activations))
        ));
        let high = neon!(vmull_high_s8(codes, activations));
        let pairs = neon!(vpaddq_s32(
            neon!(vpaddlq_s16(low)),
            neon!(vpaddlq_s16(high))
        ));
        neon!(vaddq_s32(sums, pairs))
    }

    #[inline(always)]
    fn shift_right(self, bytes: uint8x16_t, shift: u32) -> uint8x16_t {
        neon!(vshlq_u8(bytes, neon!(vdupq_n_s8(-(shift as i8)))))
    }

    #[inline(always)]
    fn row_dot(self, codes: Bytes, activations: &[i8; 32]) -> Floats {
        // SAFETY: the array has as many bytes as the pair.
        let activations = unsafe {
            activations
                .as_ptr()
                .cast::<[int8x16_t; 2]>()
                .read_unaligned()
        };
        let zero = neon!(vdupq_n_s32(0));
        TileLanes::to_floats(
            self,
            [
                self.products(zero, codes[0], activations[0]),
                self.products(zero, codes[1], activations[1]),
            ],
        )
    }
}

impl<const DOT: bool> RowLanes for Neon<DOT> {
    type Bytes = Bytes;
    type Floats = Floats;
    const WIDE_ZERO: u8 = 0;

    #[inline(always)]
    fn load(self, bytes: &[u8; 32]) -> Bytes {
        load32(bytes)
    }

    #[inline(always)]
    fn store(self, bytes: Bytes) -> [u8; 32] {
        let mut out = [0; 32];
        // SAFETY: the array has as many bytes as the pair.
        unsafe { out.as_mut_ptr().cast::<Bytes>().write_unaligned(bytes) };
        out
    }

    #[inline(always)]
    fn nibbles(self, bytes: &[u8; 16]) -> Bytes {
        let bytes = load16(bytes);
        [
            neon!(vandq_u8(bytes, neon!(vdupq_n_u8(15)))),
            neon!(vshrq_n_u8::<4>(bytes)),
        ]
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], bytes: &[u8; 16]) -> Bytes {
        let table = load16(table);
        let [low, high] = self.nibbles(bytes);
        [
            neon!(vqtbl1q_u8(table, low)),
            neon!(vqtbl1q_u8(table, high)),
        ]
    }

    #[inline(always)]
    fn wide(self, codes: &[i8; 32]) -> Bytes {
        // SAFETY: the array has as many bytes as the pair.
        unsafe { codes.as_ptr().cast::<Bytes>().read_unaligned() }
    }

    #[inline(always)]
    fn field(self, bytes: Bytes, shift: u32, mask: u8) -> Bytes {
        let mask = neon!(vdupq_n_u8(mask));
        [
            neon!(vandq_u8(self.shift_right(bytes[0], shift), mask)),
            neon!(vandq_u8(self.shift_right(bytes[1], shift), mask)),
        ]
    }

    #[inline(always)]
    fn raise(self, bytes: Bytes, shift: u32) -> Bytes {
        let shift = neon!(vdupq_n_s8(shift as i8));
        [
            neon!(vshlq_u8(bytes[0], shift)),
            neon!(vshlq_u8(bytes[1], shift)),
        ]
    }

    #[inline(always)]
    fn or(self, a: Bytes, b: Bytes) -> Bytes {
        [neon!(vorrq_u8(a[0], b[0])), neon!(vorrq_u8(a[1], b[1]))]
    }

    #[inline(always)]
    fn spread_bits(self, bits: [u8; 4], value: u8) -> Bytes {
        const SINGLE: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        let single = load16(&SINGLE);
        let value = neon!(vdupq_n_u8(value));
        let spread = |low: u8, high: u8| {
            let bytes = neon!(vcombine_u8(neon!(vdup_n_u8(low)), neon!(vdup_n_u8(high))));
            neon!(vandq_u8(neon!(vtstq_u8(bytes, single)), value))
        };
        [spread(bits[0], bits[1]), spread(bits[2], bits[3])]
    }

    #[inline(always)]
    fn dot(self, codes: Bytes, activations: &[i8; 32]) -> Floats {
        self.row_dot(codes, activations)
    }

    #[inline(always)]
    fn dot_wide(self, codes: Bytes, activations: &[i8; 32]) -> Floats {
        self.row_dot(codes, activations)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Floats {
        [neon!(vdupq_n_f32(value)); 2]
    }

    #[inline(always)]
    fn floats(self, values: &[f32; 8]) -> Floats {
        load8f(values)
    }

    #[inline(always)]
    fn halves(self, bits: [u16; 8]) -> Floats {
        let [a, b, c, d, e, f, g, h] = bits;
        [widen_halves([a, b, c, d]), widen_halves([e, f, g, h])]
    }

    #[inline(always)]
    fn unsigned(self, values: [u8; 8]) -> Floats {
        let shorts = neon!(vmovl_u8(neon!(vcreate_u8(u64::from_le_bytes(values)))));
        [
            neon!(vcvtq_f32_u32(neon!(vmovl_u16(neon!(vget_low_u16(shorts)))))),
            neon!(vcvtq_f32_u32(neon!(vmovl_high_u16(shorts)))),
        ]
    }

    #[inline(always)]
    fn signed(self, values: [i8; 8]) -> Floats {
        let bits = u64::from_le_bytes(values.map(|value| value as u8));
        let shorts = neon!(vmovl_s8(neon!(vcreate_s8(bits))));
        [
            neon!(vcvtq_f32_s32(neon!(vmovl_s16(neon!(vget_low_s16(shorts)))))),
            neon!(vcvtq_f32_s32(neon!(vmovl_high_s16(shorts)))),
        ]
    }

    #[inline(always)]
    fn add(self, a: Floats, b: Floats) -> Floats {
        [neon!(vaddq_f32(a[0], b[0])), neon!(vaddq_f32(a[1], b[1]))]
    }

    #[inline(always)]
    fn mul(self, a: Floats, b: Floats) -> Floats {
        [neon!(vmulq_f32(a[0], b[0])), neon!(vmulq_f32(a[1], b[1]))]
    }

    #[inline(always)]
    fn fma(self, a: Floats, b: Floats, c: Floats) -> Floats {
        [
            neon!(vfmaq_f32(c[0], a[0], b[0])),
            neon!(vfmaq_f32(c[1], a[1], b[1])),
        ]
    }

    #[inline(always)]
    fn lane(self, values: Floats, at: usize) -> Floats {
        RowLanes::splat(self, self.array(values)[at])
    }

    #[inline(always)]
    fn lane_pair(self, values: Floats, at: usize) -> Floats {
        let values = self.array(values);
        [
            neon!(vdupq_n_f32(values[at])),
            neon!(vdupq_n_f32(values[at + 1])),
        ]
    }

    #[inline(always)]
    fn twice(self, values: Floats) -> [Floats; 2] {
        [
            [
                neon!(vzip1q_f32(values[0], values[0])),
                neon!(vzip2q_f32(values[0], values[0])),
            ],
            [
                neon!(vzip1q_f32(values[1], values[1])),
                neon!(vzip2q_f32(values[1], values[1])),
            ],
        ]
    }

    #[inline(always)]
    fn sum(self, values: Floats) -> f32 {
        neon!(vaddvq_f32(neon!(vaddq_f32(values[0], values[1]))))
    }
}

impl<const DOT: bool> TileLanes for Neon<DOT> {
    type Bytes = Bytes;
    type Ints = Ints;
    type Floats = Floats;
    const LANES: usize = 8;
    const WIDE_ZERO: u8 = 0;

    #[inline(always)]
    fn load(self, bytes: &[u8]) -> Bytes {
        load32(head(bytes))
    }

    #[inline(always)]
    fn field(self, bytes: Bytes, shift: u32, mask: u8) -> Bytes {
        RowLanes::field(self, bytes, shift, mask)
    }

    #[inline(always)]
    fn raise(self, bytes: Bytes, shift: u32) -> Bytes {
        RowLanes::raise(self, bytes, shift)
    }

    #[inline(always)]
    fn or(self, a: Bytes, b: Bytes) -> Bytes {
        RowLanes::or(self, a, b)
    }

    #[inline(always)]
    fn zero(self) -> Ints {
        [neon!(vdupq_n_s32(0)); 2]
    }

    #[inline(always)]
    fn dot(self, sums: Ints, codes: Bytes, activations: [i8; 4]) -> Ints {
        let word = i32::from_le_bytes(activations.map(|byte| byte as u8));
        let activations = neon!(vreinterpretq_s8_s32(neon!(vdupq_n_s32(word))));
        [
            self.products(sums[0], codes[0], activations),
            self.products(sums[1], codes[1], activations),
        ]
    }

    #[inline(always)]
    fn dot_wide(self, sums: Ints, codes: Bytes, activations: [i8; 4]) -> Ints {
        TileLanes::dot(self, sums, codes, activations)
    }

    #[inline(always)]
    fn to_floats(self, sums: Ints) -> Floats {
        [neon!(vcvtq_f32_s32(sums[0])), neon!(vcvtq_f32_s32(sums[1]))]
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Floats {
        RowLanes::splat(self, value)
    }

    #[inline(always)]
    fn store_floats(self, values: Floats, out: &mut [f32]) {
        out[..8].copy_from_slice(&self.array(values));
    }

    #[inline(always)]
    fn halves(self, bytes: &[u8]) -> Floats {
        let bytes: &[u8; 16] = head(bytes);
        RowLanes::halves(
            self,
            std::array::from_fn(|j| u16::from_le_bytes([bytes[2 * j], bytes[2 * j + 1]])),
        )
    }

    #[inline(always)]
    fn unsigned(self, bytes: &[u8], shift: u32, mask: u8) -> Floats {
        RowLanes::unsigned(self, head::<u8, 8>(bytes).map(|byte| byte >> shift & mask))
    }

    #[inline(always)]
    fn signed(self, bytes: &[u8]) -> Floats {
        RowLanes::signed(self, head::<u8, 8>(bytes).map(|byte| byte as i8))
    }

    #[inline(always)]
    fn mul(self, a: Floats, b: Floats) -> Floats {
        RowLanes::mul(self, a, b)
    }

    #[inline(always)]
    fn fma(self, a: Floats, b: Floats, c: Floats) -> Floats {
        RowLanes::fma(self, a, b, c)
    }
}
