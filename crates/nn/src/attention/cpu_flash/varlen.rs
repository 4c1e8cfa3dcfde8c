//! Attention over packed sequences, by candle-nn's name for its fused one.

pub use crate::attention::packed::flash_attn_varlen as flash_attn_varlen_cpu;
