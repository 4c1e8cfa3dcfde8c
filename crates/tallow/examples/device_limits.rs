//! A tensor of more than 2^32 elements, and a loop of growing sizes: `device_limits cuda:0`.
//!
//! The tensor is a matrix of 65,537 rows and columns, or as many as a second argument says; it is
//! 0 but for a few marks about 2^31, 2^32 and the ends, and after each operation the marks and
//! their neighbours are read back. The loop makes, adds and drops tensors of ever larger sizes;
//! what the device's pool keeps stays within its budget, an eighth of the memory.
#![allow(clippy::print_stdout)]

use tallow::{DType, Device, DeviceName, Result, Tensor, bail};

/// Elements of a mark: 1, 2, 3, 4.
const MARK: usize = 4;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name: DeviceName = arguments.next().as_deref().unwrap_or("auto").parse()?;
    let device = name.open()?;
    let side = arguments.next().and_then(|side| side.parse().ok());
    large(&device, side.unwrap_or(65_537))?;
    if let Some(gpu) = device.gpu() {
        growing(&device, gpu)?;
    }
    Ok(())
}

/// Where the marks start.
fn places(side: usize) -> Vec<usize> {
    let count = side * side;
    let inner = [1usize << 31, 1 << 32].map(|border| border - 2);
    let mut places = vec![0, count - MARK];
    places.extend(inner.into_iter().filter(|at| at + 2 * MARK < count));
    places
}

/// Whether `f` of each element of the marks and beside them is what `found` has.
fn check(what: &str, found: &Tensor, side: usize, f: impl Fn(f64) -> f64) -> Result<()> {
    let (flat, count) = (found.flatten_all()?, side * side);
    let places = places(side);
    let value = |at: usize| {
        let mark = places
            .iter()
            .find(|place| (**place..**place + MARK).contains(&at));
        mark.map_or(0, |place| at - place + 1) as f64
    };
    let mut wrong = 0;
    for place in &places {
        let start = place.saturating_sub(MARK);
        let len = (count - start).min(3 * MARK);
        let read = flat.narrow(0, start, len)?.to_device(&Device::Cpu)?;
        let read = read.to_dtype(DType::F64)?.to_vec1::<f64>()?;
        let of = |at| f(value(start + at));
        wrong += (0..len).filter(|at| read[*at] != of(*at)).count();
    }
    report(what, wrong == 0)
}

fn report(what: &str, right: bool) -> Result<()> {
    println!("{what}: {}", if right { "right" } else { "WRONG" });
    match right {
        true => Ok(()),
        false => bail!("device_limits: {what} is wrong"),
    }
}

fn large(device: &Device, side: usize) -> Result<()> {
    let count = side * side;
    println!("{count} elements");
    let x = Tensor::zeros(count, DType::U8, device)?;
    let mark = Tensor::new(&[1u8, 2, 3, 4], device)?;
    for place in places(side) {
        x.slice_set(&mark, 0, place)?;
    }
    check("slice_set", &x, side, |v| v)?;
    let y = x.affine(2.0, 1.0)?;
    check("affine", &y, side, |v| 2.0 * v + 1.0)?;
    check("mul", &x.mul(&y)?, side, |v| v * (2.0 * v + 1.0))?;
    let is_mark = x.gt(0u8)?;
    check("gt", &is_mark, side, |v| f64::from(u8::from(v > 0.0)))?;
    let chosen = is_mark.where_cond(&y, &x)?;
    check("where_cond", &chosen, side, |v| {
        if v > 0.0 { 2.0 * v + 1.0 } else { 0.0 }
    })?;
    drop((y, is_mark, chosen));
    let wide = x.to_dtype(DType::F16)?;
    check("to_dtype", &wide, side, |v| v)?;
    check("sqr", &wide.sqr()?, side, |v| v * v)?;
    drop(wide);
    let total = 10.0 * places(side).len() as f64;
    let sum = |of: &Tensor| -> Result<f64> {
        let sum = of.to_device(&Device::Cpu)?.to_dtype(DType::F64)?;
        sum.sum_all()?.to_scalar::<f64>()
    };
    report("sum_all", sum(&x.sum_all()?)? == total)?;
    let matrix = x.reshape((side, side))?;
    report("sum of rows", sum(&matrix.sum(1)?)? == total)?;
    report("sum of columns", sum(&matrix.sum(0)?)? == total)?;
    let greatest = sum(&matrix.max(1)?.max(0)?)?;
    report("max", greatest == 4.0)?;
    let turned = matrix.t()?.contiguous()?;
    report("transpose", sum(&turned.sum_all()?)? == total)?;
    check("transposed twice", &turned.t()?.contiguous()?, side, |v| v)?;
    drop(turned);
    let ids = Tensor::new(&[side as u32 - 1, 0], device)?;
    let ends = matrix.index_select(&ids, 0)?;
    let rows = |row: usize| move |place: &&usize| **place / side == row;
    let of_ends = [side - 1, 0].map(|row| places(side).iter().filter(rows(row)).count());
    let wanted = 10.0 * of_ends.iter().sum::<usize>() as f64;
    report("index_select", sum(&ends.sum_all()?)? == wanted)?;
    let parts = [
        matrix.narrow(0, 0, side / 2)?,
        matrix.narrow(0, side / 2, side - side / 2)?,
    ];
    check("cat", &Tensor::cat(&parts, 0)?, side, |v| v)
}

fn growing(device: &Device, gpu: &tallow::gpu::GpuDevice) -> Result<()> {
    let memory = gpu.info().memory_bytes;
    let (mut bytes, mut steps, mut most) = (1u64 << 20, 0, 0);
    while bytes < memory / 8 {
        let ones = Tensor::ones(bytes as usize / 4, DType::F32, device)?;
        let sum = ones.add(&ones)?.narrow(0, bytes as usize / 4 - 1, 1)?;
        if sum.to_vec1::<f32>()? != [2.0] {
            bail!("device_limits: {bytes} bytes: {sum}");
        }
        drop((ones, sum));
        device.synchronize()?;
        most = most.max(gpu.statistics().pooled_bytes);
        steps += 1;
        bytes += bytes / 16;
    }
    println!("{steps} sizes up to {bytes} bytes; the pool kept up to {most} of {memory}");
    report("budget", most <= memory / 8)
}
