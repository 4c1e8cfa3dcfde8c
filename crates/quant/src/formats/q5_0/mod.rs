//! Q5_0: 32 weights in 22 bytes (5.5 bits a weight), one scale.
//!
//! ```text
//! byte   0   1   2  …  5   6        …        21
//!        └─d─┘   └─qh──┘   └──────qs───────┘
//! d      f16 scale
//! qh     32 bits, little-endian: bit j is bit 4 of the code of weight j
//! qs[j]  low nibble: bits 0 to 3 of weight j; high nibble: of weight j + 16
//! weight = d · (q − 16)
//! ```

use super::{Block, F16, code, inverse_or_zero, peak};
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q5_0 {
    d: F16,
    qh: [u8; 4],
    qs: [u8; 16],
}

impl Block for Q5_0 {
    const LEN: usize = 32;

    fn pack(values: &[f32]) -> Self {
        let scale = peak(values) / -16.0;
        let inverse = inverse_or_zero(scale);
        let codes = std::array::from_fn(|j| code(values[j], inverse, 16.0, 31));
        let (qh, qs) = split_codes(&codes);
        Self {
            d: F16::new(scale),
            qh,
            qs,
        }
    }

    fn unpack(&self, out: &mut [f32]) {
        let scale = self.d.get();
        for (out, code) in out.iter_mut().zip(join_codes(self.qh, &self.qs)) {
            *out = scale * (f32::from(code) - 16.0);
        }
    }
}

/// Fifth bits and nibbles of 32 five-bit codes, as Q5_0 and Q5_1 store them.
pub(super) fn split_codes(codes: &[u8; 32]) -> ([u8; 4], [u8; 16]) {
    let fifth = (0..32).fold(0u32, |bits, j| bits | u32::from(codes[j] >> 4) << j);
    let qs = std::array::from_fn(|j| codes[j] & 15 | (codes[j + 16] & 15) << 4);
    (fifth.to_le_bytes(), qs)
}

/// The inverse of [`split_codes`].
pub(super) fn join_codes(qh: [u8; 4], qs: &[u8; 16]) -> [u8; 32] {
    let fifth = u32::from_le_bytes(qh);
    std::array::from_fn(|j| {
        let nibble = if j < 16 { qs[j] & 15 } else { qs[j - 16] >> 4 };
        nibble | ((fifth >> j & 1) as u8) << 4
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::check_round_trip;

    #[test]
    fn round_trip_error_is_bounded() {
        check_round_trip::<Q5_0>(0.05);
    }
}
