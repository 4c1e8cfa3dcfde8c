//! [`attention::varlen`](crate::attention::varlen), by its earlier path.

pub use crate::attention::varlen::flash_attn_varlen_unfused;
