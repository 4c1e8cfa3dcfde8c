//! Q8_1: 32 values in 36 bytes, one scale, and the sum of the values beside it.
//!
//! ```text
//! byte   0   1   2   3   4        …        35
//!        └─d─┘   └─s─┘   └──────qs───────┘
//! d      f16 scale
//! s      f16 d · Σ q
//! qs[j]  i8 code of value j
//! value = d · q
//! ```
//!
//! Made for activations: with `s`, a weight format that has a minimum needs no second dot product.

use super::q8_0::pack_signed;
use super::{Block, F16};
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q8_1 {
    d: F16,
    s: F16,
    qs: [i8; 32],
}

impl Block for Q8_1 {
    const LEN: usize = 32;

    fn pack(values: &[f32]) -> Self {
        let (scale, qs) = pack_signed::<32>(values);
        let sum: i32 = qs.iter().map(|&code| i32::from(code)).sum();
        Self {
            d: F16::new(scale),
            s: F16::new(sum as f32 * scale),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{check_round_trip, gaussian};

    #[test]
    fn round_trip_error_is_bounded() {
        check_round_trip::<Q8_1>(0.006);
    }

    #[test]
    fn s_is_the_sum_of_the_values() {
        let block = Q8_1::pack(&gaussian(3, 32));
        let mut out = [0.0; 32];
        block.unpack(&mut out);
        assert!(
            (block.s.get() - out.iter().sum::<f32>()).abs() < 0.02,
            "s is {}",
            block.s.get()
        );
    }
}
