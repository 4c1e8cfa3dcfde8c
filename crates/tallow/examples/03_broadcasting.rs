//! A row or a column meets a whole matrix: sizes of 1 are repeated, and nothing is copied for it.
//!
//! `cargo run -p tallow --example 03_broadcasting`

#![allow(clippy::print_stdout)]

use tallow::{D, Device, Result, Tensor};

fn main() -> Result<()> {
    let scores = Tensor::new(&[[1f32, 2., 3.], [10., 20., 60.]], &Device::Cpu)?;
    let means = scores.mean_keepdim(D::Minus1)?;
    let centred = scores.broadcast_sub(&means)?;
    println!("each row less its mean: {:?}", centred.to_vec2::<f32>()?);
    Ok(())
}
