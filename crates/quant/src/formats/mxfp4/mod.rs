//! MXFP4: 32 weights in 17 bytes (4.25 bits a weight), 4-bit floats with a power of two for scale.
//!
//! ```text
//! byte   0   1        …        16
//!        e   └──────qs───────┘
//! e      exponent of the scale, 2^(e − 127)
//! qs[j]  low nibble: weight j; high nibble: weight j + 16; each a sign, 2 exponent and 1 mantissa
//!        bits (E2M1): 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives
//! weight = 2^(e − 127) · E2M1[q]
//! ```
//!
//! The table has twice the values, and the scale is half as large, so that codes are whole. Packing
//! gives the largest magnitude an exponent that does not overflow, and rounds to the nearest value.
//!
//! Source: the OCP Microscaling Formats specification, version 1.0.

use super::iq4_nl::look_up;
use super::signed::{self, SignedCodes};
use super::{Block, peak};
use crate::dot::RowLanes;
use bytemuck::{Pod, Zeroable};

/// Twice the values of E2M1.
const VALUES: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Mxfp4 {
    e: u8,
    qs: [u8; 16],
}

/// `2^(e − 128)`, half of what the exponent says; the two smallest are subnormal.
fn half_scale(e: u8) -> f32 {
    f32::from_bits(match e {
        0 | 1 => 0x0020_0000 << e,
        _ => u32::from(e - 1) << 23,
    })
}

impl SignedCodes for Mxfp4 {
    const GROUP: usize = 32;
    const PEAK: u8 = 12;

    #[inline(always)]
    fn codes(&self, _: usize) -> [i8; 32] {
        look_up(&VALUES, &self.qs)
    }

    #[inline(always)]
    fn vector<L: RowLanes>(&self, lanes: L, _: usize) -> L::Bytes {
        signed::look_up::<Self, L>(lanes, &VALUES, &self.qs)
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        [half_scale(self.e); 16]
    }
}

impl Block for Mxfp4 {
    const LEN: usize = 32;

    fn pack(values: &[f32]) -> Self {
        let peak = peak(values).abs();
        // The exponent of the peak, less that of 4, the highest power of two in the table.
        let e = match peak > 0.0 {
            true => (exponent(peak) - 2 + 127).clamp(0, 254) as u8,
            false => 0,
        };
        let scale = half_scale(e);
        let nearest = |value: f32| {
            let error = |code: usize| (scale * f32::from(VALUES[code]) - value).abs();
            (0..16).fold(0, |best, code| {
                if error(code) < error(best) {
                    code
                } else {
                    best
                }
            }) as u8
        };
        let qs = std::array::from_fn(|j| nearest(values[j]) | nearest(values[j + 16]) << 4);
        Self { e, qs }
    }

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}

/// The largest whole `n` with `2^n ≤ value`, for a positive value.
fn exponent(value: f32) -> i32 {
    let bits = value.to_bits();
    match bits >> 23 {
        0 => -118 - bits.leading_zeros() as i32,
        exponent => exponent as i32 - 127,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::check_round_trip;

    #[test]
    fn round_trip_error_is_bounded() {
        check_round_trip::<Mxfp4>(0.13);
    }

    #[test]
    fn exponents_are_those_of_powers_of_two() {
        for n in -149..128 {
            let power = 2f64.powi(n) as f32;
            assert_eq!(exponent(power), n);
            assert_eq!(exponent(power * 1.5), if n == -149 { -148 } else { n });
        }
    }
}
