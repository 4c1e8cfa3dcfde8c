//! TQ2_0: 256 weights of −1, 0 or 1 in 66 bytes (2.0625 bits a weight), one scale.
//!
//! ```text
//! byte   0   …   63   64  65
//!        └───qs───┘   └─d─┘
//! two halves of 128 weights; in each, part p (0 to 3) is the weights 32·p to 32·p + 31:
//! qs  32 bytes: bits 2·p and 2·p + 1 of byte l are the code of weight 32·p + l
//! d   f16 scale
//! weight = d · (q − 1)
//! ```

use super::signed::{self, SignedCodes};
use super::{Block, F16, inverse_or_zero, peak};
use bytemuck::{Pod, Zeroable};

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Tq2_0 {
    qs: [[u8; 32]; 2],
    d: F16,
}

/// Codes 0, 1 and 2 of 256 values, and the scale: the largest magnitude.
pub(super) fn ternary(values: &[f32]) -> ([u8; 256], F16) {
    let scale = peak(values).abs();
    let inverse = inverse_or_zero(scale);
    // Ties go away from 0.
    let codes = std::array::from_fn(|j| ((values[j] * inverse).round() + 1.0) as u8);
    (codes, F16::new(scale))
}

impl SignedCodes for Tq2_0 {
    const GROUP: usize = 32;
    const PEAK: u8 = 1;

    #[inline(always)]
    fn codes(&self, chunk: usize) -> [i8; 32] {
        let (half, part) = (&self.qs[chunk / 4], chunk % 4);
        half.map(|byte| (byte >> (2 * part) & 3) as i8 - 1)
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        [self.d.get(); 16]
    }
}

impl Block for Tq2_0 {
    const LEN: usize = 256;

    fn pack(values: &[f32]) -> Self {
        let (codes, d) = ternary(values);
        let qs = std::array::from_fn(|half| {
            std::array::from_fn(|l| {
                (0..4).fold(0, |byte, part| {
                    byte | codes[128 * half + 32 * part + l] << (2 * part)
                })
            })
        });
        Self { qs, d }
    }

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}
