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

pub mod backend;
mod barrier_pool;
pub mod cpu;
pub mod cpu_backend;
pub mod op;
pub mod pickle;
mod processor;
mod sizes;
pub mod test_utils;

/// Errors.
pub mod error {
    pub use tallow::error::{Context, Error, MatMulUnexpectedStriding, MetalError, Result};
}

/// Layouts.
pub mod layout {
    pub use tallow::{Layout, LayoutRelation};
}

/// A walk over several layouts at once.
pub mod nditer {
    pub use tallow::NdIter;

    /// The most dimensions that candle's iterator takes; ours takes any number.
    pub const MAX_DIMS: usize = 8;
}

/// What the processor and the build can do.
pub mod utils {
    pub use crate::barrier_pool::*;
    pub use crate::processor::*;
}

/// Runs a function on the vector of a [`CpuStorage`] of one of these dtypes, and makes a storage of
/// what it gives; an error, for the name, of another dtype.
///
/// ```
/// use candle_core::{CpuStorage, Result, map_dtype};
/// fn doubled(values: &[f32]) -> Vec<f32> {
///     values.iter().map(|value| value * 2.0).collect()
/// }
/// fn double(storage: &CpuStorage) -> Result<CpuStorage> {
///     Ok(map_dtype!("double", storage, doubled, (F32)))
/// }
/// assert_eq!(double(&CpuStorage::F32(vec![3.0]))?.as_slice::<f32>()?, [6.0]);
/// assert!(double(&CpuStorage::U8(vec![3])).is_err());
/// # Ok::<(), candle_core::Error>(())
/// ```
#[macro_export]
macro_rules! map_dtype {
    ($name:expr, $storage:ident, $fn:expr, ($($dtypes:ident),+)) => {
        match $storage {
            $($crate::CpuStorage::$dtypes(data) => $crate::CpuStorage::$dtypes($fn(data)),)+
            other => Err($crate::Error::UnsupportedDTypeForOp(other.dtype(), $name))?,
        }
    };
}

/// Shapes and indexes of dimensions.
pub mod shape {
    pub use crate::sizes::*;
    pub use tallow::{D, Dim, Dims, SCALAR, Shape, ShapeWithOneHole};
}
