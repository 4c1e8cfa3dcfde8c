//! [`tallow_nn`] under candle-nn's name.
//!
//! A package that depends on candle-nn 0.11 gets Tallow instead when Cargo is told so:
//!
//! ```toml
//! [patch.crates-io]
//! candle-nn = { path = "compat/candle-nn" }
//! ```
//!
//! The features are candle-nn's and change nothing.
#![forbid(unsafe_code)]

pub use tallow_nn::*;
