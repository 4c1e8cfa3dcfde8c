//! Words to numbers, a few blocks at a time; each chunk of the result starts at its own block.

use super::Distribution;
use super::philox::{self, WIDE};
use crate::cpu::map::Cost;
use crate::cpu::vector::VectorFloat;
use crate::{CpuStorage, DType, Result, WithDType};
use std::f64::consts::TAU;
use tallow_simd::{Kernel, Simd, math};

/// Elements of [`WIDE`] blocks.
const WIDE_F32: usize = 4 * WIDE;
const WIDE_F64: usize = 2 * WIDE;

/// 2^-24, 2^-32 and 2^-53.
const STEP_24: f32 = 1.0 / (1 << 24) as f32;
const STEP_32: f32 = 1.0 / (1u64 << 32) as f32;
const STEP_53: f64 = 1.0 / (1u64 << 53) as f64;

pub(super) fn fill(
    distribution: Distribution,
    seed: u64,
    first: u64,
    out: &mut CpuStorage,
) -> Result<()> {
    if out.dtype() == DType::F64 {
        fill_f64(distribution, seed, first, out.as_mut_slice()?);
        return Ok(());
    }
    crate::with_dtype!(out.dtype(), "rand", T in [
        F32: f32, F16: crate::f16, BF16: crate::bf16, F8E4M3: crate::F8E4M3,
    ] => {
        fill_f32::<T>(distribution, seed, first, out.as_mut_slice()?);
        Ok(())
    })
}

/// The greatest value found below a bound: the bound less a step that doubles until it counts.
fn below<T: WithDType>(bound: f64) -> T {
    let mut step = f64::from_bits(1);
    loop {
        let value = <T as WithDType>::from_f64(bound - step);
        if WithDType::to_f64(value) < bound {
            return value;
        }
        step *= 2.0;
    }
}

fn fill_f32<T: VectorFloat>(distribution: Distribution, seed: u64, first: u64, out: &mut [T]) {
    let limit = match distribution {
        Distribution::Uniform { low, high } if low < high => below::<T>(high),
        Distribution::Uniform { low, .. } => <T as WithDType>::from_f64(low),
        Distribution::Normal { .. } => T::default(),
    };
    for_each_wide(out, WIDE_F32, &|number, dst| {
        let mut values = [0.0; WIDE_F32];
        tallow_simd::dispatch(Wide {
            distribution,
            seed,
            first: first.wrapping_add(number as u64 * WIDE as u64),
            values: &mut values,
        });
        for (slot, value) in dst.iter_mut().zip(values) {
            let rounded = T::narrow(value);
            let clamp = matches!(distribution, Distribution::Uniform { .. }) && rounded > limit;
            *slot = if clamp { limit } else { rounded };
        }
    });
}

/// Calls `f` with the number of each piece of `wide` elements, and the piece.
fn for_each_wide<T: Send>(out: &mut [T], wide: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if out.is_empty() {
        return;
    }
    let min = Cost::Heavy.min_chunk();
    let pieces = tallow_threads::chunk_len(out.len().div_ceil(wide), min / wide);
    tallow_threads::parallel_chunks_mut(out, pieces * wide, |chunk, part| {
        for (piece, dst) in part.chunks_mut(wide).enumerate() {
            f(chunk * pieces + piece, dst);
        }
    });
}

struct Wide<'a> {
    distribution: Distribution,
    seed: u64,
    first: u64,
    values: &'a mut [f32; WIDE_F32],
}

impl Kernel for Wide<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let words = philox::blocks(self.seed, self.first);
        match self.distribution {
            Distribution::Uniform { low, high } => {
                let (low, range) = (low as f32, (high - low) as f32);
                for (at, slot) in self.values.iter_mut().enumerate() {
                    let word = words[at % 4][at / 4] >> 8;
                    *slot = (word as f32 * STEP_24).mul_add(range, low);
                }
            }
            Distribution::Normal { mean, deviation } => {
                let (mean, deviation) = (mean as f32, deviation as f32);
                for pair in [0, 2] {
                    let normal = normals(simd, &words[pair], &words[pair + 1]);
                    for (which, normal) in normal.iter().enumerate() {
                        for (block, value) in normal.iter().enumerate() {
                            let at = block * 4 + pair + which;
                            self.values[at] = value.mul_add(deviation, mean);
                        }
                    }
                }
            }
        }
    }
}

/// √(-2 ln u) · cos 2πv and √(-2 ln u) · sin 2πv, with u of the first words and v of the second.
#[inline(always)]
fn normals<S: Simd>(simd: S, first: &[u32; WIDE], second: &[u32; WIDE]) -> [[f32; WIDE]; 2] {
    let (mut u, mut v) = ([0.0; WIDE], [0.0; WIDE]);
    for at in 0..WIDE {
        // Between 2^-33 and 1: never 0.
        u[at] = (first[at] as f32 + 0.5) * STEP_32;
        v[at] = (second[at] >> 8) as f32 * (STEP_24 * TAU as f32);
    }
    let mut normal = [[0.0; WIDE]; 2];
    for start in (0..WIDE).step_by(S::F32_LANES) {
        let logarithm = math::log(simd, simd.load_f32(&u[start..]));
        let radius = simd.sqrt_f32(simd.mul_f32(logarithm, simd.splat_f32(-2.0)));
        let angle = simd.load_f32(&v[start..]);
        let (cosine, sine) = (math::cos(simd, angle), math::sin(simd, angle));
        simd.store_f32(simd.mul_f32(radius, cosine), &mut normal[0][start..]);
        simd.store_f32(simd.mul_f32(radius, sine), &mut normal[1][start..]);
    }
    normal
}

fn fill_f64(distribution: Distribution, seed: u64, first: u64, out: &mut [f64]) {
    let limit = match distribution {
        Distribution::Uniform { low, high } if low < high => below::<f64>(high),
        Distribution::Uniform { low, .. } => low,
        Distribution::Normal { .. } => 0.0,
    };
    for_each_wide(out, WIDE_F64, &|number, dst| {
        let words = philox::blocks(seed, first.wrapping_add(number as u64 * WIDE as u64));
        for (block, pair) in dst.chunks_mut(2).enumerate() {
            let [a, b, c, d] = words.map(|word| u64::from(word[block]));
            // 53 bits each, of which the first word has the high ones.
            let uniform = [a << 21 ^ b >> 11, c << 21 ^ d >> 11].map(|bits| bits as f64 * STEP_53);
            let values = match distribution {
                Distribution::Uniform { low, high } => {
                    uniform.map(|u| (u * (high - low) + low).min(limit))
                }
                Distribution::Normal { mean, deviation } => {
                    // 1 - u is never 0.
                    let radius = (-2.0 * libm::log(1.0 - uniform[0])).sqrt();
                    let (sine, cosine) = libm::sincos(TAU * uniform[1]);
                    [cosine, sine].map(|value| radius * value * deviation + mean)
                }
            };
            pair.copy_from_slice(&values[..pair.len()]);
        }
    });
}
