//! Attention by the path that it had earlier.

use crate::attention::cpu_flash::standard;
use tallow::{Result, Tensor, WithDType};

/// See [`flash_attn`](crate::attention::flash_attn).
#[deprecated(note = "use attention::flash_attn, which takes a mask of several kinds")]
pub fn run_flash_attn_cpu<T: WithDType>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    mask: Option<&Tensor>,
    softmax_scale: f32,
    max_bias: Option<f32>,
    softcap: Option<f32>,
) -> Result<Tensor> {
    standard::run_flash_attn_cpu::<T>(q, k, v, mask, softmax_scale, max_bias, softcap)
}
