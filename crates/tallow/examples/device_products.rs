//! Matrix products and attention of a device, checked and timed: `device_products cuda:0`.
//!
//! Each product is checked at a sample of its results against sums in f64, and the error is given
//! relative to the sum of the magnitudes; attention is compared with the processor's. Times are
//! medians of seven batches that end with `synchronize`. A second argument narrows the run to the
//! lines whose names contain it.
#![allow(clippy::print_stdout)]

mod timing;

use tallow::ops::{AttentionOptions, attention};
use tallow::quantized::{GgmlDType, QMatMul, QTensor};
use tallow::{DType, Device, DeviceName, Result, Tensor, bail};

/// Results that are checked along each side.
const SAMPLES: usize = 12;

struct Run {
    device: Device,
    filter: String,
    failed: usize,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name: DeviceName = arguments.next().as_deref().unwrap_or("auto").parse()?;
    let device = name.open()?;
    let mut run = Run {
        device,
        filter: arguments.next().unwrap_or_default(),
        failed: 0,
    };
    println!("name,error,microseconds,teraflops");
    quantized(&mut run)?;
    dense(&mut run)?;
    attentions(&mut run)?;
    match run.failed {
        0 => Ok(()),
        failed => bail!("{failed} products are off by more than their bounds"),
    }
}

/// Rows of x, rows and columns of W: odd tails, the layers of SmolLM2-135M, and large ones.
const QUANTIZED: [[usize; 3]; 12] = [
    [9, 37, 256],
    [65, 131, 512],
    [512, 192, 768],
    [32, 576, 768],
    [512, 576, 768],
    [512, 1536, 768],
    [512, 576, 1536],
    [2048, 1536, 768],
    [200, 3001, 1024],
    [1, 4096, 4096],
    [512, 4096, 4096],
    [4096, 4096, 4096],
];

fn quantized(run: &mut Run) -> Result<()> {
    use GgmlDType::{BF16, F16, F32, Q4_0, Q4_1, Q4K, Q6K, Q8_0};
    for format in [Q4_0, Q4_1, Q8_0, Q4K, Q6K, F16, BF16, F32] {
        for [m, n, k] in QUANTIZED {
            let name = format!("qmatmul_{format:?}_{m}x{n}x{k}");
            if !run.wants(&name) {
                continue;
            }
            let values = Tensor::randn(0f32, 1f32, (n, k), &Device::Cpu)?;
            let weight = QTensor::quantize(&values, format)?;
            let unpacked = weight.dequantize(&Device::Cpu)?;
            let matrix = QMatMul::from_qtensor(weight)?.to_device(&run.device)?;
            let x = Tensor::randn(0f32, 1f32, (m, k), &Device::Cpu)?;
            let on_device = x.to_device(&run.device)?;
            // The processor rounds x to eight bits; a device has about sixteen bits of it.
            let bound = if run.device.is_cpu() { 5e-3 } else { 8e-6 };
            let operands = [&x, &unpacked.t()?];
            run.product(&name, operands, bound, || matrix.forward(&on_device))?;
        }
    }
    Ok(())
}

fn dense(run: &mut Run) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        // Sums in f32; the result is rounded to the dtype.
        let bound = match dtype {
            DType::F32 => 2e-6,
            DType::F16 => 1e-3,
            _ => 8e-3,
        };
        for [m, n, k] in [
            [1024, 1024, 1024],
            [4096, 4096, 4096],
            [8192, 8192, 8192],
            [1000, 600, 520],
            [1, 4096, 4096],
        ] {
            for turned in ["", "_rhsT", "_lhsT"] {
                let name = format!("matmul_{}_{m}x{n}x{k}{turned}", dtype.as_str());
                if !run.wants(&name) || (!turned.is_empty() && m > 4096) {
                    continue;
                }
                let random = |rows, columns| {
                    Tensor::randn(0f32, 1f32, (rows, columns), &run.device)?.to_dtype(dtype)
                };
                let lhs = match turned {
                    "_lhsT" => random(k, m)?.t()?,
                    _ => random(m, k)?,
                };
                let rhs = match turned {
                    "_rhsT" => random(n, k)?.t()?,
                    _ => random(k, n)?,
                };
                run.product(&name, [&lhs, &rhs], bound, || lhs.matmul(&rhs))?;
            }
        }
    }
    Ok(())
}

/// Heads, heads of keys, queries, keys, features: SmolLM2's, long heads, one query.
const ATTENTIONS: [[usize; 5]; 9] = [
    [9, 3, 32, 32, 64],
    [9, 3, 512, 512, 64],
    [9, 3, 2048, 2048, 64],
    [9, 3, 100, 3000, 64],
    [32, 8, 1024, 1024, 128],
    [8, 2, 300, 700, 96],
    [4, 1, 512, 512, 256],
    [9, 3, 1, 512, 64],
    [32, 8, 1, 8192, 128],
];

fn attentions(run: &mut Run) -> Result<()> {
    use DType::{BF16, F16, F32};
    for (dtype, kv_dtype, bound) in [(F32, F16, 2e-5), (F16, F16, 2e-3), (BF16, BF16, 2e-2)] {
        for [heads, kv_heads, q_len, kv_len, head_dim] in ATTENTIONS {
            let shape = format!("{heads}x{kv_heads}x{q_len}x{kv_len}x{head_dim}");
            let name = format!("attention_{}_{}_{shape}", dtype.as_str(), kv_dtype.as_str());
            if !run.wants(&name) {
                continue;
            }
            let random = |heads, len, dtype| {
                let shape = (1, heads, len, head_dim);
                Tensor::randn(0f32, 1f32, shape, &Device::Cpu)?.to_dtype(dtype)
            };
            let q = random(heads, q_len, dtype)?;
            let [k, v] = [
                random(kv_heads, kv_len, kv_dtype)?,
                random(kv_heads, kv_len, kv_dtype)?,
            ];
            let options = AttentionOptions::causal(1.0 / (head_dim as f32).sqrt());
            let want = attention(&q, &k, &v, options)?;
            let there = |tensor: &Tensor| tensor.to_device(&run.device);
            let (q, k, v) = (there(&q)?, there(&k)?, there(&v)?);
            let call = || attention(&q, &k, &v, options);
            let got = call()?.to_device(&Device::Cpu)?.to_dtype(F32)?;
            let error = (got - want.to_dtype(F32)?)?.abs()?.flatten_all()?;
            // A maximum may pass over a NaN, a sum cannot.
            let (most, sum) = (error.max(0)?, error.sum(0)?);
            let most = f64::from(most.to_scalar::<f32>()? + 0.0 * sum.to_scalar::<f32>()?);
            let pairs = q_len * kv_len - q_len * (q_len - 1) / 2;
            let work = 4.0 * (heads * head_dim) as f64 * pairs as f64;
            run.line(&name, most, bound, work, call)?;
        }
    }
    Ok(())
}

impl Run {
    fn wants(&self, name: &str) -> bool {
        name.contains(&self.filter)
    }

    /// Checks and times the product of `lhs [m, k]` and `rhs [k, n]`.
    fn product(
        &mut self,
        name: &str,
        [lhs, rhs]: [&Tensor; 2],
        bound: f64,
        product: impl Fn() -> Result<Tensor>,
    ) -> Result<()> {
        let ((m, k), (_, n)) = (lhs.dims2()?, rhs.dims2()?);
        let error = worst_error(lhs, rhs, &product()?)?;
        self.line(name, error, bound, 2.0 * (m * n) as f64 * k as f64, product)
    }

    /// Prints a result of `work` operations, and notes one that is wrong.
    fn line(
        &mut self,
        name: &str,
        error: f64,
        bound: f64,
        work: f64,
        call: impl Fn() -> Result<Tensor>,
    ) -> Result<()> {
        let seconds = timing::seconds(&self.device, &call)?;
        let rate = work / seconds / 1e12;
        // A NaN is a failure too.
        let verdict = if error <= bound { "" } else { ",WRONG" };
        self.failed += usize::from(!verdict.is_empty());
        println!("{name},{error:.2e},{:.2},{rate:.2}{verdict}", seconds * 1e6);
        Ok(())
    }
}

/// Rows or columns to look at: the first and last, and some between.
fn sample(size: usize) -> Vec<usize> {
    let count = SAMPLES.min(size);
    (0..count)
        .map(|at| at * (size - 1) / (count - 1).max(1))
        .collect()
}

/// A row as f64.
fn row(matrix: &Tensor, at: usize) -> Result<Vec<f64>> {
    let row = matrix.narrow(0, at, 1)?.contiguous()?.flatten_all()?;
    row.to_dtype(DType::F32)?
        .to_device(&Device::Cpu)?
        .to_dtype(DType::F64)?
        .to_vec1()
}

fn worst_error(lhs: &Tensor, rhs: &Tensor, out: &Tensor) -> Result<f64> {
    let columns = sample(rhs.dims2()?.1);
    let turned = rhs.t()?;
    let rhs: Vec<Vec<f64>> = columns
        .iter()
        .map(|&at| row(&turned, at))
        .collect::<Result<_>>()?;
    let mut worst = 0f64;
    for at in sample(lhs.dims2()?.0) {
        let (left, got) = (row(lhs, at)?, row(out, at)?);
        for (&column, right) in columns.iter().zip(&rhs) {
            let products = left.iter().zip(right).map(|(a, b)| a * b);
            let (sum, size) = products.fold((0.0, 0.0), |(sum, size), product| {
                (sum + product, size + f64::abs(product))
            });
            let error = (got[column] - sum).abs() / size.max(f64::MIN_POSITIVE);
            worst = if error.is_nan() {
                f64::NAN
            } else {
                worst.max(error)
            };
            if worst.is_nan() {
                return Ok(worst);
            }
        }
    }
    Ok(worst)
}
