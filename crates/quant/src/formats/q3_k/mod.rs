//! Q3_K: 256 weights in 110 bytes (3.4375 bits a weight), 16 groups of 16.
//!
//! ```text
//! byte   0   …  31   32  …  95   96    …   107   108 109
//!        └─hmask─┘   └───qs──┘   └───scales──┘   └──d──┘
//! hmask   bit p of byte l is bit 2 of the code of weight 32·p + l
//! qs      bits 0 and 1 of the codes, arranged as in Q2_K
//! scales  16 codes of 6 bits, stored with 32 added:
//!         low nibble of byte g (0 to 7): bits 0-3 of scale g; high nibble: of scale g + 8
//!         bits 2·h, 2·h + 1 of byte 8 + j: bits 4-5 of scale 4·h + j
//! d       f16 unit of the scales
//! weight = d · (scale − 32) · (q − 4)
//! ```

use super::q2_k::{pack_pairs, pair};
use super::{Block, F16, search};
use bytemuck::{Pod, Zeroable};

mod dot;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Q3K {
    hmask: [u8; 32],
    qs: [[u8; 32]; 2],
    scales: [u8; 12],
    d: F16,
}

impl Q3K {
    fn search(values: &[f32], weights: impl search::Weights) -> Self {
        let packed = search::signed_super(values, weights, 4, 32);
        let hmask = std::array::from_fn(|l| {
            (0..8).fold(0, |byte, p| byte | (packed.codes[32 * p + l] >> 2) << p)
        });
        let scales = pack_scales(&packed.scales.map(|scale| (scale + 32) as u8));
        Self {
            hmask,
            qs: pack_pairs(&packed.codes),
            scales,
            d: packed.d,
        }
    }
}

impl Block for Q3K {
    const LEN: usize = 256;

    fn pack(values: &[f32]) -> Self {
        Self::search(values, search::even)
    }

    fn pack_weighted(values: &[f32], weights: &[f32]) -> Self {
        Self::search(values, |j| weights[j])
    }

    fn unpack(&self, out: &mut [f32]) {
        let d = self.d.get();
        let scales = unpack_scales(&self.scales);
        for (group, (out, scale)) in out.chunks_exact_mut(16).zip(scales).enumerate() {
            let scale = d * (f32::from(scale) - 32.0);
            for (l, out) in out.iter_mut().enumerate() {
                let at = 16 * group + l;
                let third = self.hmask[at % 32] >> (at / 32) & 1;
                *out = scale * (f32::from(pair(&self.qs, at) | third << 2) - 4.0);
            }
        }
    }
}

fn pack_scales(scales: &[u8; 16]) -> [u8; 12] {
    std::array::from_fn(|at| match at {
        0..8 => scales[at] & 15 | (scales[at + 8] & 15) << 4,
        _ => (0..4).fold(0, |byte, h| byte | (scales[4 * h + at - 8] >> 4) << (2 * h)),
    })
}

/// The 16 scales, 32 not yet subtracted.
#[inline(always)]
fn unpack_scales(bytes: &[u8; 12]) -> [u8; 16] {
    std::array::from_fn(|g| {
        let nibble = if g < 8 {
            bytes[g] & 15
        } else {
            bytes[g - 8] >> 4
        };
        nibble | (bytes[8 + g % 4] >> (2 * (g / 4)) & 3) << 4
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::check_round_trip;

    #[test]
    fn round_trip_error_is_bounded() {
        check_round_trip::<Q3K>(0.16);
    }

    #[test]
    fn scales_survive_packing() {
        let scales = std::array::from_fn(|g| (g as u8 * 13 + 5) % 64);
        assert_eq!(unpack_scales(&pack_scales(&scales)), scales);
    }
}
