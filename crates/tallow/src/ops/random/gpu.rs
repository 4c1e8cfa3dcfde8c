//! The launch: a block of random words a thread, so that a device draws the processor's words.
//! Where the stream stands is in the device's memory, so that commands which run again draw anew.
//! Uniform numbers of up to 32 bits are the processor's to the bit; the others are within the
//! device's rounding of log, cos and sin.

use super::stream::{gpu_seed, set_gpu_seed};
use super::{Distribution, cpu};
use crate::gpu::{GpuDevice, GpuStorage, dtype_word, groups};
use crate::{DType, Result};
use tallow_gpu::{Buffer, KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// A stretch of a stream, and what is made of it.
    pub(super) struct RandomParams {
        /// Elements.
        pub count: u64,
        /// Blocks that are drawn.
        pub blocks: u64,
        /// The bits of what is added, as f64.
        pub a_double: u64,
        /// The factor's.
        pub b_double: u64,
        /// The greatest uniform number's.
        pub limit_double: u64,
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
static ADVANCE: KernelSource = KernelSource::new(
    "random_advance",
    include_str!("advance.gpu.h"),
    &[],
    Some(params_text::<RandomParams>),
    32,
);

/// Bytes of a device's stream: the seed and the number of the next block, each low word first.
const STATE_BYTES: usize = 16;

fn state_of(seed: u64) -> Vec<u8> {
    [seed.to_le_bytes(), [0; 8]].concat()
}

/// The device's stream, which commands read and advance.
fn state(gpu: &GpuDevice) -> Result<Buffer> {
    Ok(gpu.register("random", || state_of(gpu_seed(gpu.id())))?)
}

/// Starts the device's stream anew.
pub(super) fn restart(gpu: &GpuDevice, seed: u64) -> Result<()> {
    set_gpu_seed(gpu.id(), seed);
    Ok(gpu.write(&state(gpu)?, 0, &state_of(seed))?)
}

/// Draws the next numbers of the device's stream. Recorded, it draws others each time that it runs.
pub(super) fn draw(distribution: Distribution, out: &GpuStorage) -> Result<()> {
    let (a, b, normal) = match distribution {
        Distribution::Uniform { low, high } => (low, high - low, false),
        Distribution::Normal { mean, deviation } => (mean, deviation, true),
    };
    let limit = cpu::limit(distribution, out.dtype())?;
    let (gpu, blocks) = (out.device(), Distribution::blocks(out.dtype(), out.count()));
    let params = RandomParams {
        count: out.count() as u64,
        blocks,
        a_double: a.to_bits(),
        b_double: b.to_bits(),
        limit_double: limit.to_bits(),
        a: a as f32,
        b: b as f32,
        limit: limit as f32,
        unused: 0,
    };
    let variant = Variant::new(&RANDOM)
        .define("YT", dtype_word(out.dtype()))
        .define("WIDE", u32::from(out.dtype() == DType::F64))
        .define("NORMAL", u32::from(normal));
    let grid = groups(blocks, &variant);
    let state = state(gpu)?;
    gpu.launch(
        &variant,
        &[(&state, 0..STATE_BYTES), out.whole()],
        &params,
        grid,
    )?;
    let advance = Variant::new(&ADVANCE);
    Ok(gpu.launch(&advance, &[(&state, 0..STATE_BYTES)], &params, [1, 1, 1])?)
}
