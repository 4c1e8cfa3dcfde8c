//! The block formats: one folder each, with the bit diagram, the packed struct and its reference.
//!
//! A block holds `LEN` weights. Each weight has an unsigned code `q` of a few bits, and each
//! group of 16 or 32 codes shares a scale `s` and an offset `o`: the weight is `s·q + o`.
//! Symmetric formats, which the format pages write as `d·(q − zero)`, are the same thing with
//! `o = −zero·s`. That one view is what lets a single kernel serve every format.
//!
//! `mod.rs` of a format has [`Block`]: how values become bits and bits become values, in plain
//! scalar code that follows the format's definition. `dot.rs` has `Codes`, the same bits as
//! vectors of codes with scales and offsets, for the kernels. Formats that look their weights up in
//! a table or a codebook have no `dot.rs`: `signed.rs` does that for all of them.
//!
//! All structs are made of bytes, so their alignment is 1 and a block may start anywhere in a file.
//!
//! Source of the layouts: the GGUF specification and the types that it names, as the `gguf`
//! package reads them (`tests/golden/make_golden.py` checks ours against it).
//! Read `q4_0` first, then `q4_k`, then `iq4_nl`.

use bytemuck::{Pod, Zeroable};

pub(crate) mod iq1_m;
pub(crate) mod iq1_s;
pub(crate) mod iq2_s;
pub(crate) mod iq2_xs;
pub(crate) mod iq2_xxs;
pub(crate) mod iq3_s;
pub(crate) mod iq3_xxs;
pub(crate) mod iq4_nl;
pub(crate) mod iq4_xs;
pub(crate) mod mxfp4;
pub(crate) mod q2_k;
pub(crate) mod q3_k;
pub(crate) mod q4_0;
pub(crate) mod q4_1;
pub(crate) mod q4_k;
pub(crate) mod q5_0;
pub(crate) mod q5_1;
pub(crate) mod q5_k;
pub(crate) mod q6_k;
pub(crate) mod q8_0;
pub(crate) mod q8_1;
pub(crate) mod q8_k;
mod scales6;
mod search;
mod signed;
pub(crate) mod tq1_0;
pub(crate) mod tq2_0;

/// A block of quantized weights, as it lies in a file.
pub(crate) trait Block: Pod + Send + Sync {
    /// Weights in one block.
    const LEN: usize;

    /// Whether values can be packed; where not, the format can only be read.
    const PACKS: bool = true;

    /// Packs `LEN` values. Only called where `PACKS`.
    fn pack(_values: &[f32]) -> Self {
        Self::zeroed()
    }

    /// Packs `LEN` values whose errors count with these weights, of at least 0; a format that does
    /// not search for its scales has no use for them.
    fn pack_weighted(values: &[f32], _weights: &[f32]) -> Self {
        Self::pack(values)
    }

    /// Writes the `LEN` values that the block stands for.
    fn unpack(&self, out: &mut [f32]);
}

/// An IEEE half in little-endian bytes, so that structs of them need no alignment.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct F16([u8; 2]);

impl F16 {
    /// Rounds to the nearest half, ties to even.
    pub(crate) fn new(value: f32) -> Self {
        Self(half::f16::from_f32(value).to_le_bytes())
    }

    pub(crate) fn get(self) -> f32 {
        half::f16::from_le_bytes(self.0).to_f32()
    }

    pub(crate) fn bits(self) -> u16 {
        u16::from_le_bytes(self.0)
    }
}

/// `1 / value`, and 0 for 0: the inverse scale of a group of zeros is 0, so all its codes are.
fn inverse_or_zero(value: f32) -> f32 {
    if value == 0.0 { 0.0 } else { 1.0 / value }
}

/// The value of largest magnitude, with its sign; the first of several.
fn peak(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |peak: f32, &value| {
        if value.abs() > peak.abs() {
            value
        } else {
            peak
        }
    })
}

/// The smallest and the largest value.
fn range(values: &[f32]) -> (f32, f32) {
    values
        .iter()
        .fold((f32::MAX, f32::MIN), |(low, high), &value| {
            (low.min(value), high.max(value))
        })
}

/// Code of `value · inverse` with `zero` added: rounds to nearest, ties up, within `0..=max`.
fn code(value: f32, inverse: f32, zero: f32, max: u8) -> u8 {
    // `as` drops the fraction and saturates, NaN becomes 0.
    ((value * inverse + (zero + 0.5)) as u8).min(max)
}

#[cfg(test)]
pub(crate) mod testing {
    //! Values for the tests of the formats.

    use super::Block;

    /// Reproducible values that look like weights: sums of four uniforms, variance 1/3.
    pub(crate) fn gaussian(seed: u64, len: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2) | 1;
        let mut uniform = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        };
        (0..len)
            .map(|_| (uniform() + uniform() + uniform() + uniform()) / 2.0)
            .collect()
    }

    /// Root of the mean squared error of a pack and unpack, as a share of the values' own.
    pub(crate) fn relative_error<B: Block>(values: &[f32]) -> f64 {
        let mut out = vec![0.0; values.len()];
        for (values, out) in values
            .chunks_exact(B::LEN)
            .zip(out.chunks_exact_mut(B::LEN))
        {
            B::pack(values).unpack(out);
        }
        let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
        let error = square(
            &mut values
                .iter()
                .zip(&out)
                .map(|(&a, &b)| f64::from(a) - f64::from(b)),
        );
        (error / square(&mut values.iter().map(|&v| f64::from(v)))).sqrt()
    }

    /// Checks the error over weights like values, and that a block of zeros stays zeros.
    pub(crate) fn check_round_trip<B: Block>(bound: f64) {
        let blocks = if cfg!(miri) { 1 } else { 64 };
        let error = relative_error::<B>(&gaussian(7, B::LEN * blocks));
        assert!(error < bound, "relative error {error} is above {bound}");
        let mut out = vec![1.0; B::LEN];
        B::pack(&vec![0.0; B::LEN]).unpack(&mut out);
        assert!(
            out.iter().all(|&value| value == 0.0),
            "zeros became {out:?}"
        );
    }
}
