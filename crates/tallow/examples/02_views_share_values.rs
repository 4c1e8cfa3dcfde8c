//! Narrowing, transposing and broadcasting copy nothing: they are new layouts over the same values.
//!
//! `cargo run -p tallow --example 02_views_share_values`

#![allow(clippy::print_stdout)]

use tallow::{Device, Result, Tensor};

fn main() -> Result<()> {
    let grid = Tensor::arange(0u32, 12u32, &Device::Cpu)?.reshape((3, 4))?;
    for (what, view) in [
        ("as it is", grid.clone()),
        ("transposed", grid.t()?),
        ("columns 1 and 2", grid.narrow(1, 1, 2)?),
        (
            "row 1, five times",
            grid.narrow(0, 1, 1)?.broadcast_as((5, 4))?,
        ),
    ] {
        let layout = view.layout();
        println!(
            "{what}: shape {:?}, strides {:?}, starts at {}",
            view.dims(),
            view.stride(),
            layout.start_offset()
        );
    }
    // Only here are values copied, into the order in which the transposed view reads them.
    let copied = grid.t()?.contiguous()?;
    println!("transposed and copied: {:?}", copied.to_vec2::<u32>()?);
    Ok(())
}
