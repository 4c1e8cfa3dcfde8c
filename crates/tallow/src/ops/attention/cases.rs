//! The reference writes the whole score matrix.

use super::{AttentionOptions, attention, attention_paged};
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
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
    let len = inputs[1].dim(2)?;
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

/// One query's product, in one piece.
const ONE_PIECE: RunWith = |inputs, options| attention(&inputs[0], &inputs[1], &inputs[2], options);

/// The dtypes, that of keys and values where it is another, and how it is run.
type Kind = (&'static [DType], Option<DType>, RunWith);

const KINDS: [Kind; 4] = [
    (&[DType::F32], None, ONE_PIECE),
    (&[DType::F16, DType::BF16], None, ONE_PIECE),
    (&[DType::F32], Some(DType::F16), ONE_PIECE),
    (&[DType::F32], None, paged),
];

/// batch, heads, kv heads, q_len, kv_len, head_dim
type Sizes = [usize; 6];

fn case(sizes: Sizes, options: AttentionOptions, (dtypes, kv_dtype, run): Kind) -> Case {
    let [batch, heads, kv_heads, q_len, kv_len, head_dim] = sizes;
    let values = Values::Range(-2.0, 2.0);
    let kv = Input {
        dims: vec![batch, kv_heads, kv_len, head_dim],
        values: values.clone(),
        dtype: kv_dtype,
    };
    Case {
        op: "attention",
        dtypes,
        inputs: vec![
            Input::new(&[batch, heads, q_len, head_dim], values),
            kv.clone(),
            kv,
        ],
        run: Box::new(move |inputs| run(inputs, options)),
        reference: Box::new(move |inputs| reference(inputs, options)),
        // An f32 score of head_dim products, each at most 2 · 2 · 0.4, is rounded head_dim times,
        // the i-th by up to half a unit of 1.6 · i: where all features are one they round the same
        // way, by up to 0.4 · head_dim² in all, and few of them by no more than a random walk of
        // 0.8 · head_dim^1.5. The exponential passes that on as a relative error of the weights.
        // Where all keys and values are one, each of kv_len additions is rounded the same way, the
        // i-th by up to half a unit of i / kv_len of the result: a quarter of kv_len units in all.
        // The narrow types compute in f32 too: there the final rounding covers it.
        tolerance: match dtypes.contains(&DType::F32) {
            true => Tolerance::units(
                2.0 + 0.25 * kv_len as f64,
                4.0 + (0.8 * (head_dim as f64).powf(1.5)).max(0.4 * (head_dim as f64).powi(2)),
            ),
            false => Tolerance::units(2.0, 2.0),
        },
    }
}

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
    let shapes: [(Sizes, AttentionOptions); 28] = [
        ([1, 1, 1, 1, 1, 1], plain),
        ([2, 4, 2, 1, 64, 1], plain),
        ([2, 4, 2, 3, 5, 8], plain),
        ([2, 4, 2, 3, 5, 8], causal),
        ([1, 4, 1, 3, 5, 72], plain),
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
        // Each width of the tiled kernels, and a head too long for them.
        ([1, 4, 2, 20, 60, 96], plain),
        ([1, 2, 1, 40, 75, 128], causal),
        ([1, 2, 1, 17, 40, 256], softcap),
        ([1, 2, 1, 9, 20, 300], window),
        ([1, 2, 1, 10, 33, 40], causal),
        ([1, 2, 1, 11, 37, 130], plain),
        // Keys enough for several groups a query, also where a window leaves groups without any.
        ([1, 2, 1, 1, 600, 32], causal),
        ([1, 1, 1, 2, 900, 16], window),
        // Few queries: more rows to a head of keys than a group takes, odd numbers of them,
        // features that are no whole number of packs, or more than one pass takes.
        ([1, 5, 1, 3, 257, 24], causal),
        ([2, 6, 2, 7, 129, 33], softcap),
        ([1, 7, 7, 1, 128, 100], window),
        ([1, 3, 1, 2, 131, 132], causal),
        ([1, 2, 1, 5, 17, 512], plain),
    ];
    shapes
        .into_iter()
        .flat_map(|(sizes, options)| KINDS.map(|kind| case(sizes, options, kind)))
        .collect()
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let kind = KINDS[draw.number("kind", 0, KINDS.len() - 1)];
    let batch = draw.number("batch", 0, 2);
    let (kv_heads, group) = (draw.number("kv heads", 1, 3), draw.number("group", 1, 4));
    let mut options = AttentionOptions::new(0.4);
    options.causal = draw.flag("causal");
    if draw.rarely(3) {
        options.window = Some(draw.number("window", 0, 9));
    }
    if draw.rarely(3) {
        options.softcap = Some(draw.pick("softcap", &[2.0, 0.5, 30.0]));
    }
    let (q_len, kv_len) = (draw.size(0), draw.size(0));
    let head_dim = draw.size(1).min(72);
    case(
        [batch, kv_heads * group, kv_heads, q_len, kv_len, head_dim],
        options,
        kind,
    )
}
