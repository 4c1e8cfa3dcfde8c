//! Checks and timings of the runtime on a device: `device_check cuda:0`.
//!
//! Random programs over pooled buffers from several threads, against the same on the host; then the
//! time of chains of small and of large additions, each recorded as a user would.

#[path = "../tests/program/mod.rs"]
mod program;
#[path = "../tests/random/mod.rs"]
mod random;

use program::{MIX, MixParams, random_program};
use std::time::Instant;
use tallow_gpu::{Api, GpuDevice, GpuError, KernelSource, Result, Variant, params_text};

static ADD: KernelSource = KernelSource::new(
    "add_floats",
    "KERNEL(add_floats, WG)(IN(f32, a), IN(f32, b), OUT(f32, y), PARAMS(MixParams)) {
    AFTER_INPUTS();
    UNROLL
    for (uint k = 0u; k < 4u; k++) {
        const uint i = GRP_X * (WG * 4u) + k * WG + TID;
        if (i < p.count) y[i] = a[i] + b[i];
    }
}",
    &[],
    Some(params_text::<MixParams>),
    256,
);

/// Milliseconds to record, and until all is done, of `adds` dependent additions; the median of five
/// by the whole.
fn chain(device: &GpuDevice, adds: usize, count: usize) -> Result<(f64, f64)> {
    let one = device.buffer(count * 4)?;
    device.write(&one, 0, bytemuck::cast_slice(&vec![1f32; count]))?;
    let params = MixParams {
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
        .map(|seed| random_program(&device, seed))
        .sum::<Result<usize>>()?;
    println!("30 programs: {wrong} wrong buffers");
    let work = |thread: u64| -> Result<usize> {
        (0..40)
            .map(|round| random_program(&device, 1000 * thread + round))
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
    assert_eq!(
        random_program(&device, 7)?,
        0,
        "the device works after that"
    );
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
