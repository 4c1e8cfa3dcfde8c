//! IQ4_NL: 32 weights in 18 bytes (4.5 bits a weight), codes into a table of uneven steps.
//!
//! ```text
//! byte   0   1   2        …        17
//!        └─d─┘   └──────qs───────┘
//! d      f16 scale
//! qs[j]  low nibble: code of weight j; high nibble: code of weight j + 16
//! weight = d · VALUES[q]
//! ```

use super::signed::{self, SignedCodes};
use super::{Block, F16};
use crate::dot::RowLanes;
use bytemuck::{Pod, Zeroable};

/// What the codes stand for: finer near 0, where most weights are.
pub(super) const VALUES: [i8; 16] = [
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
];

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Iq4Nl {
    d: F16,
    qs: [u8; 16],
}

/// Table values of 16 low nibbles, then of the 16 high ones.
pub(super) fn look_up(values: &[i8; 16], nibbles: &[u8; 16]) -> [i8; 32] {
    std::array::from_fn(|j| {
        let nibble = if j < 16 {
            nibbles[j] & 15
        } else {
            nibbles[j - 16] >> 4
        };
        values[usize::from(nibble)]
    })
}

impl SignedCodes for Iq4Nl {
    const GROUP: usize = 32;
    const PEAK: u8 = 127;

    #[inline(always)]
    fn codes(&self, _: usize) -> [i8; 32] {
        look_up(&VALUES, &self.qs)
    }

    #[inline(always)]
    fn vector<L: RowLanes>(&self, lanes: L, _: usize) -> L::Bytes {
        signed::look_up::<Self, L>(lanes, &VALUES, &self.qs)
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        [self.d.get(); 16]
    }
}

impl Block for Iq4Nl {
    const LEN: usize = 32;
    const PACKS: bool = false;

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}
