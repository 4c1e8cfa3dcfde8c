//! The references make each word from its counter alone, in the paper's notation, and each number
//! in f64.

use super::Distribution;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
use crate::{DType, Shape};
use std::f64::consts::TAU;

const SEED: u64 = 0x1234_5678_9ABC_DEF0;
/// Block numbers pass a word's end in the middle.
const FIRST: u64 = (1 << 32) - 3;

/// Philox4x32-10 of one block.
fn words(block: u64) -> [u32; 4] {
    let mut counter = [block as u32, (block >> 32) as u32, 0, 0];
    let mut key = [SEED as u32, (SEED >> 32) as u32];
    for _ in 0..10 {
        let product = |multiplier: u64, word: u32| multiplier * u64::from(word);
        let (p0, p1) = (
            product(0xD251_1F53, counter[0]),
            product(0xCD9E_8D57, counter[2]),
        );
        counter = [
            (p1 >> 32) as u32 ^ counter[1] ^ key[0],
            p1 as u32,
            (p0 >> 32) as u32 ^ counter[3] ^ key[1],
            p0 as u32,
        ];
        key[0] = key[0].wrapping_add(0x9E37_79B9);
        key[1] = key[1].wrapping_add(0xBB67_AE85);
    }
    counter
}

/// The uniform number of element `at` in [0, 1), and for a normal one the first of its pair.
fn uniform(at: usize, dtype: DType, normal: bool) -> f64 {
    if dtype == DType::F64 {
        let words = words(FIRST + at as u64 / 2);
        let [high, low] = [words[at % 2 * 2], words[at % 2 * 2 + 1]].map(u64::from);
        return (high << 21 | low >> 11) as f64 / 2f64.powi(53);
    }
    let word = words(FIRST + at as u64 / 4)[at % 4];
    match normal {
        true => f64::from(word as f32 + 0.5) / 2f64.powi(32),
        false => f64::from(word >> 8) / 2f64.powi(24),
    }
}

fn normal(at: usize, dtype: DType) -> f64 {
    let first = uniform(at / 2 * 2, dtype, true);
    let u = if dtype == DType::F64 {
        1.0 - first
    } else {
        first
    };
    let angle = TAU * uniform(at / 2 * 2 + 1, dtype, false);
    let turn = if at.is_multiple_of(2) {
        angle.cos()
    } else {
        angle.sin()
    };
    (-2.0 * u.ln()).sqrt() * turn
}

const DISTRIBUTIONS: [Distribution; 4] = [
    Distribution::Uniform {
        low: 0.0,
        high: 1.0,
    },
    Distribution::Uniform {
        low: -2.0,
        high: 6.0,
    },
    Distribution::Normal {
        mean: 0.0,
        deviation: 1.0,
    },
    Distribution::Normal {
        mean: 8.0,
        deviation: 0.5,
    },
];

fn case(distribution: Distribution, wide: bool, dims: &[usize]) -> Case {
    let in_f32 = if wide { DType::F64 } else { DType::F32 };
    let value = move |at: usize| match distribution {
        Distribution::Uniform { low, high } => uniform(at, in_f32, false) * (high - low) + low,
        Distribution::Normal { mean, deviation } => normal(at, in_f32) * deviation + mean,
    };
    let (drawn, wanted) = (dims.to_vec(), dims.to_vec());
    Case {
        op: distribution.name(),
        dtypes: if wide {
            &[DType::F64]
        } else {
            &[DType::F32, DType::F16, DType::BF16, DType::F8E4M3]
        },
        // The operand tells the dtype.
        inputs: vec![Input::new(&[1], Values::Range(0.0, 1.0))],
        run: Box::new(move |inputs| {
            let shape = Shape::from(drawn.as_slice());
            distribution.draw(SEED, FIRST, shape, inputs[0].dtype())
        }),
        reference: Box::new(move |_| {
            let mut at = 0;
            Array::from_fn(&wanted, |_| {
                at += 1;
                value(at - 1)
            })
        }),
        // The angle is rounded: up to 2π, half a unit of 4, times a radius up to 6.7. The upper
        // bound is never taken, though it be the nearest number of the dtype.
        tolerance: Tolerance::units(4.0, 32.0),
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let shapes: [&[usize]; 6] = [&[], &[1], &[7], &[3, 0], &[129], &[90, 211]];
    for dims in shapes {
        for distribution in DISTRIBUTIONS {
            cases.extend([false, true].map(|wide| case(distribution, wide, dims)));
        }
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let distribution = DISTRIBUTIONS[draw.number("distribution", 0, 3)];
    case(distribution, draw.rarely(4), &draw.dims())
}
