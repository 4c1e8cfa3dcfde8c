//! IQ1_M: 256 weights in 56 bytes (1.75 bits a weight), 16 groups of 16, rows of IQ1_S's codebook.
//!
//! ```text
//! byte   0 … 31   32 … 47   48  …  55
//!        └─qs─┘   └─qh──┘   └─scales─┘
//! qs      a byte for 8 weights: bits 0-7 of the row of the codebook
//! qh      a nibble for 8 weights, low nibble first: bits 8-10 of the row, and the sign of the
//!         shift (bit 3, 1 for minus)
//! scales  four times 16 bits: 3 bits for each of four groups, from bit 0; the highest 4 bits of
//!         all are the f16 unit of the scales, d, lowest nibble first
//! weight = d · (2 · scale + 1) · (codebook value ± 1/8)
//! ```

use super::Block;
use super::iq1_s::shifted;
use super::signed::{self, SignedCodes, by_eights};
use bytemuck::{Pod, Zeroable};

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Iq1M {
    qs: [[u8; 4]; 8],
    qh: [[u8; 2]; 8],
    scales: [[u8; 2]; 4],
}

impl SignedCodes for Iq1M {
    const GROUP: usize = 16;
    const PEAK: u8 = 9;

    #[inline(always)]
    fn codes(&self, chunk: usize) -> [i8; 32] {
        by_eights(|at| {
            let stored = usize::from(self.qh[chunk][at / 2] >> (4 * (at % 2)) & 15);
            let row = usize::from(self.qs[chunk][at]) | (stored & 7) << 8;
            shifted(row, stored & 8 != 0)
        })
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        let words = self.scales.map(u16::from_le_bytes);
        let bits = (0..4).fold(0, |bits, i| bits | words[i] >> 12 << (4 * i));
        let d = half::f16::from_bits(bits).to_f32();
        std::array::from_fn(|group| {
            let scale = words[group / 4] >> (3 * (group % 4)) & 7;
            d * f32::from(2 * scale + 1) * 0.125
        })
    }
}

impl Block for Iq1M {
    const LEN: usize = 256;
    const PACKS: bool = false;

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}
