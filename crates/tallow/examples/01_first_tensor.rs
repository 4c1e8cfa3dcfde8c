//! A tensor is values, a shape and a dtype; what one computes comes back as plain Rust values.
//!
//! `cargo run -p tallow --example 01_first_tensor`

#![allow(clippy::print_stdout)]

use tallow::{DType, Device, Result, Tensor};

fn main() -> Result<()> {
    let weights = Tensor::new(&[[1f32, 2.], [3., 4.]], &Device::Cpu)?;
    let inputs = Tensor::arange(0f32, 6f32, &Device::Cpu)?.reshape((2, 3))?;
    let product = weights.matmul(&inputs)?;
    println!(
        "{:?} times {:?} is {:?}:",
        weights.shape(),
        inputs.shape(),
        product.shape()
    );
    println!("{:?}", product.to_vec2::<f32>()?);

    let halves = product.to_dtype(DType::F16)?;
    println!(
        "the same in {}: {:?}",
        halves.dtype().as_str(),
        halves.get(0)?
    );
    Ok(())
}
