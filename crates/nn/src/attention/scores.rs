//! The one attention behind all names: softmax(cap(scale · q·kᵀ) + bias) · v, head by head.
//!
//! q `[batch, heads, q_len, head_dim]`, k `[batch, kv_heads, kv_len, head_dim]`, v
//! `[batch, kv_heads, kv_len, v_dim]`; `heads` is a multiple of `kv_heads`, and neighbouring heads
//! share one. Query i stands at key `offset + i`, which may be outside the keys.

use crate::wide::wide;
use tallow::ops::{AttentionOptions, attention};
use tallow::{D, DType, Device, Error, Result, Tensor, bail, ops};

/// What is asked for. Nothing is hidden by default.
#[derive(Clone, Debug)]
pub(crate) struct Scores {
    pub(crate) scale: f32,
    /// Scores become `cap · tanh(score / cap)`.
    pub(crate) softcap: Option<f32>,
    /// Added to the scores; broadcast to `[batch, heads, q_len, kv_len]`.
    pub(crate) bias: Option<Tensor>,
    /// The place of the first query among the keys.
    pub(crate) offset: i64,
    /// How many keys before its own place a query sees; all if `None`.
    pub(crate) left: Option<usize>,
    /// How many keys behind its own place; all if `None`.
    pub(crate) right: Option<usize>,
    /// By how much the score of each head falls with each place between query and key.
    pub(crate) slopes: Option<Vec<f64>>,
}

impl Scores {
    /// Every query sees every key; the last query stands at the last key.
    pub(crate) fn new(scale: f32, q: &Tensor, k: &Tensor) -> Result<Self> {
        let (q_len, kv_len) = (q.dim(D::Minus2)?, k.dim(D::Minus2)?);
        let offset = place(kv_len)? - place(q_len)?;
        let (softcap, bias, left, right, slopes) = (None, None, None, None, None);
        Ok(Self {
            scale,
            softcap,
            bias,
            offset,
            left,
            right,
            slopes,
        })
    }
}

/// A count as a place, which may be negative.
pub(crate) fn place(count: usize) -> Result<i64> {
    match i64::try_from(count)
        .ok()
        .filter(|&place| place <= i64::MAX / 4)
    {
        Some(place) => Ok(place),
        None => bail!("attention: {count} is no place among keys"),
    }
}

/// Slopes of ALiBi (Press et al. 2022) for `heads` heads, the first of which falls by
/// `2^(-max_bias / n)`, n being the greatest power of two that is not above `heads`; the heads
/// beyond n take every other slope of twice as many.
pub(crate) fn alibi_slopes(heads: usize, max_bias: f32) -> Vec<f64> {
    let power = heads.checked_ilog2().map_or(1, |log| 1usize << log);
    let slope = |step: f64| (-f64::from(max_bias) * step / power as f64).exp2();
    let first = (0..power.min(heads)).map(|head| slope(head as f64 + 1.0));
    let rest = (power..heads).map(|head| slope((head - power) as f64 + 0.5));
    first.chain(rest).collect()
}

/// Attention of q over k and v; the result is `[batch, heads, q_len, v_dim]`.
pub(crate) fn attend(q: &Tensor, k: &Tensor, v: &Tensor, scores: &Scores) -> Result<Tensor> {
    check(q, k, v)?;
    match fused(q, k, v, scores)? {
        Some(out) => Ok(out),
        None => composed(q, k, v, scores),
    }
}

fn check(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<()> {
    let (batch, heads, _, head_dim) = q.dims4()?;
    let (k_batch, kv_heads, kv_len, k_dim) = k.dims4()?;
    let (v_batch, v_heads, v_len, _) = v.dims4()?;
    let grouped = kv_heads > 0 && heads.is_multiple_of(kv_heads);
    let same = (k_batch, v_batch, v_heads, v_len) == (batch, batch, kv_heads, kv_len);
    if !grouped || !same || k_dim != head_dim {
        let (q, k, v) = (q.shape(), k.shape(), v.shape());
        bail!(
            "attention: shapes do not fit: q {q:?}, k {k:?}, v {v:?}, each [batch, heads, len, \
             head_dim]; wants heads a multiple of kv heads, the rest equal"
        );
    }
    for rhs in [k.dtype(), v.dtype()] {
        let (lhs, op) = (q.dtype(), "attention");
        if lhs != rhs {
            return Err(Error::DTypeMismatchBinaryOp { lhs, rhs, op });
        }
    }
    match q.dtype().is_float() {
        true => Ok(()),
        false => Err(Error::UnsupportedDTypeForOp(q.dtype(), "attention")),
    }
}

/// Tallow's operation, where it can say what is asked for.
fn fused(q: &Tensor, k: &Tensor, v: &Tensor, scores: &Scores) -> Result<Option<Tensor>> {
    let (q_len, kv_len) = (place(q.dim(2)?)?, place(k.dim(2)?)?);
    let taken = matches!(q.dtype(), DType::F32 | DType::F16 | DType::BF16)
        && v.shape() == k.shape()
        && scores.bias.is_none()
        && scores.slopes.is_none();
    if !taken || kv_len == 0 {
        return Ok(None);
    }
    let mut options = AttentionOptions {
        softcap: scores.softcap,
        ..AttentionOptions::new(scores.scale)
    };
    let offset = scores.offset;
    let sees_to_the_end = scores.right.is_none_or(|right| {
        place(right).is_ok_and(|right| offset.saturating_add(right) >= kv_len - 1)
    });
    let sees_the_start = scores
        .left
        .is_none_or(|left| place(left).is_ok_and(|left| offset + q_len - 1 - left <= 0));
    if sees_to_the_end && sees_the_start {
        return attention(q, k, v, options).map(Some);
    }
    // The operation has the last query at the last key: keys behind it are cut off.
    let end = offset + q_len;
    if scores.right != Some(0) || end > kv_len || end <= 0 {
        return Ok(None);
    }
    options.causal = true;
    options.window = scores.left.map(|left| left.saturating_add(1));
    let [k, v] = [k, v].map(|x| x.narrow(2, 0, end as usize));
    attention(q, &k?, &v?, options).map(Some)
}

/// The same in several operations. Narrow floats are computed in f32 and rounded once.
fn composed(q: &Tensor, k: &Tensor, v: &Tensor, scores: &Scores) -> Result<Tensor> {
    let dtype = wide(q.dtype());
    let (batch, heads, q_len, head_dim) = q.dims4()?;
    let (_, kv_heads, kv_len, _) = k.dims4()?;
    // Heads that share keys are rows of one product.
    let rows = heads / kv_heads * q_len;
    let grouped = q
        .to_dtype(dtype)?
        .reshape((batch, kv_heads, rows, head_dim))?;
    let product = grouped
        .matmul(&k.to_dtype(dtype)?.t()?)?
        .affine(f64::from(scores.scale), 0.0)?;
    let capped = match scores.softcap {
        Some(cap) => {
            let cap = f64::from(cap);
            product.affine(1.0 / cap, 0.0)?.tanh()?.affine(cap, 0.0)?
        }
        None => product,
    };
    let mut all = capped.reshape((batch, heads, q_len, kv_len))?;
    if let Some(bias) = &scores.bias {
        all = all.broadcast_add(&bias.to_dtype(dtype)?)?;
    }
    let device = q.device();
    let others = [
        alibi(scores, q_len, kv_len, device)?,
        hidden(scores, q_len, kv_len, device)?,
    ];
    for bias in others.into_iter().flatten() {
        all = all.broadcast_add(&bias.to_dtype(dtype)?)?;
    }
    let weights = ops::softmax_last_dim(&all)?.reshape((batch, kv_heads, rows, kv_len))?;
    let out = weights.matmul(&v.to_dtype(dtype)?)?;
    out.reshape((batch, heads, q_len, v.dim(3)?))?
        .to_dtype(q.dtype())
}

/// −slope · |distance|, `[heads, q_len, kv_len]`.
fn alibi(scores: &Scores, q_len: usize, kv_len: usize, device: &Device) -> Result<Option<Tensor>> {
    let Some(slopes) = &scores.slopes else {
        return Ok(None);
    };
    let distances = distances(scores, q_len, kv_len).map(|distance| -(distance.abs() as f64));
    let distances = Tensor::from_vec(distances.collect(), (1, q_len, kv_len), device)?;
    let slopes = Tensor::from_slice(slopes, (slopes.len(), 1, 1), device)?;
    distances.broadcast_mul(&slopes).map(Some)
}

/// Negative infinity where a query does not see a key, `[q_len, kv_len]`.
fn hidden(scores: &Scores, q_len: usize, kv_len: usize, device: &Device) -> Result<Option<Tensor>> {
    if scores.left.is_none() && scores.right.is_none() {
        return Ok(None);
    }
    let within = |distance: i64, limit: Option<usize>| {
        limit.is_none_or(|limit| usize::try_from(distance).map_or(true, |far| far <= limit))
    };
    let mask = distances(scores, q_len, kv_len).map(|distance| {
        let seen = within(-distance, scores.left) && within(distance, scores.right);
        if seen { 0f32 } else { f32::NEG_INFINITY }
    });
    Tensor::from_vec(mask.collect(), (q_len, kv_len), device).map(Some)
}

/// How far each key stands behind each query.
fn distances(scores: &Scores, q_len: usize, kv_len: usize) -> impl Iterator<Item = i64> {
    let offset = scores.offset;
    // Lengths of tensors; both are places, as `place` has checked.
    let row = move |query: usize| (0..kv_len).map(move |key| key as i64 - (offset + query as i64));
    (0..q_len).flat_map(row)
}
