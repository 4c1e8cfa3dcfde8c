//! IQ1_S: 256 weights in 50 bytes (1.5625 bits a weight), 8 groups of 32, rows of a codebook.
//!
//! ```text
//! byte   0   1   2 … 33   34 … 49
//!        └─d─┘   └─qs─┘   └─qh──┘
//! d   f16 unit of the scales
//! qs  a byte for 8 weights: bits 0-7 of the row of the codebook
//! qh  16 bits for each group: bits 8-10 of its four rows (3 bits each, from bit 0), the scale
//!     (bits 12-14), and the sign of the shift (bit 15, 1 for minus)
//! weight = d · (2 · scale + 1) · (codebook value ± 1/8)
//! ```
//!
//! Codes are 8 times value and shift, so that they are whole. `grid.bin` is the codebook, a part of
//! the format: 2048 rows of 8 values (−1, 0 or 1).

use super::signed::{self, SignedCodes, by_eights, eight};
use super::{Block, F16};
use bytemuck::{Pod, Zeroable};

pub(super) const GRID: &[[u8; 8]] = include_bytes!("grid.bin").as_chunks::<8>().0;

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Iq1S {
    d: F16,
    qs: [[u8; 4]; 8],
    qh: [[u8; 2]; 8],
}

/// A row of the codebook, shifted down or up by an eighth, times 8.
pub(super) fn shifted(row: usize, down: bool) -> [i8; 8] {
    let shift = if down { -1 } else { 1 };
    GRID[row].map(|value| 8 * value as i8 + shift)
}

impl SignedCodes for Iq1S {
    const GROUP: usize = 32;
    const PEAK: u8 = 9;

    #[inline(always)]
    fn codes(&self, chunk: usize) -> [i8; 32] {
        let stored = u16::from_le_bytes(self.qh[chunk]);
        by_eights(|at| {
            let high = usize::from(stored >> (3 * at) & 7);
            shifted(
                usize::from(self.qs[chunk][at]) | high << 8,
                stored >> 15 == 1,
            )
        })
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        let d = self.d.get();
        eight(|group| {
            let scale = u16::from_le_bytes(self.qh[group]) >> 12 & 7;
            d * f32::from(2 * scale + 1) * 0.125
        })
    }
}

impl Block for Iq1S {
    const LEN: usize = 256;
    const PACKS: bool = false;

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}
