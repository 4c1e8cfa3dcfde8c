//! IQ3_XXS: 256 weights in 98 bytes (3.0625 bits a weight), 8 groups of 32, rows of a codebook.
//!
//! ```text
//! byte   0   1   2 … 65   66   …   97
//!        └─d─┘   └─qs─┘   └─scales─┘
//! d       f16 unit of the scales
//! qs      a byte for 4 weights: the row of the codebook
//! scales  32 bits for each group: seven signs for each 8 weights (bits 0-6, 7-13, 14-20, 21-27)
//!         and the scale (bits 28-31)
//! weight = d · (scale + 0.5) / 2 · (± codebook value)
//! ```
//!
//! The eighth sign makes the number of minuses even. `grid.bin` is the codebook, a part of the
//! format: 256 rows of 4 magnitudes (4 to 62).

use super::signed::{self, SignedCodes, by_eights, eight, even_signs, two_fours, with_signs};
use super::{Block, F16};
use bytemuck::{Pod, Zeroable};

const GRID: &[[u8; 4]] = include_bytes!("grid.bin").as_chunks::<4>().0;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Iq3Xxs {
    d: F16,
    qs: [[[u8; 2]; 4]; 8],
    scales: [[u8; 4]; 8],
}

impl SignedCodes for Iq3Xxs {
    const GROUP: usize = 32;
    const PEAK: u8 = 62;

    #[inline(always)]
    fn codes(&self, chunk: usize) -> [i8; 32] {
        let signs = u32::from_le_bytes(self.scales[chunk]);
        by_eights(|at| {
            let [first, second] = self.qs[chunk][at].map(|row| GRID[usize::from(row)]);
            with_signs(two_fours(first, second), even_signs(signs >> (7 * at)))
        })
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        let d = self.d.get();
        eight(|group| d * (0.5 + f32::from(self.scales[group][3] >> 4)) * 0.5)
    }
}

impl Block for Iq3Xxs {
    const LEN: usize = 256;
    const PACKS: bool = false;

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}
