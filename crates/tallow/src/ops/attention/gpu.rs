//! The launch: a group of threads a query of a head, over all its keys.

use super::AttentionOptions;
use crate::Result;
use crate::gpu::{GpuStorage, GpuView, dtype_word, launch};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// A tensor `[batch, heads, len, head_dim]`: where it starts, and its strides, in elements.
    pub(super) struct Heads {
        /// Where it starts.
        pub offset: u64,
        /// From one batch to the next.
        pub batch: u64,
        /// From one head to the next.
        pub head: u64,
        /// From one position to the next.
        pub position: u64,
        /// From one feature to the next.
        pub feature: u64,
    }
    /// What attention takes.
    pub(super) struct AttentionParams {
        /// Queries.
        pub q: Heads,
        /// Keys.
        pub k: Heads,
        /// Values.
        pub v: Heads,
        /// Heads of queries.
        pub heads: u32,
        /// Heads of queries for one of keys.
        pub group: u32,
        /// Query positions.
        pub q_len: u32,
        /// Key positions.
        pub kv_len: u32,
        /// Features of a head.
        pub head_dim: u32,
        /// 1 if a query sees no key behind its own position.
        pub causal: u32,
        /// One more than the keys up to its own that a query sees; 0 for all.
        pub window: u32,
        /// The factor of the scores.
        pub scale: f32,
        /// The bound of the scores; 0 for none.
        pub softcap: f32,
        /// Nothing.
        pub unused: u32,
    }
}

fn params() -> (String, usize) {
    let (text, size) = params_text::<AttentionParams>();
    (params_text::<Heads>().0 + &text, size)
}

/// The longest head: what the kernel keeps of a query in shared memory.
pub(super) const HEAD_DIM_MAX: usize = 512;

static ATTENTION: KernelSource = KernelSource::new(
    "attention_row",
    include_str!("attention.gpu.h"),
    &[],
    Some(params),
    128,
);

fn heads(view: GpuView<'_>) -> Result<Heads> {
    let &[batch, head, position, feature] = view.layout().stride() else {
        crate::bail!("attention: {:?}; wants four dimensions", view.dims());
    };
    Ok(Heads {
        offset: view.layout().start_offset() as u64,
        batch: batch as u64,
        head: head as u64,
        position: position as u64,
        feature: feature as u64,
    })
}

pub(super) fn attention(
    inputs: &[GpuView<'_>],
    options: AttentionOptions,
    out: &GpuStorage,
) -> Result<()> {
    let [q, k, v] = *inputs else {
        crate::bail!("attention: {} pages; wants one on a gpu", inputs.len() / 2);
    };
    let sizes: Vec<u32> = q
        .dims()
        .iter()
        .chain(k.dims())
        .map(|size| *size as u32)
        .collect();
    let &[batch, heads_count, q_len, head_dim, _, kv_heads, kv_len, _] = &sizes[..] else {
        crate::bail!(
            "attention: q {:?}, k {:?}; wants four dimensions",
            q.dims(),
            k.dims()
        );
    };
    let rows = u64::from(batch) * u64::from(heads_count) * u64::from(q_len);
    if head_dim as usize > HEAD_DIM_MAX || rows >= 1 << 31 || kv_len >= 1 << 31 {
        crate::bail!(
            "attention: q {:?}, k {:?} on a gpu; takes heads of up to {HEAD_DIM_MAX} features",
            q.dims(),
            k.dims()
        );
    }
    let window = options.window.map_or(0, |window| {
        u32::try_from(window)
            .unwrap_or(u32::MAX - 1)
            .saturating_add(1)
    });
    let params = AttentionParams {
        q: heads(q)?,
        k: heads(k)?,
        v: heads(v)?,
        heads: heads_count,
        group: heads_count / kv_heads.max(1),
        q_len,
        kv_len,
        head_dim,
        causal: u32::from(options.causal),
        window,
        scale: options.scale,
        softcap: options.softcap.unwrap_or(0.0),
        unused: 0,
    };
    let variant = Variant::new(&ATTENTION)
        .define("XT", dtype_word(q.dtype()))
        .define("KT", dtype_word(k.dtype()));
    launch(&variant, [q, k, v], out, &params, [rows as u32, 1, 1])
}
