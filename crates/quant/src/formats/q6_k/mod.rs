//! Q6_K: 256 weights in 210 bytes (6.5625 bits a weight), 16 groups of 16.
//!
//! ```text
//! byte   0   …  127   128  …  191   192   …   207   208 209
//!        └───ql───┘   └────qh───┘   └───scales──┘   └──d──┘
//! two halves of 128 weights; in each, part p (0 to 3) is the weights 32·p to 32·p + 31:
//! ql  64 bytes: bits 0-3 of parts 0 and 1 in the low nibbles, of parts 2 and 3 in the high ones
//! qh  32 bytes: bits 2·p and 2·p + 1 of byte l are bits 4 and 5 of weight 32·p + l
//! scales[g]  i8 scale of group g
//! d          f16 unit of the scales
//! weight = d · scale · (q − 32)
//! ```

use super::{Block, F16, search};
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q6K {
    ql: [[[u8; 32]; 2]; 2],
    qh: [[u8; 32]; 2],
    scales: [i8; 16],
    d: F16,
}

impl Q6K {
    fn search(values: &[f32], weights: impl search::Weights) -> Self {
        let packed = search::signed_super(values, weights, 32, 128);
        let at = |half: usize, part: usize, l: usize| packed.codes[128 * half + 32 * part + l];
        let ql = std::array::from_fn(|half| {
            std::array::from_fn(|p| {
                std::array::from_fn(|l| at(half, p, l) & 15 | (at(half, p + 2, l) & 15) << 4)
            })
        });
        let qh = std::array::from_fn(|half| {
            std::array::from_fn(|l| {
                (0..4).fold(0, |byte, p| byte | (at(half, p, l) >> 4) << (2 * p))
            })
        });
        Self {
            ql,
            qh,
            scales: packed.scales,
            d: packed.d,
        }
    }
}

impl Block for Q6K {
    const LEN: usize = 256;

    fn pack(values: &[f32]) -> Self {
        Self::search(values, search::even)
    }

    fn pack_weighted(values: &[f32], weights: &[f32]) -> Self {
        Self::search(values, |j| weights[j])
    }

    fn unpack(&self, out: &mut [f32]) {
        let d = self.d.get();
        for (group, (out, &scale)) in out.chunks_exact_mut(16).zip(&self.scales).enumerate() {
            let scale = d * f32::from(scale);
            let (half, part) = (group / 8, group % 8 / 2);
            for (j, out) in out.iter_mut().enumerate() {
                let l = group % 2 * 16 + j;
                let nibble = self.ql[half][part % 2][l] >> (4 * (part / 2)) & 15;
                let high = self.qh[half][l] >> (2 * part) & 3;
                *out = scale * (f32::from(nibble | high << 4) - 32.0);
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
        check_round_trip::<Q6K>(0.02);
    }
}
