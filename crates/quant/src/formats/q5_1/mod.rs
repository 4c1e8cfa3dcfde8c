//! Q5_1: 32 weights in 24 bytes (6 bits a weight), a scale and a minimum.
//!
//! ```text
//! byte   0   1   2   3   4  …  7   8        …        23
//!        └─d─┘   └─m─┘   └─qh──┘   └──────qs───────┘
//! d      f16 scale
//! m      f16 minimum
//! qh     32 bits, little-endian: bit j is bit 4 of the code of weight j
//! qs[j]  low nibble: bits 0 to 3 of weight j; high nibble: of weight j + 16
//! weight = d · q + m
//! ```

use super::q5_0::{join_codes, split_codes};
use super::{Block, F16, code, inverse_or_zero, range};
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q5_1 {
    d: F16,
    m: F16,
    qh: [u8; 4],
    qs: [u8; 16],
}

impl Block for Q5_1 {
    const LEN: usize = 32;

    fn pack(values: &[f32]) -> Self {
        let (low, high) = range(values);
        let scale = (high - low) / 31.0;
        let inverse = inverse_or_zero(scale);
        let codes = std::array::from_fn(|j| code(values[j] - low, inverse, 0.0, 31));
        let (qh, qs) = split_codes(&codes);
        Self {
            d: F16::new(scale),
            m: F16::new(low),
            qh,
            qs,
        }
    }

    fn unpack(&self, out: &mut [f32]) {
        let (scale, low) = (self.d.get(), self.m.get());
        for (out, code) in out.iter_mut().zip(join_codes(self.qh, &self.qs)) {
            *out = scale * f32::from(code) + low;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::check_round_trip;

    #[test]
    fn round_trip_error_is_bounded() {
        check_round_trip::<Q5_1>(0.045);
    }
}
