//! Scaled dot-product attention, by candle-nn's name and arguments.

use crate::attention::scores::{Scores, attend};
use tallow::{Result, Tensor};

/// softmax(scale · q·kᵀ + mask) · v, head by head. q `[batch, heads, q_len, head_dim]`, k
/// `[batch, kv_heads, kv_len, head_dim]`, v `[batch, kv_heads, kv_len, v_dim]`, the mask broadcast
/// to `[batch, heads, q_len, kv_len]`; the result is `[batch, heads, q_len, v_dim]`.
///
/// The last query stands at the last key; with `do_causal` a query sees no key behind its place. A
/// `softcapping` other than 1 makes `cap · tanh(score / cap)` of each score. `heads` is a multiple
/// of `kv_heads`, and neighbouring heads share one. A query that sees no key gives zeros.
///
/// ```
/// use tallow::{DType, Device, Tensor};
/// let q = Tensor::zeros((1, 4, 3, 8), DType::F32, &Device::Cpu)?;
/// let kv = Tensor::ones((1, 2, 5, 8), DType::F32, &Device::Cpu)?;
/// let y = tallow_nn::ops::sdpa(&q, &kv, &kv, None, true, 0.35, 1.0)?;
/// assert_eq!(y.dims(), [1, 4, 3, 8]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn sdpa(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    mask: Option<&Tensor>,
    do_causal: bool,
    scale: f32,
    softcapping: f32,
) -> Result<Tensor> {
    let scores = Scores {
        softcap: (softcapping != 1.0).then_some(softcapping),
        bias: mask.cloned(),
        right: do_causal.then_some(0),
        ..Scores::new(scale, q, k)?
    };
    attend(q, k, v, &scores)
}
