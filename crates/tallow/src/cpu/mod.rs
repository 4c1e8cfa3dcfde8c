//! The CPU: typed views in, plain slices to kernels, recycled buffers out.
//!
//! A kernel never sees a storage. It is handed a [`View`] (elements from the view's own start on,
//! sizes, strides) or, through the drivers in [`map`], contiguous runs of it:
//!
//! - [`view`]: typed strided views;
//! - [`walk`]: merges dimensions and cuts a view into runs;
//! - [`map`]: elementwise drivers over runs, parallel, one instruction-set dispatch a chunk;
//! - [`copy`]: any view to contiguous, with blocked tiles for transposes;
//! - [`rows`]: drivers for kernels of whole rows;
//! - [`vector`]: vector loads and stores that widen the narrow floats to f32;
//! - [`narrow`]: the drivers of [`map`] for f16, bf16 and f8e4m3, over the kernels for f32;
//! - [`pairs`]: loops over two operands of a run;
//! - [`integer`], [`power`]: wrapping integer arithmetic, and x to the power of y;
//! - [`recycle`]: where result buffers come from and go to.

pub(crate) mod bits;
pub mod copy;
pub mod integer;
pub mod map;
pub mod narrow;
pub mod pairs;
pub mod power;
pub mod recycle;
pub mod rows;
pub mod vector;
pub mod view;
pub mod walk;

pub use view::{CpuView, View};
