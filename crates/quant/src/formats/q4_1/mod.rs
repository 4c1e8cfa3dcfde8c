//! Q4_1: 32 weights in 20 bytes (5 bits a weight), a scale and a minimum.
//!
//! ```text
//! byte   0   1   2   3   4        …        19
//!        └─d─┘   └─m─┘   └──────qs───────┘
//! d      f16 scale
//! m      f16 minimum
//! qs[j]  low nibble: code of weight j; high nibble: code of weight j + 16
//! weight = d · q + m
//! ```

use super::{Block, F16, code, inverse_or_zero, range};
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q4_1 {
    d: F16,
    m: F16,
    qs: [u8; 16],
}

impl Block for Q4_1 {
    const LEN: usize = 32;

    fn pack(values: &[f32]) -> Self {
        let (low, high) = range(values);
        let scale = (high - low) / 15.0;
        let inverse = inverse_or_zero(scale);
        let qs = std::array::from_fn(|j| {
            let nibble = |value| code(value - low, inverse, 0.0, 15);
            nibble(values[j]) | nibble(values[j + 16]) << 4
        });
        Self {
            d: F16::new(scale),
            m: F16::new(low),
            qs,
        }
    }

    fn unpack(&self, out: &mut [f32]) {
        let (scale, low) = (self.d.get(), self.m.get());
        for (j, &byte) in self.qs.iter().enumerate() {
            out[j] = scale * f32::from(byte & 15) + low;
            out[j + 16] = scale * f32::from(byte >> 4) + low;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::check_round_trip;

    #[test]
    fn round_trip_error_is_bounded() {
        check_round_trip::<Q4_1>(0.09);
    }
}
