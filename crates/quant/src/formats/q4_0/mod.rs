//! Q4_0: 32 weights in 18 bytes (4.5 bits a weight), one scale.
//!
//! ```text
//! byte   0   1   2        …        17
//!        └─d─┘   └──────qs───────┘
//! d      f16 scale
//! qs[j]  low nibble: code of weight j; high nibble: code of weight j + 16
//! weight = d · (q − 8)
//! ```
//!
//! Packing maps the value of largest magnitude to code 0, so it is exact and the other side
//! loses one step.

use super::{Block, F16, code, inverse_or_zero, peak};
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q4_0 {
    d: F16,
    qs: [u8; 16],
}

impl Block for Q4_0 {
    const LEN: usize = 32;

    fn pack(values: &[f32]) -> Self {
        let scale = peak(values) / -8.0;
        let inverse = inverse_or_zero(scale);
        let qs = std::array::from_fn(|j| {
            let nibble = |value| code(value, inverse, 8.0, 15);
            nibble(values[j]) | nibble(values[j + 16]) << 4
        });
        Self {
            d: F16::new(scale),
            qs,
        }
    }

    fn unpack(&self, out: &mut [f32]) {
        let scale = self.d.get();
        for (j, &byte) in self.qs.iter().enumerate() {
            out[j] = scale * (f32::from(byte & 15) - 8.0);
            out[j + 16] = scale * (f32::from(byte >> 4) - 8.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::check_round_trip;

    #[test]
    fn round_trip_error_is_bounded() {
        check_round_trip::<Q4_0>(0.10);
    }
}
