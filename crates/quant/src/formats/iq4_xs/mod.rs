//! IQ4_XS: 256 weights in 136 bytes (4.25 bits a weight), 8 groups of 32, IQ4_NL's table.
//!
//! ```text
//! byte   0   1   2        3        4   …    7   8   …   135
//!        └─d─┘   └scales_h┘   └─scales_l┘   └───qs────┘
//! d         f16 unit of the scales
//! scales_l  bits 0-3 of the scale of each group: low nibble first
//! scales_h  bits 4-5 of the scale of group g: bits 2·g and 2·g + 1
//! qs        16 bytes for each group: low nibbles are its first 16 codes, high nibbles the others
//! weight = d · (scale − 32) · VALUES[q]
//! ```

use super::iq4_nl::{VALUES, look_up};
use super::signed::{self, SignedCodes, eight};
use super::{Block, F16};
use crate::dot::RowLanes;
use bytemuck::{Pod, Zeroable};

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Iq4Xs {
    d: F16,
    scales_h: [u8; 2],
    scales_l: [u8; 4],
    qs: [[u8; 16]; 8],
}

impl SignedCodes for Iq4Xs {
    const GROUP: usize = 32;
    const PEAK: u8 = 127;

    #[inline(always)]
    fn codes(&self, chunk: usize) -> [i8; 32] {
        look_up(&VALUES, &self.qs[chunk])
    }

    #[inline(always)]
    fn vector<L: RowLanes>(&self, lanes: L, chunk: usize) -> L::Bytes {
        signed::look_up::<Self, L>(lanes, &VALUES, &self.qs[chunk])
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        let (d, high) = (self.d.get(), u16::from_le_bytes(self.scales_h));
        eight(|group| {
            let low = u16::from(self.scales_l[group / 2] >> (4 * (group % 2)) & 15);
            let scale = low | (high >> (2 * group) & 3) << 4;
            d * (f32::from(scale) - 32.0)
        })
    }
}

impl Block for Iq4Xs {
    const LEN: usize = 256;
    const PACKS: bool = false;

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}
