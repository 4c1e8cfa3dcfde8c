//! candle-core's interface, version 0.11.1, over [`tallow`].
//!
//! A program that names candle-core runs on Tallow when its `Cargo.toml` says
//!
//! ```toml
//! [patch.crates-io]
//! candle-core = { git = "…/tallow" }
//! ```
//!
//! Nearly everything is Tallow's own, under candle's paths. What exists only for candle's users
//! stands here, as thin adapters.
#![forbid(unsafe_code)]

pub use tallow::*;

pub mod cpu_backend;
pub mod op;
mod processor;
pub mod test_utils;

/// Errors.
pub mod error {
    pub use tallow::{Error, Result};
}

/// Layouts.
pub mod layout {
    pub use tallow::Layout;
}

/// What the processor and the build can do.
pub mod utils {
    pub use crate::processor::*;
}

/// Shapes and indexes of dimensions.
pub mod shape {
    pub use tallow::{D, Dim, Dims, Shape, ShapeWithOneHole};
}
