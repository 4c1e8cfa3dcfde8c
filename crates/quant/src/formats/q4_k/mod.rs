//! Q4_K: 256 weights in 144 bytes (4.5 bits a weight), 8 groups of 32.
//!
//! ```text
//! byte   0   1   2  3     4   …   15   16   …   143
//!        └─d─┘   └dmin┘   └─scales─┘   └────qs────┘
//! d, dmin  f16 units of the scales and of the minimums
//! scales   6-bit scale and minimum of each group: see `scales6`
//! qs       four parts of 32 bytes, 64 weights each: low nibbles are the codes of the part's
//!          first 32 weights, high nibbles of its other 32
//! weight = d · scale · q − dmin · minimum
//! ```

use super::{Block, F16, scales6, search};
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q4K {
    d: F16,
    dmin: F16,
    scales: [u8; 12],
    qs: [[u8; 32]; 4],
}

impl Q4K {
    fn search(values: &[f32], weights: impl search::Weights) -> Self {
        let packed = search::affine_super::<8>(values, weights, 15, 63);
        Self {
            d: packed.d,
            dmin: packed.dmin,
            scales: scales6::pack(&packed.scales, &packed.minimums),
            qs: pack_nibbles(&packed.codes),
        }
    }
}

impl Block for Q4K {
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
            for (out, &byte) in out.iter_mut().zip(&self.qs[group / 2]) {
                let code = byte >> (4 * (group % 2)) & 15;
                *out = scale * f32::from(code) - minimum;
            }
        }
    }
}

/// The low four bits of 256 codes, as Q4_K and Q5_K store them.
pub(super) fn pack_nibbles(codes: &[u8; 256]) -> [[u8; 32]; 4] {
    std::array::from_fn(|part| {
        std::array::from_fn(|l| codes[64 * part + l] & 15 | (codes[64 * part + 32 + l] & 15) << 4)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::check_round_trip;

    #[test]
    fn round_trip_error_is_bounded() {
        check_round_trip::<Q4K>(0.075);
    }
}
