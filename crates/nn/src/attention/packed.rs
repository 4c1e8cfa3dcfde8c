//! Attention over sequences of different lengths, packed one behind the other.

use super::scores::{Scores, attend};
use tallow::{DType, Result, Tensor, bail};

/// Attention of each sequence of queries over its own sequence of keys. q
/// `[total_q, heads, head_dim]`, k and v `[total_k, kv_heads, head_dim]`; `seqlens_q` and
/// `seqlens_k` `[batch]` are the lengths, of an integer dtype; the result is
/// `[total_q, heads, head_dim]`. The greatest lengths are not looked at.
///
/// The last query of a sequence stands at its last key. If `causal`, a query sees no key behind its
/// place; it sees `window_left` keys before it and `window_right` behind it, all if `None`. With
/// `alibi_slopes`, `[heads]` or `[batch, heads]`, a score falls by the head's slope for each place
/// between query and key. A query that sees no key gives zeros.
///
/// ```
/// use tallow::{DType, Device, Tensor};
/// use tallow_nn::attention::flash_attn_varlen_cpu;
/// let x = Tensor::ones((5, 2, 8), DType::F32, &Device::Cpu)?;
/// let lens = Tensor::new(&[2u32, 3], &Device::Cpu)?;
/// let y = flash_attn_varlen_cpu(
///     &x, &x, &x, None, &lens, &lens, 3, 3, 0.3, true, None, None,
/// )?;
/// assert_eq!(y.dims(), [5, 2, 8]);
/// # Ok::<(), tallow::Error>(())
/// ```
#[allow(clippy::too_many_arguments)] // the interface's
pub fn flash_attn_varlen(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    alibi_slopes: Option<&Tensor>,
    seqlens_q: &Tensor,
    seqlens_k: &Tensor,
    _max_seqlen_q: usize,
    _max_seqlen_k: usize,
    softmax_scale: f32,
    causal: bool,
    window_left: Option<usize>,
    window_right: Option<usize>,
) -> Result<Tensor> {
    let ((total_q, heads, _), (total_k, _, _), (total_v, _, v_dim)) =
        (q.dims3()?, k.dims3()?, v.dims3()?);
    let lens_q = lengths("seqlens_q", seqlens_q, total_q)?;
    let lens_k = lengths("seqlens_k", seqlens_k, total_k)?;
    let batch = lens_q.len();
    if lens_k.len() != batch || total_v != total_k {
        bail!(
            "flash_attn_varlen: k {:?}, v {:?}, {batch} lengths of q, {} of k; want as many",
            k.shape(),
            v.shape(),
            lens_k.len()
        );
    }
    let slopes = alibi_slopes
        .map(|slopes| slopes_of_each(slopes, batch, heads))
        .transpose()?;
    let (mut start_q, mut start_k) = (0, 0);
    let mut outputs = Vec::with_capacity(batch);
    for (at, (&len_q, &len_k)) in lens_q.iter().zip(&lens_k).enumerate() {
        let part = |x: &Tensor, start: usize, len: usize| {
            x.narrow(0, start, len)?.transpose(0, 1)?.unsqueeze(0)
        };
        let q = part(q, start_q, len_q)?;
        let (k, v) = (part(k, start_k, len_k)?, part(v, start_k, len_k)?);
        let scores = Scores {
            left: window_left,
            right: if causal { Some(0) } else { window_right },
            slopes: slopes.as_ref().map(|slopes| slopes[at].clone()),
            ..Scores::new(softmax_scale, &q, &k)?
        };
        outputs.push(attend(&q, &k, &v, &scores)?.squeeze(0)?.transpose(0, 1)?);
        (start_q, start_k) = (start_q + len_q, start_k + len_k);
    }
    match outputs.is_empty() {
        true => Tensor::zeros((0, heads, v_dim), q.dtype(), q.device()),
        false => Tensor::cat(&outputs, 0),
    }
}

/// Lengths that add up to a total.
fn lengths(name: &str, lengths: &Tensor, total: usize) -> Result<Vec<usize>> {
    if !lengths.dtype().is_int() {
        bail!(
            "flash_attn_varlen: {name} is {}; wants an integer dtype",
            lengths.dtype()
        );
    }
    let lengths = lengths.to_dtype(DType::I64)?.to_vec1::<i64>()?;
    let sizes: Option<Vec<usize>> = lengths
        .iter()
        .map(|&len| usize::try_from(len).ok())
        .collect();
    let sum = |sizes: &Vec<usize>| {
        sizes
            .iter()
            .try_fold(0usize, |sum, &len| sum.checked_add(len))
    };
    match sizes.filter(|sizes| sum(sizes) == Some(total)) {
        Some(sizes) => Ok(sizes),
        None => bail!("flash_attn_varlen: {name} {lengths:?} do not add up to {total}"),
    }
}

/// The slopes of each sequence's heads.
fn slopes_of_each(slopes: &Tensor, batch: usize, heads: usize) -> Result<Vec<Vec<f64>>> {
    let fits = matches!(*slopes.dims(), [found] if found == heads)
        || matches!(*slopes.dims(), [found, own] if (found, own) == (batch, heads));
    if !fits {
        bail!(
            "flash_attn_varlen: alibi_slopes {:?}; want [{heads}] or [{batch}, {heads}]",
            slopes.shape()
        );
    }
    slopes
        .to_dtype(DType::F64)?
        .broadcast_as((batch, heads))?
        .to_vec2()
}
