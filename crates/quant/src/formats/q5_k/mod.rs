//! Q5_K: 256 weights in 176 bytes (5.5 bits a weight), 8 groups of 32.
//!
//! ```text
//! byte   0   1   2  3     4   …   15   16  …  47   48   …   175
//!        └─d─┘   └dmin┘   └─scales─┘   └───qh──┘   └────qs────┘
//! d, dmin  f16 units of the scales and of the minimums
//! scales   6-bit scale and minimum of each group: see `scales6`
//! qh       bit g of byte l is bit 4 of the code of weight 32·g + l
//! qs       bits 0 to 3 of the codes, arranged as in Q4_K
//! weight = d · scale · q − dmin · minimum
//! ```

use super::q4_k::pack_nibbles;
use super::{Block, F16, scales6, search};
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q5K {
    d: F16,
    dmin: F16,
    scales: [u8; 12],
    qh: [u8; 32],
    qs: [[u8; 32]; 4],
}

impl Q5K {
    fn search(values: &[f32], weights: impl search::Weights) -> Self {
        let packed = search::affine_super::<8>(values, weights, 31, 63);
        let qh = std::array::from_fn(|l| {
            (0..8).fold(0, |byte, g| byte | (packed.codes[32 * g + l] >> 4) << g)
        });
        Self {
            d: packed.d,
            dmin: packed.dmin,
            scales: scales6::pack(&packed.scales, &packed.minimums),
            qh,
            qs: pack_nibbles(&packed.codes),
        }
    }
}

impl Block for Q5K {
    const LEN: usize = 256;

    fn pack(values: &[f32]) -> Self {
        Self::search(values, search::even)
    }

    fn pack_weighted(values: &[f32], weights: &[f32]) -> Self {
        Self::search(values, |j| weights[j])
    }

    fn unpack(&self, out: &mut [f32]) {
        let (d, dmin) = (self.d.get(), self.dmin.get());
        let (scales, minimums) = scales6::unpack(&self.scales);
        for (group, out) in out.chunks_exact_mut(32).enumerate() {
            let scale = d * f32::from(scales[group]);
            let minimum = dmin * f32::from(minimums[group]);
            for (l, out) in out.iter_mut().enumerate() {
                let nibble = self.qs[group / 2][l] >> (4 * (group % 2)) & 15;
                let fifth = self.qh[l] >> group & 1;
                *out = scale * f32::from(nibble | fifth << 4) - minimum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::check_round_trip;

    #[test]
    fn round_trip_error_is_bounded() {
        check_round_trip::<Q5K>(0.04);
    }
}
