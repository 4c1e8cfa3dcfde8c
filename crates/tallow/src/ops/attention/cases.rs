//! The reference writes the whole score matrix.

use super::{AttentionOptions, attention, attention_paged};
use crate::testing::{Array, Case, Input, Tolerance, Values};
use crate::{DType, Result, Tensor};

fn reference(inputs: &[Array], options: AttentionOptions) -> Array {
    let (q, k, v) = (&inputs[0], &inputs[1], &inputs[2]);
    let mut data = Vec::with_capacity(q.data.len());
    for batch in 0..q.dims[0] {
        for head in 0..q.dims[1] {
            let kv_head = head / (q.dims[1] / k.dims[1]);
            for position in 0..q.dims[2] {
                let weights = weights(inputs, options, [batch, head, kv_head, position]);
                let total: f64 = weights.iter().sum();
                data.extend((0..q.dims[3]).map(|feature| {
                    let value = |key: usize| v.at(&[batch, kv_head, key, feature]);
                    let sum: f64 = weights
                        .iter()
                        .enumerate()
                        .map(|(key, w)| w * value(key))
                        .sum();
                    if total == 0.0 { 0.0 } else { sum / total }
                }));
            }
        }
    }
    Array {
        dims: q.dims.clone(),
        data,
    }
}

/// The weights of one query, before they are divided by their sum; 0 for a key that it does not
/// see.
fn weights(
    inputs: &[Array],
    options: AttentionOptions,
    [batch, head, kv_head, position]: [usize; 4],
) -> Vec<f64> {
    let (q, k) = (&inputs[0], &inputs[1]);
    let (kv_len, scale) = (k.dims[2], f64::from(options.scale));
    let own = kv_len as i64 - q.dims[2] as i64 + position as i64;
    let sees = |key: i64| {
        let ahead = options.causal && key > own;
        !ahead
            && options
                .window
                .is_none_or(|window| key > own - window as i64)
    };
    let score = |key: usize| {
        let feature =
            |at: usize| q.at(&[batch, head, position, at]) * k.at(&[batch, kv_head, key, at]);
        let score = (0..q.dims[3]).map(feature).sum::<f64>() * scale;
        options.softcap.map_or(score, |cap| {
            f64::from(cap) * (score / f64::from(cap)).tanh()
        })
    };
    let scores: Vec<Option<f64>> = (0..kv_len)
        .map(|key| sees(key as i64).then(|| score(key)))
        .collect();
    let greatest = scores
        .iter()
        .flatten()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    scores
        .iter()
        .map(|score| score.map_or(0.0, |score| (score - greatest).exp()))
        .collect()
}

/// The same keys and values cut into pages of two and the rest.
fn paged(inputs: &[Tensor], options: AttentionOptions) -> Result<Tensor> {
    let len = inputs[1].dims()[2];
    let cut = 2.min(len);
    let page = |from: usize, len: usize| -> Result<(Tensor, Tensor)> {
        Ok((
            inputs[1].narrow(2, from, len)?,
            inputs[2].narrow(2, from, len)?,
        ))
    };
    attention_paged(&inputs[0], &[page(0, cut)?, page(cut, len - cut)?], options)
}

type RunWith = fn(&[Tensor], AttentionOptions) -> Result<Tensor>;

pub(super) fn cases() -> Vec<Case> {
    let plain = AttentionOptions::new(0.4);
    let causal = AttentionOptions::causal(0.4);
    let window = AttentionOptions {
        window: Some(3),
        ..causal
    };
    let softcap = AttentionOptions {
        softcap: Some(2.0),
        ..causal
    };
    // batch, heads, kv heads, q_len, kv_len, head_dim
    let shapes = [
        ([1, 1, 1, 1, 1, 1], plain),
        ([2, 4, 2, 3, 5, 8], plain),
        ([2, 4, 2, 3, 5, 8], causal),
        ([1, 6, 2, 7, 7, 12], window),
        ([1, 2, 1, 5, 70, 20], softcap),
        ([1, 9, 3, 1, 130, 64], causal),
        ([1, 3, 1, 2, 1100, 16], causal),
        ([1, 3, 3, 90, 150, 16], causal),
        ([1, 2, 2, 5, 3, 4], causal),
        ([1, 2, 1, 3, 0, 4], causal),
        ([0, 2, 1, 3, 3, 4], plain),
        ([1, 2, 1, 0, 3, 4], plain),
        ([1, 4, 1, 80, 80, 72], window),
    ];
    let mut cases = Vec::new();
    for ([batch, heads, kv_heads, q_len, kv_len, head_dim], options) in shapes {
        let values = || Values::Range(-2.0, 2.0);
        // An f32 score of head_dim products, each at most 2 · 2 · 0.4, is rounded head_dim times by
        // up to half a unit of 1.6 · head_dim: a random walk of 0.8 · head_dim^1.5, which the
        // exponential passes on as a relative error of the weights. The narrow types compute in f32
        // too: there the final rounding covers it.
        let exact = Tolerance::units(2.0, 4.0 + 0.8 * (head_dim as f64).powf(1.5));
        let narrow = Tolerance::units(2.0, 2.0);
        let mut push = |kv_dtype: Option<DType>, dtypes: &'static [DType], run: RunWith| {
            let kv = Input {
                dims: vec![batch, kv_heads, kv_len, head_dim],
                values: values(),
                dtype: kv_dtype,
            };
            cases.push(Case {
                op: "attention",
                dtypes,
                inputs: vec![
                    Input::new(&[batch, heads, q_len, head_dim], values()),
                    kv.clone(),
                    kv,
                ],
                run: Box::new(move |inputs| run(inputs, options)),
                reference: Box::new(move |inputs| reference(inputs, options)),
                tolerance: if dtypes.contains(&DType::F32) {
                    exact
                } else {
                    narrow
                },
            });
        };
        let one_piece: RunWith =
            |inputs, options| attention(&inputs[0], &inputs[1], &inputs[2], options);
        push(None, &[DType::F32], one_piece);
        push(None, &[DType::F16, DType::BF16], one_piece);
        push(Some(DType::F16), &[DType::F32], one_piece);
        push(None, &[DType::F32], paged);
    }
    cases
}
