//! Scaled dot-product attention: softmax(scale · q·kᵀ) · v, head by head.
//!
//! q `[batch, heads, q_len, head_dim]`, k and v `[batch, kv_heads, kv_len, head_dim]`; `heads` is a
//! multiple of `kv_heads`, and neighbouring heads share one (grouped-query attention, Ainslie et
//! al. 2023). Keys and values may come in several pages along kv_len. The last query stands at the
//! last key: with `causal`, query `i` sees the keys up to `kv_len − q_len + i`; with a window, only
//! the last `window` of these. A query that sees no key gives zeros.
//!
//! The softmax streams over tiles of keys (Milakov and Gimelshein 2018; Dao et al. 2022): no score
//! matrix of q_len × kv_len exists. Sums are in f32. Keys that are contiguous along kv_len (a cache
//! that is stored transposed) are read as they lie. Only the gradient writes the score matrix, head
//! group by head group.

mod cases;
mod cpu;
mod few;
mod gpu;
mod gradient;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor, bail, bf16, f16};

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "attention",
    ops: &[OpInfo {
        name: "attention",
        dtypes: &[DType::F32, DType::F16, DType::BF16],
    }],
    cases: cases::cases,
    draw: cases::draw,
};

/// How queries see keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionOptions {
    /// The factor of the scores, commonly `1 / sqrt(head_dim)`.
    pub scale: f32,
    /// True if a query sees no key behind its own position.
    pub causal: bool,
    /// How many keys up to its own position a query sees; all if `None`.
    pub window: Option<usize>,
    /// Scores become `cap · tanh(score / cap)` (Gemma 2).
    pub softcap: Option<f32>,
}

impl AttentionOptions {
    /// Every query sees every key.
    pub fn new(scale: f32) -> Self {
        Self {
            scale,
            causal: false,
            window: None,
            softcap: None,
        }
    }

    /// A query sees no key behind its own position.
    pub fn causal(scale: f32) -> Self {
        Self {
            causal: true,
            ..Self::new(scale)
        }
    }
}

struct Attention(AttentionOptions);

impl Op for Attention {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let q = inputs[0];
        let (batch, heads, _, head_dim) = q.dims4()?;
        let (_, kv_heads, _, _) = inputs[1].dims4()?;
        for pair in inputs[1..].chunks_exact(2) {
            let (k, v) = (pair[0], pair[1]);
            let (k_batch, k_heads, k_len, k_dim) = k.dims4()?;
            let fits = (k_batch, k_heads, k_dim) == (batch, kv_heads, head_dim);
            let grouped = kv_heads > 0 && heads % kv_heads == 0;
            if !fits || !grouped || v.dims4()? != (batch, kv_heads, k_len, head_dim) {
                let (q, k, v) = (q.shape(), k.shape(), v.shape());
                bail!(
                    "attention: shapes do not fit: q {q:?}, k {k:?}, v {v:?}; \
                     wants heads a multiple of kv heads, the rest equal"
                );
            }
            let (lhs, op) = (q.dtype(), "attention");
            let allowed = |rhs: DType| rhs == lhs || (lhs == DType::F32 && rhs == DType::F16);
            if !allowed(k.dtype()) || k.dtype() != v.dtype() {
                return Err(Error::DTypeMismatchBinaryOp {
                    lhs,
                    rhs: k.dtype(),
                    op,
                });
            }
        }
        match FAMILY.ops[0].dtypes.contains(&q.dtype()) {
            true => Ok((q.shape().clone(), q.dtype())),
            false => Err(Error::UnsupportedDTypeForOp(q.dtype(), "attention")),
        }
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        match (inputs[0].dtype(), inputs[1].dtype()) {
            (DType::F32, DType::F16) => cpu::attention::<f32, f16>(inputs, self.0, out),
            (DType::F16, _) => cpu::attention::<f16, f16>(inputs, self.0, out),
            (DType::BF16, _) => cpu::attention::<bf16, bf16>(inputs, self.0, out),
            _ => cpu::attention::<f32, f32>(inputs, self.0, out),
        }
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::attention(inputs, self.0, out)
    }

    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        gradient::attention(self.0, inputs, upstream)
    }
}

/// Attention over keys and values in one piece. q `[batch, heads, q_len, head_dim]`, k and v
/// `[batch, kv_heads, kv_len, head_dim]`, of q's dtype, or f16 under an f32 q; the result is shaped
/// and typed like q.
///
/// ```
/// use tallow::{DType, Device, Tensor, ops::{AttentionOptions, attention}};
/// let q = Tensor::zeros((1, 2, 3, 4), DType::F32, &Device::Cpu)?;
/// let kv = Tensor::ones((1, 1, 3, 4), DType::F32, &Device::Cpu)?;
/// assert_eq!(attention(&q, &kv, &kv, AttentionOptions::causal(0.5))?.dims(), [1, 2, 3, 4]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor, options: AttentionOptions) -> Result<Tensor> {
    apply(Attention(options), &[q, k, v])
}

/// [`attention`] over pages of keys and values, in the order of their positions. Pages may differ
/// in length.
pub fn attention_paged(
    q: &Tensor,
    pages: &[(Tensor, Tensor)],
    options: AttentionOptions,
) -> Result<Tensor> {
    if pages.is_empty() {
        bail!("attention: no pages; wants at least one");
    }
    if pages.len() > 1 && !q.device().is_cpu() {
        let join = |part: fn(&(Tensor, Tensor)) -> &Tensor| {
            Tensor::cat(&pages.iter().map(part).collect::<Vec<_>>(), 2)
        };
        return attention(q, &join(|page| &page.0)?, &join(|page| &page.1)?, options);
    }
    let pages = pages.iter().flat_map(|(k, v)| [k, v]);
    apply(
        Attention(options),
        &std::iter::once(q).chain(pages).collect::<Vec<_>>(),
    )
}
