//! Operations that the memory of a device bounds, timed: `device_elements cuda:0 67108864`.
//!
//! Lines `name,microseconds,gigabytes_per_second`; medians of seven batches that end with
//! `synchronize`. `bench/rivals/python/torch_elements.py` times the same of PyTorch.
#![allow(clippy::print_stdout)]

mod timing;

use tallow::{DType, DeviceName, Result, Tensor, ops};

/// Elements of a row of softmax and of the norm.
const COLUMNS: usize = 4096;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name: DeviceName = arguments.next().as_deref().unwrap_or("auto").parse()?;
    let device = name.open()?;
    let count = arguments.next().and_then(|count| count.parse().ok());
    let rows = count.unwrap_or(1 << 26) / COLUMNS;
    println!("name,microseconds,gigabytes_per_second");
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let random = || Tensor::rand(0.5f32, 1.5, (rows, COLUMNS), &device)?.to_dtype(dtype);
        let (x, y) = (random()?, random()?);
        let weight = Tensor::ones(COLUMNS, dtype, &device)?;
        let other = if dtype == DType::F32 {
            DType::F16
        } else {
            DType::F32
        };
        let size = dtype.size_in_bytes();
        type Run<'a> = &'a dyn Fn() -> Result<Tensor>;
        let runs: [(&str, usize, Run<'_>); 8] = [
            ("add", 3 * size, &|| x.add(&y)),
            ("mul", 3 * size, &|| x.mul(&y)),
            ("exp", 2 * size, &|| x.exp()),
            ("gelu_erf", 2 * size, &|| x.gelu_erf()),
            ("cast", size + other.size_in_bytes(), &|| x.to_dtype(other)),
            ("sum_rows", size, &|| x.sum(1)),
            ("softmax", 2 * size, &|| ops::softmax(&x, 1)),
            ("rms_norm", 2 * size, &|| ops::rms_norm(&x, &weight, 1e-5)),
        ];
        for (what, bytes, run) in runs {
            let seconds = timing::seconds(&device, run)?;
            let rate = (bytes * rows * COLUMNS) as f64 / seconds / 1e9;
            println!("{what}_{},{:.2},{rate:.0}", dtype.as_str(), seconds * 1e6);
        }
    }
    Ok(())
}
