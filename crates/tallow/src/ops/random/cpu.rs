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

/// The greatest uniform number of a dtype; 0 for normal ones, which have none.
pub(super) fn limit(distribution: Distribution, dtype: DType) -> Result<f64> {
    crate::with_dtype!(dtype, "rand", T in floats => {
        Ok(WithDType::to_f64(limit_of::<T>(distribution)))
    })
}

fn limit_of<T: WithDType>(distribution: Distribution) -> T {
    match distribution {
        Distribution::Uniform { low, high } if low < high => below::<T>(high),
        Distribution::Uniform { low, .. } => <T as WithDType>::from_f64(low),
        Distribution::Normal { .. } => T::default(),
    }
}

fn fill_f32<T: VectorFloat>(distribution: Distribution, seed: u64, first: u64, out: &mut [T]) {
    let limit = limit_of::<T>(distribution);
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
                // Word by word, which vectors do, and then in the order of the blocks.
                let mut numbers = [[0.0; WIDE]; 4];
                for (numbers, words) in numbers.iter_mut().zip(&words) {
                    for (number, word) in numbers.iter_mut().zip(words) {
                        *number = ((word >> 8) as f32 * STEP_24).mul_add(range, low);
                    }
                }
                for (block, slots) in self.values.chunks_exact_mut(4).enumerate() {
                    for (slot, numbers) in slots.iter_mut().zip(&numbers) {
                        *slot = numbers[block];
                    }
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
    let limit = limit_of::<f64>(distribution);
    for_each_wide(out, WIDE_F64, &|number, dst| {
        let mut pairs = [[0.0; WIDE]; 2];
        tallow_simd::dispatch(WideF64 {
            distribution,
            limit,
            seed,
            first: first.wrapping_add(number as u64 * WIDE as u64),
            pairs: &mut pairs,
        });
        for (at, slot) in dst.iter_mut().enumerate() {
            *slot = pairs[at % 2][at / 2];
        }
    });
}

struct WideF64<'a> {
    distribution: Distribution,
    limit: f64,
    seed: u64,
    first: u64,
    /// The two numbers of each block.
    pairs: &'a mut [[f64; WIDE]; 2],
}

impl Kernel for WideF64<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let words = philox::blocks(self.seed, self.first);
        // 53 bits, of which the first word has the high ones.
        let uniform = |pair: usize, block: usize| {
            let [high, low] = [words[pair][block], words[pair + 1][block]].map(u64::from);
            ((high << 21) ^ (low >> 11)) as f64 * STEP_53
        };
        let [firsts, seconds] = self.pairs;
        for (block, (first, second)) in firsts.iter_mut().zip(seconds).enumerate() {
            let (u, v) = (uniform(0, block), uniform(2, block));
            match self.distribution {
                Distribution::Uniform { low, high } => {
                    *first = (u * (high - low) + low).min(self.limit);
                    *second = (v * (high - low) + low).min(self.limit);
                }
                Distribution::Normal { mean, deviation } => {
                    // 1 - u is never 0.
                    let radius = (-2.0 * logarithm(1.0 - u)).sqrt() * deviation;
                    let (cosine, sine) = turn(v);
                    *first = radius * cosine + mean;
                    *second = radius * sine + mean;
                }
            }
        }
    }
}

/// ln u of a normal number: u = m · 2ᵉ with m in [√½, √2), and ln m = 2 artanh s for
/// s = (m - 1) / (m + 1). s² is below 0.0295, so that the series' 12th power of it is below 2⁻⁵³.
#[inline(always)]
fn logarithm(u: f64) -> f64 {
    let root_half = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    let exponent = (u.to_bits().wrapping_sub(root_half) as i64 >> 52) as i32;
    let mantissa = f64::from_bits(u.to_bits().wrapping_sub((exponent as u64) << 52));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let mut series = 1.0 / 23.0;
    for odd in [21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        series = series * (s * s) + 1.0 / odd;
    }
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * s * series
}

/// cos 2πv and sin 2πv for v in [0, 1): whole quarters are taken off, exactly, and the series of
/// both end below 2⁻⁵³ for angles of up to π/4.
#[inline(always)]
fn turn(v: f64) -> (f64, f64) {
    let quarters = (v * 4.0 + 0.5).floor();
    let x = TAU * (v - quarters * 0.25);
    let square = x * x;
    let (mut sine, mut cosine) = (1.0, 1.0);
    // sin x = x (1 - x²/2·3 (1 - x²/4·5 (…))), cos x = 1 - x²/1·2 (1 - x²/3·4 (…)).
    for n in [16.0, 14.0, 12.0, 10.0, 8.0, 6.0, 4.0, 2.0] {
        sine = 1.0 - square * (1.0 / (n * (n + 1.0))) * sine;
        cosine = 1.0 - square * (1.0 / ((n - 1.0) * n)) * cosine;
    }
    let (sine, quarters) = (x * sine, quarters as i32);
    let (a, b) = if quarters & 1 == 0 {
        (cosine, sine)
    } else {
        (sine, cosine)
    };
    let a = if (quarters + 1) & 2 == 0 { a } else { -a };
    (a, if quarters & 2 == 0 { b } else { -b })
}
