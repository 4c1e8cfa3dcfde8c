//! Attention by candle-nn's names: [`flash_attn`] for a batch of equal lengths, and
//! [`flash_attn_varlen_cpu`] for sequences of different lengths packed one behind the other.
//!
//! All of it goes through `scores.rs`, which runs Tallow's attention operation where that can say
//! what is asked for, and the same in several operations where it cannot (masks, ALiBi, windows to
//! the right, f64). A query that sees no key gives zeros.

pub mod cpu_flash;
mod packed;
pub(crate) mod scores;
pub mod varlen;

pub use cpu_flash::flash_attn;
pub use cpu_flash::varlen::flash_attn_varlen_cpu;
pub use varlen::flash_attn_varlen_unfused;

use tallow::Tensor;

/// Which keys a query sees.
#[derive(Clone, Debug, Default)]
pub enum AttnMask {
    /// All.
    #[default]
    None,
    /// Query i sees the keys up to `kv_offset + i`.
    Causal {
        /// The place of the first query among the keys.
        kv_offset: usize,
    },
    /// What is added to the scores, `[q_len, kv_len]` or broadcast to
    /// `[batch, heads, q_len, kv_len]`; of rank 3, `[batch, q_len, kv_len]`.
    Mask(Tensor),
}

impl AttnMask {
    /// Queries from the first key on.
    pub fn causal() -> Self {
        Self::causal_with_offset(0)
    }

    /// Queries from key `kv_offset` on.
    pub fn causal_with_offset(kv_offset: usize) -> Self {
        Self::Causal { kv_offset }
    }

    /// True for [`AttnMask::Causal`].
    pub fn is_causal(&self) -> bool {
        matches!(self, Self::Causal { .. })
    }

    /// The place of the first query among the keys; 0 unless causal.
    pub fn kv_offset(&self) -> usize {
        match self {
            Self::Causal { kv_offset } => *kv_offset,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
