//! Attention with a mask, or none.

use super::flash_attn;
use crate::attention::AttnMask;
use tallow::{Result, Tensor, WithDType};

/// [`flash_attn`] with a mask that is added to the scores, or none.
pub fn run_flash_attn_cpu<T: WithDType>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    mask: Option<&Tensor>,
    softmax_scale: f32,
    max_bias: Option<f32>,
    softcap: Option<f32>,
) -> Result<Tensor> {
    let mask = mask.map_or(AttnMask::None, |mask| AttnMask::Mask(mask.clone()));
    flash_attn::<T>(q, k, v, softmax_scale, mask, max_bias, softcap)
}
