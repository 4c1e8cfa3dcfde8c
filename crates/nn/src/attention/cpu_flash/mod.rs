//! Attention for a batch of equal lengths: [`flash_attn`]. The modules beside it have candle-nn's
//! names for parts of it.

pub mod causal;
pub mod standard;
pub mod varlen;

use super::AttnMask;
use super::scores::{Scores, alibi_slopes, attend, place};
use tallow::{Error, Result, Tensor, WithDType, bail};

/// Attention of q `[batch, q_len, heads, head_dim]` over k and v
/// `[batch, kv_len, kv_heads, head_dim]`; the result is `[batch, heads, q_len, head_dim]`. Scores
/// are multiplied by `softmax_scale`.
///
/// With `max_bias` each score falls with the distance of query and key, as ALiBi has it; a mask of
/// one's own is multiplied by the head's slope instead. With `softcap` scores become
/// `cap · tanh(score / cap)`. Errors unless the elements are of type `T`.
///
/// ```
/// use tallow::{DType, Device, Tensor};
/// use tallow_nn::attention::{AttnMask, flash_attn};
/// let q = Tensor::ones((2, 3, 4, 8), DType::F32, &Device::Cpu)?;
/// let kv = Tensor::ones((2, 3, 2, 8), DType::F32, &Device::Cpu)?;
/// let y = flash_attn::<f32>(&q, &kv, &kv, 0.25, AttnMask::causal(), None, None)?;
/// assert_eq!(y.dims(), [2, 4, 3, 8]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn flash_attn<T: WithDType>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    softmax_scale: f32,
    attn_mask: AttnMask,
    max_bias: Option<f32>,
    softcap: Option<f32>,
) -> Result<Tensor> {
    let (expected, got) = (T::DTYPE, q.dtype());
    if expected != got {
        return Err(Error::UnexpectedDType {
            msg: "flash_attn",
            expected,
            got,
        });
    }
    let [q, k, v] = [q, k, v].map(|x| {
        x.dims4()?;
        x.transpose(1, 2)
    });
    let (q, k, v) = (q?, k?, v?);
    let mut scores = Scores {
        softcap,
        ..Scores::new(softmax_scale, &q, &k)?
    };
    let slopes = max_bias.filter(|&max_bias| max_bias > 0.0);
    scores.slopes = slopes.map(|max_bias| alibi_slopes(q.dims()[1], max_bias));
    match attn_mask {
        AttnMask::None => {}
        AttnMask::Causal { kv_offset } => {
            (scores.offset, scores.right) = (place(kv_offset)?, Some(0));
        }
        AttnMask::Mask(mask) => scores.bias = Some(bias(mask, scores.slopes.take())?),
    }
    attend(&q, &k, &v, &scores)
}

/// A mask that goes with `[batch, heads, q_len, kv_len]`, times the slope of each head.
fn bias(mask: Tensor, slopes: Option<Vec<f64>>) -> Result<Tensor> {
    if !mask.dtype().is_float() {
        bail!(
            "flash_attn: the mask is {}; wants floats that are added",
            mask.dtype()
        );
    }
    let mask = match mask.rank() {
        2 => mask.unsqueeze(0)?.unsqueeze(0)?,
        3 => mask.unsqueeze(1)?,
        _ => mask,
    };
    let Some(slopes) = slopes else {
        return Ok(mask);
    };
    let slopes = Tensor::from_slice(&slopes, (1, slopes.len(), 1, 1), mask.device())?;
    mask.broadcast_mul(&slopes.to_dtype(mask.dtype())?)
}
