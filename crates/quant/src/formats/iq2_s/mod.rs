//! IQ2_S: 256 weights in 82 bytes (2.5625 bits a weight), 16 groups of 16, rows of a codebook.
//!
//! ```text
//! byte   0   1   2 … 33   34  …  65   66 … 73   74 … 81
//!        └─d─┘   └─qs─┘   └─signs─┘   └─qh──┘   └scales┘
//! d       f16 unit of the scales
//! qs      a byte for 8 weights: bits 0-7 of the row of the codebook
//! qh      a byte for 32 weights: bits 2·p and 2·p + 1 are bits 8 and 9 of row p of these
//! signs   a bit for each weight, 1 for minus
//! scales  a nibble for each group, low nibble first
//! weight = d · (scale + 0.5) / 4 · (± codebook value)
//! ```
//!
//! `grid.bin` is the codebook, a part of the format: 1024 rows of 8 magnitudes (8, 25 or 43).

use super::iq2_xs::nibble_scales;
use super::signed::{self, SignedCodes, by_eights, with_signs};
use super::{Block, F16};
use bytemuck::{Pod, Zeroable};

const GRID: &[[u8; 8]] = include_bytes!("grid.bin").as_chunks::<8>().0;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Iq2S {
    d: F16,
    qs: [[u8; 4]; 8],
    signs: [[u8; 4]; 8],
    qh: [u8; 8],
    scales: [u8; 8],
}

impl SignedCodes for Iq2S {
    const GROUP: usize = 16;
    const PEAK: u8 = 43;

    #[inline(always)]
    fn codes(&self, chunk: usize) -> [i8; 32] {
        by_eights(|at| {
            let high = usize::from(self.qh[chunk] >> (2 * at) & 3);
            let row = GRID[usize::from(self.qs[chunk][at]) | high << 8];
            with_signs(row, self.signs[chunk][at])
        })
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        nibble_scales(self.d, &self.scales)
    }
}

impl Block for Iq2S {
    const LEN: usize = 256;
    const PACKS: bool = false;

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}
