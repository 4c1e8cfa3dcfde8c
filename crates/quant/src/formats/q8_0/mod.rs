//! Q8_0: 32 weights in 34 bytes (8.5 bits a weight), one scale.
//!
//! ```text
//! byte   0   1   2        …        33
//!        └─d─┘   └──────qs───────┘
//! d      f16 scale
//! qs[j]  i8 code of weight j, −127 to 127 when packed here
//! weight = d · q
//! ```

use super::{Block, F16, inverse_or_zero, peak};
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q8_0 {
    d: F16,
    qs: [i8; 32],
}

impl Block for Q8_0 {
    const LEN: usize = 32;

    fn pack(values: &[f32]) -> Self {
        let (scale, qs) = pack_signed(values);
        Self {
            d: F16::new(scale),
            qs,
        }
    }

    fn unpack(&self, out: &mut [f32]) {
        let scale = self.d.get();
        for (out, &code) in out.iter_mut().zip(&self.qs) {
            *out = scale * f32::from(code);
        }
    }
}

/// Scale and codes of values, symmetric about 0 with the peak at ±127; ties away from zero.
pub(super) fn pack_signed<const LEN: usize>(values: &[f32]) -> (f32, [i8; LEN]) {
    let scale = peak(values).abs() / 127.0;
    let inverse = inverse_or_zero(scale);
    (
        scale,
        std::array::from_fn(|j| (values[j] * inverse).round() as i8),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::check_round_trip;

    #[test]
    fn round_trip_error_is_bounded() {
        check_round_trip::<Q8_0>(0.006);
    }
}
