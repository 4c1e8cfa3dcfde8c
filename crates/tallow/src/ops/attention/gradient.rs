//! The gradient of attention, from the whole score matrix S and its softmax P:
//! V̄ = Pᵀ · U, P̄ = U · Vᵀ, S̄ = P · (P̄ − Σ P̄ · P), Q̄ = scale · S̄ · K, K̄ = scale · S̄ᵀ · Q.

use super::AttentionOptions;
use crate::op::Gradients;
use crate::ops::softmax_last_dim;
use crate::{D, DType, Result, Tensor};

/// Heads that share keys and values become rows of one matrix: `[batch, kv_heads, group · q_len,
/// head_dim]`.
fn grouped(x: &Tensor, kv_heads: usize) -> Result<Tensor> {
    let (batch, heads, q_len, head_dim) = x.dims4()?;
    let rows = heads / kv_heads.max(1) * q_len;
    x.to_dtype(DType::F32)?
        .reshape((batch, kv_heads, rows, head_dim))
}

/// 1 where a query sees a key, `[group · q_len, kv_len]`.
fn sees(options: AttentionOptions, rows: usize, q_len: usize, kv_len: usize) -> Result<Tensor> {
    let last = |row: usize| (kv_len + row % q_len.max(1)) as i64 - q_len as i64;
    let mut mask = vec![0u8; rows * kv_len];
    for (row, mask) in mask.chunks_exact_mut(kv_len.max(1)).enumerate() {
        for (key, mask) in (0i64..).zip(mask) {
            let ahead = options.causal && key > last(row);
            let near = |window: usize| key > last(row) - window as i64;
            *mask = u8::from(!ahead && options.window.is_none_or(near));
        }
    }
    Tensor::from_vec(mask, (rows, kv_len), &crate::Device::Cpu)
}

pub(super) fn attention(
    options: AttentionOptions,
    inputs: &[&Tensor],
    upstream: &Tensor,
) -> Result<Gradients> {
    let (q_len, kv_heads) = (inputs[0].dims()[2], inputs[1].dims()[1]);
    let (q, u) = (grouped(inputs[0], kv_heads)?, grouped(upstream, kv_heads)?);
    let joined = |first: usize| {
        let pages = inputs[first..].iter().step_by(2);
        let pages = pages.map(|page| page.to_dtype(DType::F32));
        Tensor::cat(&pages.collect::<Result<Vec<_>>>()?, 2)
    };
    let (k, v) = (joined(1)?, joined(2)?);
    let scaled = q.matmul(&k.t()?)?.affine(f64::from(options.scale), 0.0)?;
    let bent = |cap: f32| scaled.affine(f64::from(cap).recip(), 0.0)?.tanh();
    let bent = options.softcap.map(bent).transpose()?;
    let scores = match (&bent, options.softcap) {
        (Some(bent), Some(cap)) => bent.affine(f64::from(cap), 0.0)?,
        _ => scaled,
    };
    let mask = sees(options, q.dims()[2], q_len, k.dims()[2])?.broadcast_as(scores.shape())?;
    let zeros = scores.zeros_like()?;
    let hidden = Tensor::full(f32::NEG_INFINITY, (), q.device())?.broadcast_as(scores.shape())?;
    // A query that sees no key has a row of NaN here, and no gradient.
    let weights = softmax_last_dim(&mask.where_cond(&scores, &hidden)?)?;
    let weights = mask.where_cond(&weights, &zeros)?;
    let for_v = weights.t()?.matmul(&u)?;
    let for_weights = u.matmul(&v.t()?)?;
    let mean = for_weights.mul(&weights)?.sum_keepdim(D::Minus1)?;
    let mut for_scores = weights.mul(&for_weights.broadcast_sub(&mean)?)?;
    if let Some(bent) = bent {
        for_scores = for_scores.mul(&bent.sqr()?.affine(-1.0, 1.0)?)?;
    }
    let for_scores = for_scores.affine(f64::from(options.scale), 0.0)?;
    let for_q = for_scores.matmul(&k)?.reshape(inputs[0].shape())?;
    let for_k = for_scores.t()?.matmul(&q)?;
    parted(inputs, for_q, [for_k, for_v])
}

/// The gradients cut into the operands' pages and cast to their dtypes.
fn parted(inputs: &[&Tensor], for_q: Tensor, kv: [Tensor; 2]) -> Result<Gradients> {
    let mut gradients = Gradients::new();
    gradients.push(Some(for_q.to_dtype(inputs[0].dtype())?));
    let mut start = 0;
    for (at, page) in inputs[1..].iter().enumerate() {
        let len = page.dims()[2];
        let part = kv[at % 2].narrow(2, start, len)?;
        gradients.push(Some(part.to_dtype(page.dtype())?));
        start += if at % 2 == 1 { len } else { 0 };
    }
    Ok(gradients)
}
