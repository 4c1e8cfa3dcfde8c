//! IQ2_XXS: 256 weights in 66 bytes (2.0625 bits a weight), 8 groups of 32, rows of a codebook.
//!
//! ```text
//! byte   0   1   2   …   65
//!        └─d─┘   └──qs───┘
//! d   f16 unit of the scales
//! qs  8 bytes for each group: four rows of the codebook (a byte each), then 32 bits: seven signs
//!     for each row (bits 0-6, 7-13, 14-20, 21-27) and the group's scale (bits 28-31)
//! weight = d · (scale + 0.5) / 4 · (± codebook value)
//! ```
//!
//! The eighth sign of a row makes the number of minuses even. `grid.bin` is the codebook, a part of
//! the format: 256 rows of 8 magnitudes (8, 25 or 43).

use super::signed::{self, SignedCodes, by_eights, eight, even_signs, with_signs};
use super::{Block, F16};
use bytemuck::{Pod, Zeroable};

const GRID: &[[u8; 8]] = include_bytes!("grid.bin").as_chunks::<8>().0;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Iq2Xxs {
    d: F16,
    qs: [[[u8; 4]; 2]; 8],
}

impl SignedCodes for Iq2Xxs {
    const GROUP: usize = 32;
    const PEAK: u8 = 43;

    #[inline(always)]
    fn codes(&self, chunk: usize) -> [i8; 32] {
        let [rows, signs] = self.qs[chunk];
        let signs = u32::from_le_bytes(signs);
        by_eights(|at| with_signs(GRID[usize::from(rows[at])], even_signs(signs >> (7 * at))))
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        let d = self.d.get();
        eight(|group| d * (0.5 + f32::from(self.qs[group][1][3] >> 4)) * 0.25)
    }
}

impl Block for Iq2Xxs {
    const LEN: usize = 256;
    const PACKS: bool = false;

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}
