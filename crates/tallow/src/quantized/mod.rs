//! Weights as GGUF blocks, products with them, and the files that hold them.
//!
//! A [`QTensor`] is a block format, a shape and bytes, commonly a range of a mapped file that is
//! never copied. A [`QMatMul`] multiplies activations by it; where that pays on this processor it
//! keeps the rows interleaved instead, and gives the file's pages back to the system.
//!
//! ```text
//! gguf_file  ggml_file ──► QTensor ──► QMatMul::forward, indexed_moe_forward
//! imatrix_file ──► QTensor::quantize_imatrix         tokenizer: the vocabulary of a GGUF file
//! k_quants: the block formats as types
//! ```

pub mod ggml_file;
pub mod gguf_file;
pub mod imatrix_file;
pub mod k_quants;
mod product;
mod storage;
mod tensor;
#[cfg(not(target_arch = "wasm32"))]
pub mod tokenizer;
mod uploaded;

pub use k_quants::GgmlType;
pub use product::QMatMul;
pub use storage::QStorage;
pub use tallow_quant::GgmlDType;
pub use tensor::QTensor;
pub(crate) use tensor::row_ids;
pub use uploaded::GpuWeights;
pub(crate) use uploaded::{Form, Uploaded};

#[cfg(test)]
mod tests;
