//! Q2_K: 256 weights in 84 bytes (2.625 bits a weight), 16 groups of 16.
//!
//! ```text
//! byte   0   …   15   16   …   79   80 81   82  83
//!        └─scales─┘   └────qs───┘   └─d─┘   └─dmin─┘
//! scales[g]  low nibble: scale of group g; high nibble: its minimum
//! qs         two halves of 32 bytes, 128 weights each: bits 2·p and 2·p + 1 of byte l are the
//!            code of weight 32·p + l of the half
//! d, dmin    f16 units of the scales and of the minimums
//! weight = d · scale · q − dmin · minimum
//! ```

use super::{Block, F16, search};
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q2K {
    scales: [u8; 16],
    qs: [[u8; 32]; 2],
    d: F16,
    dmin: F16,
}

impl Q2K {
    fn search(values: &[f32], weights: impl search::Weights) -> Self {
        let packed = search::affine_super::<16>(values, weights, 3, 15);
        Self {
            scales: std::array::from_fn(|g| packed.scales[g] | packed.minimums[g] << 4),
            qs: pack_pairs(&packed.codes),
            d: packed.d,
            dmin: packed.dmin,
        }
    }
}

impl Block for Q2K {
    const LEN: usize = 256;

    fn pack(values: &[f32]) -> Self {
        Self::search(values, search::even)
    }

    fn pack_weighted(values: &[f32], weights: &[f32]) -> Self {
        Self::search(values, |j| weights[j])
    }

    fn unpack(&self, out: &mut [f32]) {
        let (d, dmin) = (self.d.get(), self.dmin.get());
        for (group, (out, &byte)) in out.chunks_exact_mut(16).zip(&self.scales).enumerate() {
            let scale = d * f32::from(byte & 15);
            let minimum = dmin * f32::from(byte >> 4);
            for (l, out) in out.iter_mut().enumerate() {
                *out = scale * f32::from(pair(&self.qs, 16 * group + l)) - minimum;
            }
        }
    }
}

/// The low two bits of 256 codes, as Q2_K and Q3_K store them.
pub(super) fn pack_pairs(codes: &[u8; 256]) -> [[u8; 32]; 2] {
    std::array::from_fn(|half| {
        std::array::from_fn(|l| {
            (0..4).fold(0, |byte, p| {
                byte | (codes[128 * half + 32 * p + l] & 3) << (2 * p)
            })
        })
    })
}

/// The two bits of weight `at`.
pub(super) fn pair(qs: &[[u8; 32]; 2], at: usize) -> u8 {
    qs[at / 128][at % 32] >> (2 * (at % 128 / 32)) & 3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::check_round_trip;

    #[test]
    fn round_trip_error_is_bounded() {
        check_round_trip::<Q2K>(0.30);
    }
}
