//! `tallow bench first-use`: what the first call of an operation costs on a GPU, and a later one.

use std::time::Instant;

use tallow::quantized::{GgmlDType, QMatMul, QTensor};
use tallow::{DType, Device, Tensor};

use super::{cold, timing};
use crate::device::GpuArgument;
use crate::error::Result;
use crate::output;

/// Measure the first and a later call of operations on a GPU, in milliseconds.
///
/// Beside them stand the figures of candle-core 0.11.0 on an M2 Max, with and without the system's
/// cache of compiled kernels: a scale, not a comparison.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow bench first-use --cold --device cuda:0")]
pub(super) struct Arguments {
    #[command(flatten)]
    device: GpuArgument,
    /// Let no cache help: every kernel is compiled.
    #[arg(long)]
    cold: bool,
}

/// Later calls, of which the median is shown.
const LATER: usize = 9;

type Call = Box<dyn Fn() -> tallow::Result<Tensor>>;

/// An operation, and candle-core 0.11.0's milliseconds on an M2 Max: cold, with the system's cache,
/// and later.
struct Row {
    name: &'static str,
    make: fn(&Device) -> tallow::Result<Call>,
    known: [&'static str; 3],
}

const ROWS: &[Row] = &[
    row("add", add, ["580", "3.1", "0.55"]),
    row("mul", mul, ["0.54", "-", "0.22"]),
    row("exp", exp, ["123", "-", "0.20"]),
    row("matmul 512", matmul_512, ["4012", "3.0", "0.70"]),
    row("matmul 500", matmul_500, ["98", "-", "0.71"]),
    row("sum", sum, ["4490", "1.9", "0.55"]),
    row("softmax", softmax, ["0.38", "-", "0.21"]),
    row("cast to f16", cast, ["55", "-", "0.21"]),
    row("matmul Q8_0", quantized, ["819", "2.4", "0.53"]),
];

/// The same on a second handle of the device.
const AGAIN: &[Row] = &[
    row("add", add, ["0.59", "-", "-"]),
    row("matmul 512", matmul_512, ["1.04", "-", "-"]),
];

const fn row(
    name: &'static str,
    make: fn(&Device) -> tallow::Result<Call>,
    known: [&'static str; 3],
) -> Row {
    Row { name, make, known }
}

impl Arguments {
    pub(super) fn run(&self) -> Result<()> {
        if self.cold && cold::restarted()? {
            return Ok(());
        }
        let start = Instant::now();
        let gpu = self.device.open()?;
        let open = milliseconds(start);
        let device = Device::from_gpu(gpu.clone());
        let titles = ["milliseconds", "first", "later", "M2 Max cold", "cached", "later"];
        let mut rows = vec![titles.map(String::from).to_vec()];
        let opened = ["open", &format!("{open:.1}"), "", "8.4", "", ""];
        rows.push(opened.map(String::from).to_vec());
        for row in ROWS {
            rows.push(measure("", row, &device)?);
        }
        let second = Device::from_gpu(self.device.open()?);
        for row in AGAIN {
            rows.push(measure("second handle: ", row, &second)?);
        }
        output::line(format!("{gpu:?}"))?;
        output::table(&rows, 1)?;
        let kernels = gpu.statistics().kernels;
        let (compiled, loaded) = (kernels.compiled, kernels.loaded + kernels.packed);
        output::line(format!("\n{compiled} kernels compiled, {loaded} loaded"))?;
        output::line("M2 Max: candle-core 0.11.0 on Metal, macOS 27")
    }
}

fn measure(prefix: &str, row: &Row, device: &Device) -> Result<Vec<String>> {
    let call = (row.make)(device)?;
    device.synchronize()?;
    let time = || -> Result<f64> {
        let start = Instant::now();
        let made = call()?;
        device.synchronize()?;
        let time = milliseconds(start);
        drop(made);
        Ok(time)
    };
    let first = time()?;
    let mut later = (0..LATER).map(|_| time()).collect::<Result<Vec<_>>>()?;
    later.sort_by(f64::total_cmp);
    let later = later[LATER / 2];
    let mut cells = vec![format!("{prefix}{}", row.name)];
    cells.extend([first, later].map(|time| format!("{time:.2}")));
    cells.extend(row.known.map(String::from));
    Ok(cells)
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn square(size: usize, device: &Device) -> tallow::Result<Tensor> {
    Tensor::from_vec(timing::values(size * size), (size, size), device)
}

fn unary(
    device: &Device,
    call: impl Fn(&Tensor) -> tallow::Result<Tensor> + 'static,
) -> tallow::Result<Call> {
    let x = square(1024, device)?;
    Ok(Box::new(move || call(&x)))
}

fn add(device: &Device) -> tallow::Result<Call> {
    unary(device, |x| x.add(x))
}

fn mul(device: &Device) -> tallow::Result<Call> {
    unary(device, |x| x.mul(x))
}

fn exp(device: &Device) -> tallow::Result<Call> {
    unary(device, Tensor::exp)
}

fn sum(device: &Device) -> tallow::Result<Call> {
    unary(device, Tensor::sum_all)
}

fn softmax(device: &Device) -> tallow::Result<Call> {
    unary(device, tallow::ops::softmax_last_dim)
}

fn cast(device: &Device) -> tallow::Result<Call> {
    unary(device, |x| x.to_dtype(DType::F16))
}

fn matmul(size: usize, device: &Device) -> tallow::Result<Call> {
    let x = square(size, device)?;
    Ok(Box::new(move || x.matmul(&x)))
}

fn matmul_512(device: &Device) -> tallow::Result<Call> {
    matmul(512, device)
}

fn matmul_500(device: &Device) -> tallow::Result<Call> {
    matmul(500, device)
}

fn quantized(device: &Device) -> tallow::Result<Call> {
    let weights = QTensor::quantize_onto(&square(1024, &Device::Cpu)?, GgmlDType::Q8_0, device)?;
    weights.upload()?;
    let (weights, x) = (QMatMul::from_qtensor(weights)?, square(1024, device)?);
    Ok(Box::new(move || weights.forward(&x)))
}
