//! The decoder that all models of the family share: norm, attention, feed-forward, each once.
//!
//! ```text
//! ids ─► embedding ─► layer × n ─► norm ─► output ─► logits
//! layer:  x + attention(norm(x)),  then  x + mlp(norm(x))      (Gemma: norms after both as well)
//! ```
//! Activations are f32, `[len, features]`; a long prompt goes through in chunks, so that memory
//! does not grow with it. What models differ in is data (`config.rs`).

mod attention;
mod cache;
mod config;
mod decoder;
mod mlp;
mod norm;
mod rope;
mod step;

pub use cache::KvCache;
pub(crate) use config::{Activation, Config, Window};
pub(crate) use decoder::{Decoder, GPU_CHUNK_LEN};
pub(crate) use rope::{RopeConfig, RopePairs};
