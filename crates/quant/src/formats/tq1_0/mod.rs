//! TQ1_0: 256 weights of −1, 0 or 1 in 54 bytes (1.6875 bits a weight), one scale.
//!
//! ```text
//! byte   0   …   47   48 … 51   52  53
//!        └───qs───┘   └─qh──┘   └─d─┘
//! qs[l]  five codes in base 3, l < 32: of the weights l, 32 + l, …, 128 + l;
//!        l ≥ 32: of the weights 160 + m, 176 + m, …, 224 + m, where m = l − 32
//! qh[l]  four codes: of the weights 240 + l, 244 + l, 248 + l, 252 + l
//! d      f16 scale
//! weight = d · (q − 1)
//! ```
//!
//! A byte is `⌈256 · n / 243⌉` for the number n of five digits in base 3, the first weight's digit
//! the highest: times 3^i, cut to a byte, its first digit is digit i, the byte times 3 over 256.

use super::signed::{self, SignedCodes};
use super::tq2_0::ternary;
use super::{Block, F16};
use bytemuck::{Pod, Zeroable};

const POWERS: [u8; 5] = [1, 3, 9, 27, 81];

/// See the module's diagram.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Tq1_0 {
    qs: [u8; 48],
    qh: [u8; 4],
    d: F16,
}

/// Digit `i` of a byte.
fn digit(byte: u8, i: usize) -> i8 {
    let shifted = byte.wrapping_mul(POWERS[i]);
    ((u16::from(shifted) * 3) >> 8) as i8 - 1
}

/// The byte of five digits, or of four and a 0.
fn byte_of(digits: impl Iterator<Item = u8>) -> u8 {
    let number = digits
        .zip(POWERS.iter().rev())
        .map(|(digit, &power)| u16::from(digit) * u16::from(power))
        .sum::<u16>();
    (number * 256).div_ceil(243) as u8
}

impl SignedCodes for Tq1_0 {
    const GROUP: usize = 32;
    const PEAK: u8 = 1;

    #[inline(always)]
    fn codes(&self, chunk: usize) -> [i8; 32] {
        std::array::from_fn(|l| match chunk {
            0..5 => digit(self.qs[l], chunk),
            _ => match 32 * chunk + l - 160 {
                at @ 0..80 => digit(self.qs[32 + at % 16], at / 16),
                at => digit(self.qh[(at - 80) % 4], (at - 80) / 4),
            },
        })
    }

    #[inline(always)]
    fn scales(&self) -> [f32; 16] {
        [self.d.get(); 16]
    }
}

impl Block for Tq1_0 {
    const LEN: usize = 256;

    fn pack(values: &[f32]) -> Self {
        let (codes, d) = ternary(values);
        let qs = std::array::from_fn(|l| match l {
            0..32 => byte_of((0..5).map(|i| codes[32 * i + l])),
            _ => byte_of((0..5).map(|i| codes[160 + 16 * i + l - 32])),
        });
        let qh = std::array::from_fn(|l| byte_of((0..4).map(|i| codes[240 + 4 * i + l])));
        Self { qs, qh, d }
    }

    fn unpack(&self, out: &mut [f32]) {
        signed::unpack(self, out);
    }
}
