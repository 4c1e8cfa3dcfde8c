//! Random programs over pooled buffers, against the same on the host.

use super::random::Random;
use tallow_gpu::{Buffer, GpuDevice, KernelSource, Result, Variant, params_text};

tallow_gpu::params! {
    /// What `mix_rounds` takes.
    pub(crate) struct MixParams {
        /// Rounds: a slow producer has many.
        pub(crate) rounds: u32,
        /// Elements.
        pub(crate) count: u32,
    }
}

/// b = 3·b + the value of `a` after so many steps of a linear congruential generator.
pub(crate) static MIX: KernelSource = KernelSource::new(
    "mix_rounds",
    "KERNEL(mix_rounds, WG)(IN(u32, a), INOUT(u32, b), PARAMS(MixParams)) {
    AFTER_INPUTS();
    const uint i = GRP_X * WG + TID;
    if (i >= p.count) return;
    uint v = a[i];
    for (uint j = 0u; j < p.rounds; j++) v = v * 1664525u + 1013904223u;
    b[i] = b[i] * 3u + v;
}",
    &[],
    Some(params_text::<MixParams>),
    64,
);

pub(crate) const COUNT: usize = 256;

pub(crate) fn read(device: &GpuDevice, buffer: &Buffer) -> Result<Vec<u32>> {
    let mut words = vec![0u32; buffer.bytes() / 4];
    device.read(buffer, 0, bytemuck::cast_slice_mut(&mut words))?;
    Ok(words)
}

/// Runs one; how many of its buffers end up wrong.
pub(crate) fn random_program(device: &GpuDevice, seed: u64) -> Result<usize> {
    let mut random = Random(seed);
    let mut held = Vec::new();
    for at in 0..6u32 {
        let words: Vec<u32> = (0..COUNT as u32).map(|i| at * 1000 + i).collect();
        let buffer = device.buffer(COUNT * 4)?;
        device.write(&buffer, 0, bytemuck::cast_slice(&words))?;
        held.push((buffer, words));
    }
    let variant = Variant::new(&MIX);
    for _ in 0..120 {
        let (a, b) = (random.below(6), random.below(6));
        if a == b {
            // One goes back to the pool, and comes out again within the batch.
            held.remove(a);
            let other = random.below(5);
            let buffer = device.buffer(COUNT * 4)?;
            device.copy((&held[other].0, 0..COUNT * 4), (&buffer, 0))?;
            let words = held[other].1.clone();
            held.insert(a, (buffer, words));
            continue;
        }
        let rounds = [1, 50, 3000][random.below(3)];
        let params = MixParams {
            rounds,
            count: COUNT as u32,
        };
        let operands = [(&held[a].0, 0..COUNT * 4), (&held[b].0, 0..COUNT * 4)];
        device.launch(&variant, &operands, &params, [COUNT as u32 / 64, 1, 1])?;
        for i in 0..COUNT {
            let mut v = held[a].1[i];
            (0..rounds).for_each(|_| v = v.wrapping_mul(1664525).wrapping_add(1013904223));
            held[b].1[i] = held[b].1[i].wrapping_mul(3).wrapping_add(v);
        }
        if random.below(25) == 0 {
            device.submit()?;
        }
    }
    let mut wrong = 0;
    for (buffer, words) in &held {
        wrong += usize::from(read(device, buffer)? != *words);
    }
    Ok(wrong)
}
