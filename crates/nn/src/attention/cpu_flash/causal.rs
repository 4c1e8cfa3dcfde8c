//! Attention in which a query sees no key behind its own place.

use super::flash_attn;
use crate::attention::AttnMask;
use crate::attention::scores::{Scores, attend};
use tallow::{Device, Result, Tensor, WithDType, bail};

/// [`flash_attn`] where query i sees the keys up to `kv_offset + i`.
pub fn run_causal_attn_cpu<T: WithDType>(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    softmax_scale: f32,
    kv_offset: usize,
    max_bias: Option<f32>,
    softcap: Option<f32>,
) -> Result<Tensor> {
    let mask = AttnMask::causal_with_offset(kv_offset);
    flash_attn::<T>(q, k, v, softmax_scale, mask, max_bias, softcap)
}

/// One query, `h_q · d` values, over keys and values side by side, `kv_len · h_kv · 2 · d` values,
/// as [`RawInterleavedKvCache`](crate::kv_cache::RawInterleavedKvCache) has them. The result is
/// `[h_q, 1, d]`. Errors if there are fewer values.
pub fn causal_decode_f32_interleaved(
    q_data: &[f32],
    kv_data: &[f32],
    h_q: usize,
    h_kv: usize,
    d: usize,
    kv_len: usize,
    scale: f32,
) -> Result<Tensor> {
    let count = |sizes: &[usize]| {
        sizes
            .iter()
            .try_fold(1usize, |all, &size| all.checked_mul(size))
    };
    let (wants_q, wants_kv) = (count(&[h_q, d]), count(&[kv_len, h_kv, 2, d]));
    let q = wants_q.and_then(|count| q_data.get(..count));
    let kv = wants_kv.and_then(|count| kv_data.get(..count));
    let (Some(q), Some(kv)) = (q, kv) else {
        let (q, kv) = (q_data.len(), kv_data.len());
        bail!(
            "causal_decode: {q} values of q and {kv} of kv; want {h_q} x {d} and \
             {kv_len} x {h_kv} x 2 x {d}"
        );
    };
    let q = Tensor::from_slice(q, (1, h_q, 1, d), &Device::Cpu)?;
    let kv = Tensor::from_slice(kv, (1, kv_len, h_kv, 2 * d), &Device::Cpu)?.transpose(1, 2)?;
    let (k, v) = (kv.narrow(3, 0, d)?, kv.narrow(3, d, d)?);
    attend(&q, &k, &v, &Scores::new(scale, &q, &k)?)?.squeeze(0)
}
