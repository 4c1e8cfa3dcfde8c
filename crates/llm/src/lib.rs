//! Llama-family language models: weights, cache, tokenizer, chat template, sampling.
#![forbid(unsafe_code)]

pub mod chat;
mod error;
pub mod sampling;
pub mod store;
pub mod tokenizer;

pub use error::{Error, Result};
