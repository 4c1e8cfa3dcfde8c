//! `tallow bench queue`: what many small operations, one after the other, cost on a GPU.

use std::time::Instant;

use tallow::{DType, Device, GpuDevice, Tensor};
use tallow_gpu::{Settings, drivers};

use crate::device::GpuArgument;
use crate::error::{Error, Result};
use crate::output;

/// A chain of dependent additions.
struct Chain {
    adds: usize,
    elements: usize,
    /// candle-core 0.11.0 on an M2 Max (macOS 27): encode, synchronize, read back, total, in
    /// milliseconds, as far as it is known.
    known: [&'static str; 4],
    /// Its total for each of [`BATCHES`].
    known_totals: [&'static str; BATCHES.len()],
}

/// Commands in a batch; `None` is what holds without a setting.
const BATCHES: [Option<usize>; 6] = [None, Some(0), Some(1), Some(10), Some(50), Some(1000)];

const CHAINS: [Chain; 2] = [
    Chain {
        adds: 500,
        elements: 1 << 20,
        known: ["0.8", "7.4", "0.7", "8.8 to 9.0"],
        known_totals: [
            "8.8 to 9.0",
            "10.0 to 10.8",
            "10.5",
            "8.7 to 8.9",
            "8.8 to 9.0",
            "9.1 to 9.4",
        ],
    },
    Chain {
        adds: 5000,
        elements: 1 << 10,
        known: ["6.9", "-", "-", "10.0 to 10.3"],
        known_totals: [
            "10.0 to 10.3",
            "82 to 88",
            "85.5 to 86.5",
            "13.4 to 13.7",
            "10.0 to 10.3",
            "11.9 to 12.3",
        ],
    },
];

/// Measure chains of additions on a GPU, over batch sizes, in milliseconds.
///
/// Times are those of recording the commands (encode), of waiting for them (synchronize), and of
/// reading one value back; once in this order, and once with the read-back first. Beside them stand
/// the figures of candle-core 0.11.0 on an M2 Max, another machine: a scale, not a comparison.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow bench queue --device cuda:0")]
pub(super) struct Arguments {
    #[command(flatten)]
    device: GpuArgument,
    /// Samples to take the median of.
    #[arg(long, value_name = "N", default_value_t = 5)]
    samples: usize,
}

/// One pass over a chain, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Pass {
    encode: f64,
    synchronize: f64,
    read_back: f64,
}

impl Pass {
    fn total(&self) -> f64 {
        self.encode + self.synchronize + self.read_back
    }
}

impl Arguments {
    pub(super) fn run(&self) -> Result<()> {
        let gpu = self.device.open()?;
        output::line(format!("{gpu:?}, milliseconds"))?;
        let titles = ["chain", "batch", "order", "encode", "synchronize", "read back", "total"];
        let mut rows = vec![titles.map(String::from).to_vec()];
        rows[0].push("M2 Max".into());
        for chain in &CHAINS {
            for (at, batch) in BATCHES.iter().enumerate() {
                let device = with_batch(&gpu, *batch)?;
                for read_first in [false, true] {
                    let pass = self.measure(chain, &device, read_first)?;
                    rows.push(row(chain, at, read_first, &pass));
                }
            }
            let mut known = vec!["", "", "M2 Max"];
            known.extend(chain.known);
            rows.push(known.into_iter().map(String::from).collect());
        }
        output::table(&rows, 3)?;
        output::line("\nM2 Max: candle-core 0.11.0 on Metal, macOS 27")
    }

    fn measure(&self, chain: &Chain, device: &Device, read_first: bool) -> Result<Pass> {
        // The first pass compiles the kernel and fills the pool.
        chain.pass(device, read_first)?;
        let passes = (0..self.samples.max(1)).map(|_| chain.pass(device, read_first));
        let mut passes = passes.collect::<Result<Vec<_>>>()?;
        passes.sort_by(|lhs, rhs| lhs.total().total_cmp(&rhs.total()));
        Ok(passes[passes.len() / 2])
    }
}

/// The GPU once more, with so many commands in a batch.
fn with_batch(gpu: &GpuDevice, batch: Option<usize>) -> Result<Device> {
    let info = gpu.info();
    let mut settings = Settings::from_env().map_err(tallow::Error::from)?;
    if let Some(batch) = batch {
        settings.batch = batch.max(1);
    }
    let driver = drivers::open(info.api, info.ordinal).map_err(tallow::Error::from)?;
    Ok(Device::from_gpu(GpuDevice::with_driver(driver, &settings)))
}

impl Chain {
    fn pass(&self, device: &Device, read_first: bool) -> Result<Pass> {
        let one = Tensor::ones(self.elements, DType::F32, device)?;
        let mut sum = Tensor::zeros(self.elements, DType::F32, device)?;
        device.synchronize()?;
        let start = Instant::now();
        for _ in 0..self.adds {
            sum = sum.add(&one)?;
        }
        let encode = milliseconds(start);
        let mut times = [0.0; 2];
        for step in [usize::from(read_first), usize::from(!read_first)] {
            let start = Instant::now();
            match step {
                0 => device.synchronize()?,
                _ => self.check(&sum)?,
            }
            times[step] = milliseconds(start);
        }
        let [synchronize, read_back] = times;
        Ok(Pass {
            encode,
            synchronize,
            read_back,
        })
    }

    /// Reads the last value, which says whether every addition was made.
    fn check(&self, sum: &Tensor) -> Result<()> {
        let last = sum.narrow(0, self.elements - 1, 1)?.to_vec1::<f32>()?[0];
        match last == self.adds as f32 {
            true => Ok(()),
            false => Err(Error::Text(format!(
                "bench queue: {} additions of 1 gave {last}",
                self.adds
            ))),
        }
    }
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn row(chain: &Chain, batch: usize, read_first: bool, pass: &Pass) -> Vec<String> {
    let order = match read_first {
        true => "read first",
        false => "wait first",
    };
    let name = BATCHES[batch].map_or("default".to_string(), |batch| batch.to_string());
    let mut cells = vec![
        format!("{} × {}", chain.adds, chain.elements),
        name,
        order.to_string(),
    ];
    let times = [pass.encode, pass.synchronize, pass.read_back, pass.total()];
    cells.extend(times.map(|time| format!("{time:.2}")));
    let known = match read_first {
        true => "",
        false => chain.known_totals[batch],
    };
    cells.push(known.to_string());
    cells
}
