//! Q8_K: 256 values in 292 bytes, an f32 scale, and the sum of the codes of each 16.
//!
//! ```text
//! byte   0 … 3   4    …    259   260   …   291
//!        └─d─┘   └────qs─────┘   └──bsums──┘
//! d         f32 scale
//! qs[j]     i8 code of value j
//! bsums[g]  i16 sum of the codes 16·g to 16·g + 15
//! value = d · q
//! ```
//!
//! Made for activations that meet k-quant weights.

use super::Block;
use super::q8_0::pack_signed;
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q8K {
    d: [u8; 4],
    qs: [i8; 256],
    bsums: [[u8; 2]; 16],
}

impl Block for Q8K {
    const LEN: usize = 256;

    fn pack(values: &[f32]) -> Self {
        let (scale, qs) = pack_signed::<256>(values);
        let bsums = std::array::from_fn(|group| {
            let codes = &qs[16 * group..16 * group + 16];
            codes
                .iter()
                .map(|&code| i16::from(code))
                .sum::<i16>()
                .to_le_bytes()
        });
        Self {
            d: scale.to_le_bytes(),
            qs,
            bsums,
        }
    }

    fn unpack(&self, out: &mut [f32]) {
        let scale = f32::from_le_bytes(self.d);
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
        check_round_trip::<Q8K>(0.007);
    }

    #[test]
    fn bsums_are_sums_of_codes() {
        let block = Q8K::pack(&gaussian(3, 256));
        for (group, codes) in block.qs.chunks_exact(16).enumerate() {
            let sum: i16 = codes.iter().map(|&code| i16::from(code)).sum();
            assert_eq!(i16::from_le_bytes(block.bsums[group]), sum, "group {group}");
        }
    }
}
