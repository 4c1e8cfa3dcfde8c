//! IQ2_XS: 256 weights in 74 bytes (2.3125 bits a weight), 16 groups of 16, rows of a codebook.
//!
//! ```text
//! byte   0   1   2   …   65   66 … 73
//!        └─d─┘   └──qs───┘   └scales┘
//! d       f16 unit of the scales
//! qs      2 bytes for 8 weights: the row of the codebook (bits 0-8) and seven signs (bits 9-15)
//! scales  a nibble for each group, low nibble first
//! weight = d · (scale + 0.5) / 4 · (± codebook value)
//! ```
//!
//! The eighth sign of a row makes the number of minuses even. `grid.bin` is the codebook, a part of
//! the format: 512 rows of 8 magnitudes (8, 25 or 43).

use super::signed::{self, SignedCodes, by_eights, even_signs, with_signs};
use super::{Block, F16};
use bytemuck::{Pod, Zeroable};

const GRID: &[[u8; 8]] = include_bytes!("grid.bin").as_chunks::<8>().0;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Iq2Xs {
    d: F16,
    qs: [[[u8; 2]; 4]; 8],
    scales: [u8; 8],
}

/// Scales of 16 groups from nibbles, as IQ2_XS and IQ2_S store them.
pub(super) fn nibble_scales(d: F16, nibbles: &[u8; 8]) -> [f32; 16] {
    let d = d.get();
    std::array::from_fn(|group| {
        let scale = nibbles[group / 2] >> (4 * (group % 2)) & 15;
        d * (0.5 + f32::from(scale)) * 0.25
    })
}

impl SignedCodes for Iq2Xs {
    const GROUP: usize = 16;
    const PEAK: u8 = 43;

    #[inline(always)]
    fn codes(&self, chunk: usize) -> [i8; 32] {
        by_eights(|at| {
            let stored = u16::from_le_bytes(self.qs[chunk][at]);
            let row = GRID[usize::from(stored & 511)];
            with_signs(row, even_signs(u32::from(stored >> 9)))
        })
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        nibble_scales(self.d, &self.scales)
    }
}

impl Block for Iq2Xs {
    const LEN: usize = 256;
    const PACKS: bool = false;

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}
