//! Llama-family language models: weights, cache, tokenizer, chat template, sampling.
//!
//! ```text
//! argument ─► store ─► file ─► settings ─► models ─► transformer (decoder) ◄─ weights
//!                       ├────► tokenizer                 │
//!                       └────► chat template             ▼
//!                                  generate ◄─ sampling ◄─ logits ─► perplexity
//! ```
//! A model is data: `models/` says what each architecture differs in, `transformer/` has the blocks
//! once, and `weights/` hands out matrices of any type on one path.
//!
//! Invariants: no unsafe code; no kernels and no weight formats (those are the tensor crate's);
//! what a user or a file gets wrong is an [`Error`] of one line that says what to do.
//!
//! Read next: `model.rs`, `transformer/decoder.rs`, `generate.rs`.
#![forbid(unsafe_code)]

pub mod chat;
mod error;
mod generate;
mod model;
mod models;
mod perplexity;
pub mod sampling;
mod settings;
pub mod store;
pub mod tokenizer;
mod transformer;
mod warm_up;
mod weights;

pub use error::{Error, Result};
pub use generate::{Answer, GenerateOptions, GenerateStats, Session, StopReason};
pub use model::{LanguageModel, LoadOptions, Model};
pub use perplexity::{DEFAULT_CHUNK_LEN, Perplexity, perplexity};
pub use transformer::KvCache;
pub use warm_up::{WarmUp, WarmUpReport};
