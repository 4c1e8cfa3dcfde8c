//! The launch: a block of random words a thread, so that a device draws the processor's words.
//! Uniform numbers of up to 32 bits are the processor's to the bit; the others are within the
//! device's rounding of log, cos and sin.

use super::{Distribution, cpu};
use crate::gpu::{GpuStorage, dtype_word, groups};
use crate::{DType, Result};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// A stretch of a stream, and what is made of it.
    pub(super) struct RandomParams {
        /// Elements.
        pub count: u64,
        /// The first block's number.
        pub first: u64,
        /// The bits of what is added, as f64.
        pub a_double: u64,
        /// The factor's.
        pub b_double: u64,
        /// The greatest uniform number's.
        pub limit_double: u64,
        /// The seed.
        pub seed_low: u32,
        /// Its high word.
        pub seed_high: u32,
        /// What is added.
        pub a: f32,
        /// The factor.
        pub b: f32,
        /// The greatest uniform number.
        pub limit: f32,
        /// Nothing.
        pub unused: u32,
    }
}

static RANDOM: KernelSource = KernelSource::new(
    "random_draw",
    include_str!("random.gpu.h"),
    &[],
    Some(params_text::<RandomParams>),
    256,
);

pub(super) fn draw(
    distribution: Distribution,
    seed: u64,
    first: u64,
    out: &GpuStorage,
) -> Result<()> {
    let (a, b, normal) = match distribution {
        Distribution::Uniform { low, high } => (low, high - low, false),
        Distribution::Normal { mean, deviation } => (mean, deviation, true),
    };
    let limit = cpu::limit(distribution, out.dtype())?;
    let params = RandomParams {
        count: out.count() as u64,
        first,
        a_double: a.to_bits(),
        b_double: b.to_bits(),
        limit_double: limit.to_bits(),
        seed_low: seed as u32,
        seed_high: (seed >> 32) as u32,
        a: a as f32,
        b: b as f32,
        limit: limit as f32,
        unused: 0,
    };
    let variant = Variant::new(&RANDOM)
        .define("YT", dtype_word(out.dtype()))
        .define("WIDE", u32::from(out.dtype() == DType::F64))
        .define("NORMAL", u32::from(normal));
    let grid = groups(Distribution::blocks(out.dtype(), out.count()), &variant);
    Ok(out
        .device()
        .launch(&variant, &[out.whole()], &params, grid)?)
}
