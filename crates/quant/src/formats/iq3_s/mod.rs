//! IQ3_S: 256 weights in 110 bytes (3.4375 bits a weight), 8 groups of 32, rows of a codebook.
//!
//! ```text
//! byte   0   1   2 … 65   66 … 73   74  … 105   106 … 109
//!        └─d─┘   └─qs─┘   └─qh──┘   └─signs─┘   └scales─┘
//! d       f16 unit of the scales
//! qs      a byte for 4 weights: bits 0-7 of the row of the codebook
//! qh      a byte for 32 weights: bit p is bit 8 of row p of these
//! signs   a bit for each weight, 1 for minus
//! scales  a nibble for each group, low nibble first
//! weight = d · (2 · scale + 1) · (± codebook value)
//! ```
//!
//! `grid.bin` is the codebook, a part of the format: 512 rows of 4 magnitudes (1, 3, …, 15).

use super::signed::{self, SignedCodes, by_eights, eight, two_fours, with_signs};
use super::{Block, F16};
use bytemuck::{Pod, Zeroable};

const GRID: &[[u8; 4]] = include_bytes!("grid.bin").as_chunks::<4>().0;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Iq3S {
    d: F16,
    qs: [[u8; 8]; 8],
    qh: [u8; 8],
    signs: [[u8; 4]; 8],
    scales: [u8; 4],
}

impl SignedCodes for Iq3S {
    const GROUP: usize = 32;
    const PEAK: u8 = 15;

    #[inline(always)]
    fn codes(&self, chunk: usize) -> [i8; 32] {
        let row = |at: usize| {
            let high = usize::from(self.qh[chunk] >> at & 1);
            GRID[usize::from(self.qs[chunk][at]) | high << 8]
        };
        by_eights(|at| {
            let magnitudes = two_fours(row(2 * at), row(2 * at + 1));
            with_signs(magnitudes, self.signs[chunk][at])
        })
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        let d = self.d.get();
        eight(|group| {
            let scale = self.scales[group / 2] >> (4 * (group % 2)) & 15;
            d * f32::from(2 * scale + 1)
        })
    }
}

impl Block for Iq3S {
    const LEN: usize = 256;
    const PACKS: bool = false;

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}
