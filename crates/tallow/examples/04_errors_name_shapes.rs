//! What cannot be done is an error that names the operation and every operand's shape.
//!
//! `cargo run -p tallow --example 04_errors_name_shapes`

#![allow(clippy::print_stdout)]

use tallow::{DType, Device, Result, Tensor};

fn main() -> Result<()> {
    let lhs = Tensor::zeros((2, 3, 4), DType::F32, &Device::Cpu)?;
    let rhs = Tensor::zeros((5, 6), DType::F32, &Device::Cpu)?;
    let halves = Tensor::zeros((2, 3, 4), DType::F16, &Device::Cpu)?;
    for wrong in [lhs.matmul(&rhs), lhs.add(&halves), lhs.narrow(2, 3, 2)] {
        match wrong {
            Ok(tensor) => println!("{tensor:?}"),
            Err(error) => println!("error: {error}"),
        }
    }
    Ok(())
}
