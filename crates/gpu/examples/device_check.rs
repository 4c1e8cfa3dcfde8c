//! Checks and timings of the runtime on a device: `device_check cuda:0`.
//!
//! Random programs over pooled buffers from several threads, against the same on the host; then the
//! time of chains of small and of large additions, each recorded as a user would.

use std::time::Instant;
use tallow_gpu::{Api, Buffer, GpuDevice, GpuError, KernelSource, Result, Variant, params_text};

tallow_gpu::params! {
    /// What the kernels take.
    struct Params {
        /// Rounds, of `mix_rounds`.
        rounds: u32,
        /// Elements.
        count: u32,
    }
}

static MIX: KernelSource = KernelSource::new(
    "mix_rounds",
    "KERNEL(mix_rounds, WG)(IN(u32, a), INOUT(u32, b), PARAMS(Params)) {
    AFTER_INPUTS();
    const uint i = GRP_X * WG + TID;
    if (i >= p.count) return;
    uint v = a[i];
    for (uint j = 0u; j < p.rounds; j++) v = v * 1664525u + 1013904223u;
    b[i] = b[i] * 3u + v;
}",
    &[],
    Some(params_text::<Params>),
    64,
);

static ADD: KernelSource = KernelSource::new(
    "add_floats",
    "KERNEL(add_floats, WG)(IN(f32, a), IN(f32, b), OUT(f32, y), PARAMS(Params)) {
    AFTER_INPUTS();
    UNROLL
    for (uint k = 0u; k < 4u; k++) {
        const uint i = GRP_X * (WG * 4u) + k * WG + TID;
        if (i < p.count) y[i] = a[i] + b[i];
    }
}",
    &[],
    Some(params_text::<Params>),
    256,
);

const COUNT: usize = 256;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % bound
    }
}

fn read(device: &GpuDevice, buffer: &Buffer) -> Result<Vec<u32>> {
    let mut words = vec![0u32; buffer.bytes() / 4];
    device.read(buffer, 0, bytemuck::cast_slice_mut(&mut words))?;
    Ok(words)
}

/// One random program; how many of its buffers end up wrong.
fn program(device: &GpuDevice, seed: u64) -> Result<usize> {
    let mut random = Random(seed);
    let mut held = Vec::new();
    for at in 0..6u32 {
        let words: Vec<u32> = (0..COUNT as u32).map(|i| at * 1000 + i).collect();
        let buffer = device.buffer(COUNT * 4)?;
        device.write(&buffer, 0, bytemuck::cast_slice(&words))?;
        held.push((buffer, words));
    }
    for _ in 0..120 {
        let (a, b) = (random.below(6), random.below(6));
        if a == b {
            held.remove(a);
            let other = random.below(5);
            let buffer = device.buffer(COUNT * 4)?;
            device.copy((&held[other].0, 0..COUNT * 4), (&buffer, 0))?;
            let words = held[other].1.clone();
            held.insert(a, (buffer, words));
            continue;
        }
        let rounds = [1, 50, 300][random.below(3)];
        let params = Params {
            rounds,
            count: COUNT as u32,
        };
        let operands = [(&held[a].0, 0..COUNT * 4), (&held[b].0, 0..COUNT * 4)];
        device.launch(
            &Variant::new(&MIX),
            &operands,
            &params,
            [COUNT as u32 / 64, 1, 1],
        )?;
        for i in 0..COUNT {
            let mut v = held[a].1[i];
            (0..rounds).for_each(|_| v = v.wrapping_mul(1664525).wrapping_add(1013904223));
            held[b].1[i] = held[b].1[i].wrapping_mul(3).wrapping_add(v);
        }
    }
    let mut wrong = 0;
    for (buffer, words) in &held {
        wrong += usize::from(read(device, buffer)? != *words);
    }
    Ok(wrong)
}

/// Milliseconds to record, and until all is done, of `adds` dependent additions; the median of five
/// by the whole.
fn chain(device: &GpuDevice, adds: usize, count: usize) -> Result<(f64, f64)> {
    let one = device.buffer(count * 4)?;
    device.write(&one, 0, bytemuck::cast_slice(&vec![1f32; count]))?;
    let params = Params {
        rounds: 0,
        count: count as u32,
    };
    let groups = [(count as u32).div_ceil(1024), 1, 1];
    let variant = Variant::new(&ADD);
    let mut times = Vec::new();
    for _ in 0..6 {
        let mut x = device.buffer(count * 4)?;
        device.fill(&x, 0..count * 4, 0)?;
        device.synchronize()?;
        let start = Instant::now();
        for _ in 0..adds {
            let y = device.buffer(count * 4)?;
            let all = 0..count * 4;
            let operands = [(&x, all.clone()), (&one, all.clone()), (&y, all)];
            device.launch(&variant, &operands, &params, groups)?;
            x = y;
        }
        let recorded = start.elapsed().as_secs_f64() * 1e3;
        device.synchronize()?;
        times.push((start.elapsed().as_secs_f64() * 1e3, recorded));
        let mut last = vec![0f32; count];
        device.read(&x, 0, bytemuck::cast_slice_mut(&mut last))?;
        assert!(
            last.iter().all(|value| *value == adds as f32),
            "a wrong sum"
        );
    }
    times.remove(0);
    times.sort_by(|a: &(f64, f64), b| a.0.total_cmp(&b.0));
    let (whole, recorded) = times[times.len() / 2];
    Ok((recorded, whole))
}

#[allow(clippy::print_stdout)] // it is what the example is for
fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "opencl:0".into());
    let (api, number) = name.split_once(':').unwrap_or((&name, "0"));
    let api = match api {
        "cuda" => Api::Cuda,
        "metal" => Api::Metal,
        _ => Api::OpenCl,
    };
    let start = Instant::now();
    let device = GpuDevice::open(api, number.parse().unwrap_or(0))?;
    println!(
        "{device:?} opened in {:.1} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    let wrong: usize = (0..30)
        .map(|seed| program(&device, seed))
        .sum::<Result<usize>>()?;
    println!("30 programs: {wrong} wrong buffers");
    let work = |thread: u64| -> Result<usize> {
        (0..40)
            .map(|round| program(&device, 1000 * thread + round))
            .sum()
    };
    let wrong: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..17)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .sum::<Result<usize>>()
    })?;
    println!("16 threads of 40 programs, 3,840 read-backs: {wrong} wrong buffers");
    let error = device.buffer(1 << 45).map(|_| ());
    println!(
        "32 TiB: {}",
        error.map_or_else(|error| error.to_string(), |()| "taken?".into())
    );
    assert_eq!(program(&device, 7)?, 0, "the device works after that");
    for (adds, count) in [(5000, 1024), (500, 1 << 20)] {
        let (recorded, whole) = chain(&device, adds, count)?;
        println!("{adds} adds of {count}: recorded in {recorded:.2} ms, done after {whole:.2} ms");
    }
    let statistics = device.statistics();
    println!("{statistics:?}");
    match device.launch_bytes(&Variant::new(&MIX), &[], &[], [1, 1, 1]) {
        Err(GpuError::Launch { .. }) => Ok(()),
        other => panic!("a launch without operands gave {other:?}"),
    }
}
