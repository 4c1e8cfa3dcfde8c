//! Portable operations: what the others are tested against, and what Miri runs.

use super::{RowLanes, TileLanes};

/// Needs nothing of the CPU.
#[derive(Clone, Copy)]
pub(super) struct Scalar;

/// Rows in a tile; any multiple of 4 would do.
const LANES: usize = 4;

/// Sum of the products of codes and activations.
fn products(codes: impl Iterator<Item = i32>, activations: &[i8]) -> i32 {
    codes
        .zip(activations)
        .map(|(code, &activation)| code * i32::from(activation))
        .sum()
}

fn quads(codes: [u8; 32], activations: &[i8; 32], code: fn(u8) -> i32) -> [f32; 8] {
    std::array::from_fn(|quad| {
        let range = 4 * quad..4 * quad + 4;
        let codes = codes[range.clone()].iter().map(|&byte| code(byte));
        products(codes, &activations[range]) as f32
    })
}

fn lanes(
    sums: [i32; LANES],
    codes: [u8; 4 * LANES],
    activations: [i8; 4],
    code: fn(u8) -> i32,
) -> [i32; LANES] {
    std::array::from_fn(|lane| {
        let codes = codes[4 * lane..4 * lane + 4].iter().map(|&byte| code(byte));
        sums[lane] + products(codes, &activations)
    })
}

fn narrow_code(byte: u8) -> i32 {
    i32::from(byte)
}

fn wide_code(byte: u8) -> i32 {
    i32::from(byte as i8)
}

fn half(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

impl RowLanes for Scalar {
    type Bytes = [u8; 32];
    type Floats = [f32; 8];
    const WIDE_ZERO: u8 = 0;

    fn load(self, bytes: &[u8; 32]) -> [u8; 32] {
        *bytes
    }

    fn store(self, bytes: [u8; 32]) -> [u8; 32] {
        bytes
    }

    fn nibbles(self, bytes: &[u8; 16]) -> [u8; 32] {
        std::array::from_fn(|j| {
            if j < 16 {
                bytes[j] & 15
            } else {
                bytes[j - 16] >> 4
            }
        })
    }

    fn look_up(self, table: &[u8; 16], bytes: &[u8; 16]) -> [u8; 32] {
        self.nibbles(bytes).map(|nibble| table[usize::from(nibble)])
    }

    fn wide(self, codes: &[i8; 32]) -> [u8; 32] {
        codes.map(|code| code as u8)
    }

    fn field(self, bytes: [u8; 32], shift: u32, mask: u8) -> [u8; 32] {
        bytes.map(|byte| byte >> shift & mask)
    }

    fn raise(self, bytes: [u8; 32], shift: u32) -> [u8; 32] {
        bytes.map(|byte| byte << shift)
    }

    fn or(self, a: [u8; 32], b: [u8; 32]) -> [u8; 32] {
        std::array::from_fn(|j| a[j] | b[j])
    }

    fn spread_bits(self, bits: [u8; 4], value: u8) -> [u8; 32] {
        std::array::from_fn(|j| value * (bits[j / 8] >> (j % 8) & 1))
    }

    fn dot(self, codes: [u8; 32], activations: &[i8; 32]) -> [f32; 8] {
        quads(codes, activations, narrow_code)
    }

    fn dot_wide(self, codes: [u8; 32], activations: &[i8; 32]) -> [f32; 8] {
        quads(codes, activations, wide_code)
    }

    fn splat(self, value: f32) -> [f32; 8] {
        [value; 8]
    }

    fn floats(self, values: &[f32; 8]) -> [f32; 8] {
        *values
    }

    fn halves(self, bits: [u16; 8]) -> [f32; 8] {
        bits.map(half)
    }

    fn unsigned(self, values: [u8; 8]) -> [f32; 8] {
        values.map(f32::from)
    }

    fn signed(self, values: [i8; 8]) -> [f32; 8] {
        values.map(f32::from)
    }

    fn add(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|j| a[j] + b[j])
    }

    fn mul(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|j| a[j] * b[j])
    }

    /// Rounds twice: without the instruction, one rounding costs a library call a lane.
    fn fma(self, a: [f32; 8], b: [f32; 8], c: [f32; 8]) -> [f32; 8] {
        std::array::from_fn(|j| a[j] * b[j] + c[j])
    }

    fn lane(self, values: [f32; 8], at: usize) -> [f32; 8] {
        [values[at]; 8]
    }

    fn lane_pair(self, values: [f32; 8], at: usize) -> [f32; 8] {
        std::array::from_fn(|j| values[at + j / 4])
    }

    fn twice(self, values: [f32; 8]) -> [[f32; 8]; 2] {
        std::array::from_fn(|half| std::array::from_fn(|j| values[4 * half + j / 2]))
    }

    fn sum(self, values: [f32; 8]) -> f32 {
        values.iter().sum()
    }
}

impl TileLanes for Scalar {
    type Bytes = [u8; 4 * LANES];
    type Ints = [i32; LANES];
    type Floats = [f32; LANES];
    const LANES: usize = LANES;
    const WIDE_ZERO: u8 = 0;

    fn load(self, bytes: &[u8]) -> [u8; 4 * LANES] {
        std::array::from_fn(|j| bytes[j])
    }

    fn field(self, bytes: [u8; 4 * LANES], shift: u32, mask: u8) -> [u8; 4 * LANES] {
        bytes.map(|byte| byte >> shift & mask)
    }

    fn raise(self, bytes: [u8; 4 * LANES], shift: u32) -> [u8; 4 * LANES] {
        bytes.map(|byte| byte << shift)
    }

    fn or(self, a: [u8; 4 * LANES], b: [u8; 4 * LANES]) -> [u8; 4 * LANES] {
        std::array::from_fn(|j| a[j] | b[j])
    }

    fn zero(self) -> [i32; LANES] {
        [0; LANES]
    }

    fn dot(self, sums: [i32; LANES], codes: Self::Bytes, activations: [i8; 4]) -> [i32; LANES] {
        lanes(sums, codes, activations, narrow_code)
    }

    fn dot_wide(
        self,
        sums: [i32; LANES],
        codes: Self::Bytes,
        activations: [i8; 4],
    ) -> [i32; LANES] {
        lanes(sums, codes, activations, wide_code)
    }

    fn to_floats(self, sums: [i32; LANES]) -> [f32; LANES] {
        sums.map(|sum| sum as f32)
    }

    fn splat(self, value: f32) -> [f32; LANES] {
        [value; LANES]
    }

    fn store_floats(self, values: [f32; LANES], out: &mut [f32]) {
        out[..LANES].copy_from_slice(&values);
    }

    fn halves(self, bytes: &[u8]) -> [f32; LANES] {
        std::array::from_fn(|j| half(u16::from_le_bytes([bytes[2 * j], bytes[2 * j + 1]])))
    }

    fn unsigned(self, bytes: &[u8], shift: u32, mask: u8) -> [f32; LANES] {
        std::array::from_fn(|j| f32::from(bytes[j] >> shift & mask))
    }

    fn signed(self, bytes: &[u8]) -> [f32; LANES] {
        std::array::from_fn(|j| f32::from(bytes[j] as i8))
    }

    fn mul(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|j| a[j] * b[j])
    }

    fn fma(self, a: [f32; LANES], b: [f32; LANES], c: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|j| a[j] * b[j] + c[j])
    }
}
