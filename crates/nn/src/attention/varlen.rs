//! Attention over packed sequences, by candle-nn's name for its plain one. Both names are the same
//! function.

pub use super::packed::flash_attn_varlen as flash_attn_varlen_unfused;
