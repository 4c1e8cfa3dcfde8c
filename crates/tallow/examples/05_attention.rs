//! Attention is one operation: it never makes the matrix of all scores.
//!
//! `cargo run -p tallow --example 05_attention`

#![allow(clippy::print_stdout)]

use tallow::ops::{AttentionOptions, attention};
use tallow::{DType, Device, Result, Tensor};

fn main() -> Result<()> {
    // Four query heads share two heads of keys and values; eight positions of sixteen values.
    let (heads, kv_heads, len, head_dim) = (4, 2, 8, 16);
    let wave = |count: usize| -> Result<Tensor> {
        let angles = Tensor::arange(0u32, count as u32, &Device::Cpu)?;
        angles.to_dtype(DType::F32)?.sin()
    };
    let queries = wave(heads * len * head_dim)?.reshape((1, heads, len, head_dim))?;
    let keys = wave(kv_heads * len * head_dim)?.reshape((1, kv_heads, len, head_dim))?;
    let values = keys.cos()?;

    let scale = 1.0 / (head_dim as f32).sqrt();
    let mixed = attention(&queries, &keys, &values, AttentionOptions::causal(scale))?;
    println!(
        "{:?} over {:?} gives {:?}",
        queries.shape(),
        keys.shape(),
        mixed.shape()
    );

    // The first position sees only itself, so its row is its own value.
    let first: Vec<f32> = mixed.narrow(2, 0, 1)?.flatten_all()?.to_vec1()?;
    let own: Vec<f32> = values.narrow(2, 0, 1)?.flatten_all()?.to_vec1()?;
    println!("head 0, position 0: {:?} = {:?}", &first[..3], &own[..3]);
    Ok(())
}
