//! One small case of every operation on OpenCL, for a checker of kernels to watch (oclgrind).
//!
//! `--only NAME` runs one operation, `--skip NAME` all but one. `--fault race`, `bounds` or
//! `uninitialized` runs a kernel with that fault instead, so that the checker can be seen to find
//! it. `cargo xtask ci --only kernel-races` runs all of it.

use tallow::{Device, GpuDevice, Result, bail, testing};
use tallow_gpu::{Api, KernelSource, Settings, Variant, drivers, params_text};

tallow_gpu::params! {
    /// What the faulty kernels take.
    struct FaultParams {
        /// Elements.
        count: u32,
        /// Nothing.
        unused: u32,
    }
}

/// Elements that the operands of a case have at most: each is one instruction after the other.
const ELEMENTS_MAX: usize = 700;

const FAULTS: [(&str, &str); 3] = [
    (
        "race",
        "KERNEL(faulty, WG)(IN(f32, x), OUT(f32, y), PARAMS(FaultParams)) {
            SHARED float s[WG];
            s[TID] = x[TID];
            y[TID] = s[WG - 1u - TID];
        }",
    ),
    (
        "bounds",
        "KERNEL(faulty, WG)(IN(f32, x), OUT(f32, y), PARAMS(FaultParams)) {
            y[TID] = x[TID + p.count];
        }",
    ),
    (
        "uninitialized",
        "KERNEL(faulty, WG)(IN(f32, x), OUT(f32, y), PARAMS(FaultParams)) {
            SHARED float s[WG];
            if (TID > 7u) s[TID] = x[TID];
            BARRIER();
            if (s[TID] > 0.0f) y[TID] = 1.0f;
        }",
    ),
];

const GROUP: u32 = 64;

fn faulty(gpu: &GpuDevice, fault: &str) -> Result<()> {
    let Some((_, text)) = FAULTS.iter().find(|(name, _)| *name == fault) else {
        bail!("no fault is called {fault:?}; there are race, bounds and uninitialized");
    };
    let text: &str = text;
    let source = KernelSource::new(
        "faulty",
        leak(text),
        &[],
        Some(params_text::<FaultParams>),
        GROUP,
    );
    let source: &'static KernelSource = Box::leak(Box::new(source));
    let bytes = 4 * GROUP as usize;
    let (x, y) = (gpu.buffer(bytes)?, gpu.buffer(bytes)?);
    gpu.fill(&x, 0..bytes, 0)?;
    let params = FaultParams {
        // A pooled buffer has at least 256 bytes: far behind its end.
        count: 1 << 16,
        unused: 0,
    };
    let operands = [(&x, 0..bytes), (&y, 0..bytes)];
    gpu.launch(&Variant::new(source), &operands, &params, [1, 1, 1])?;
    Ok(gpu.synchronize()?)
}

#[allow(clippy::print_stdout)] // it is what the example is for
fn sample(device: &Device, least: usize, is_wanted: impl Fn(&str) -> bool) -> Result<()> {
    let report = testing::device_sample(device, ELEMENTS_MAX, is_wanted)?;
    println!("{} results right", report.compared);
    match report.failures.is_empty() && report.compared >= least {
        true => Ok(()),
        false => bail!(
            "{} right, of {least} at least; {}",
            report.compared,
            report.failures.join("\n")
        ),
    }
}

fn leak(text: &str) -> &'static str {
    String::leak(text.to_string())
}

#[allow(clippy::print_stdout)] // it is what the example is for
fn main() -> Result<()> {
    // Compiled kernels of another OpenCL must not come in.
    let driver = drivers::open(Api::OpenCl, 0)?;
    let gpu = GpuDevice::with_driver(driver, &Settings::plain());
    println!("{gpu:?}");
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => sample(&Device::from_gpu(gpu), 100, |_| true),
        ["--only", name] => sample(&Device::from_gpu(gpu), 1, |op| op == *name),
        ["--skip", name] => sample(&Device::from_gpu(gpu), 100, |op| op != *name),
        ["--fault", fault] => faulty(&gpu, fault),
        other => bail!(
            "unknown arguments {other:?}; want none, --only NAME, --skip NAME or --fault NAME"
        ),
    }
}
