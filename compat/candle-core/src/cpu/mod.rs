//! candle's helpers of the processor.

pub mod erf;
pub mod kernels;
