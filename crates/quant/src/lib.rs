//! GGUF block formats: pack, unpack, dot products, matrix multiply.
//!
//! Weights of a language model are stored as blocks: 32 or 256 small integer codes with the
//! scales that turn them back to numbers. This crate packs floats to blocks ([`quantize`]), unpacks
//! them ([`dequantize`]), and multiplies activations with them as they are ([`matmul`]), or after
//! interleaving rows for speed ([`Repacked`]). It knows bytes and slices, no tensors.
//!
//! The maths: a weight is `s·q + o` with its group's scale and offset, an activation `a·c` with an
//! 8-bit code, so a group's part of a dot product is `a·s·Σ q·c + o·a·Σ c`: integer products, which
//! vector instructions do 16 to 64 at a time, and two multiplications.
//!
//! Reading order: `formats` (the blocks), `codes` (what kernels see of them), `dot` (vector
//! operations for each instruction set), `activations`, `row` (one row at a time, from the file's
//! bytes), `repack` (many rows side by side), `matmul`, `float` (weights that are plain floats).
//! A new format is a folder in `formats` and a line in `table`.
//!
//! ```
//! use tallow_quant::{GgmlDType, dequantize, quantize};
//! let values: Vec<f32> = (0..64).map(|i| i as f32 / 64.0).collect();
//! let mut blocks = vec![0; GgmlDType::Q8_0.row_bytes(64).unwrap()];
//! quantize(GgmlDType::Q8_0, &values, &mut blocks)?;
//! let mut back = vec![0.0; 64];
//! dequantize(GgmlDType::Q8_0, &blocks, &mut back)?;
//! assert!(values.iter().zip(&back).all(|(a, b)| (a - b).abs() < 0.005));
//! # Ok::<(), tallow_quant::QuantError>(())
//! ```

// Kernels index several arrays by the same row or lane; an iterator over one of them hides that.
#![allow(clippy::needless_range_loop)]

mod activations;
mod codes;
mod columns;
mod convert;
mod dot;
mod error;
mod float;
mod format;
mod formats;
mod lines;
mod matmul;
mod repack;
mod row;
mod split;
mod table;
#[cfg(test)]
mod tests;

pub use convert::{dequantize, quantize, quantize_weighted};
pub use error::QuantError;
pub use matmul::matmul;
pub use repack::Repacked;
pub use repack::joined::{joins, matmul_joined};
pub use split::{Split, SplitForm};
pub use table::GgmlDType;
