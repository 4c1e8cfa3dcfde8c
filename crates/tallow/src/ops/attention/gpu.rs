//! The launches: for few queries groups of threads with a share of the keys each; for many a group
//! a tile of queries, on tensor cores or Metal's matrices where the device has them.

use super::AttentionOptions;
use crate::gpu::{GpuStorage, GpuView, dtype_word, launch, span};
use crate::{DType, Result};
use tallow_gpu::{DeviceInfo, KernelSource, Variant, params_text};

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
        /// Shares of the keys, with a group of threads each.
        pub parts: u32,
    }
}

fn params() -> (String, usize) {
    let (text, size) = params_text::<AttentionParams>();
    (params_text::<Heads>().0 + &text, size)
}

/// The longest head: what the kernel keeps of a query in shared memory.
pub(super) const HEAD_DIM_MAX: usize = 512;

/// The longest head of tiles of queries.
const TILED_HEAD_MAX: u32 = 256;
/// Query positions from which tiles are faster where there are no tensor cores.
const TILED_QUERIES_MIN: u32 = 8;

const SEES: &str = include_str!("sees.gpu.h");
const FLASH_TEXT: &str = include_str!("flash.gpu.h");
const FLASH_HEADERS: &[&str] = &[SEES, include_str!("../matmul/mma.gpu.h")];
static FLASH: KernelSource = KernelSource::new(
    "attention_flash",
    FLASH_TEXT,
    FLASH_HEADERS,
    Some(params),
    128,
);
/// For heads of more than 128 features: half the rows, as shared memory has it.
static FLASH_LONG: KernelSource = KernelSource::new(
    "attention_flash",
    FLASH_TEXT,
    FLASH_HEADERS,
    Some(params),
    64,
);

const MATRICES_TEXT: &str = include_str!("matrices.gpu.h");
const MATRICES_HEADERS: &[&str] = &[SEES, include_str!("../matmul/simdgroup.gpu.h")];
static MATRICES: KernelSource = KernelSource::new(
    "attention_matrices",
    MATRICES_TEXT,
    MATRICES_HEADERS,
    Some(params),
    128,
);
/// Twice the rows for each tile of keys that is brought, where groups are many.
static MATRICES_WIDE: KernelSource = KernelSource::new(
    "attention_matrices",
    MATRICES_TEXT,
    MATRICES_HEADERS,
    Some(params),
    256,
);
/// Heads up to which the wide one has the registers.
const WIDE_HEAD_MAX: u32 = 128;

static TILE: KernelSource = KernelSource::new(
    "attention_tile",
    include_str!("tile.gpu.h"),
    &[SEES],
    Some(params),
    128,
);
/// Query rows of a group of `TILE`.
const TILE_ROWS: u32 = 32;
/// Shared memory that it takes at most, and that those of matrices do.
const TILE_BYTES: u32 = 32 << 10;

static FEW: KernelSource = KernelSource::new(
    "attention_few",
    include_str!("few.gpu.h"),
    &[SEES],
    Some(params),
    128,
);
/// Query rows of a group of `FEW`.
const FEW_ROWS: u32 = 4;

static JOIN: KernelSource = KernelSource::new(
    "attention_join",
    include_str!("join.gpu.h"),
    &[],
    Some(params),
    128,
);
/// Keys of a share of `FEW` at least: a tile.
const FEW_KEYS: u32 = 128;
/// Groups of `FEW` that a unit of the device works on at once.
const FEW_PER_UNIT: u32 = 4;
/// Keys of a share of `FLASH` at least: what takes as long as joining.
const FLASH_KEYS: u32 = 256;
/// Shares of the keys at most: joining has a thread for each.
const PARTS_MAX: u32 = 128;

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
        parts: 1,
    };
    let kernel = kernel(out.device().info(), (q.dtype(), k.dtype()), &params, batch);
    run(kernel, [q, k, v], out, params, batch)
}

/// A kernel for some operands.
struct Kernel {
    variant: Variant,
    /// Query rows of a group.
    rows: u32,
    /// For a kernel whose groups may share the keys: the keys of a share at least, and the groups
    /// that a unit of the device has room for.
    shares: Option<(u32, u32)>,
}

/// Launches a kernel. Where its groups are fewer than the device has room for, several share the
/// keys of each, and their sums are joined.
fn run(
    kernel: Kernel,
    inputs: [GpuView<'_>; 3],
    out: &GpuStorage,
    mut params: AttentionParams,
    batch: u32,
) -> Result<()> {
    let [q, k, v] = inputs;
    let (device, word) = (out.device(), dtype_word(q.dtype()));
    let rows = params.q_len * params.group;
    let all_heads = params.heads.checked_div(params.group).unwrap_or(0) * batch;
    let groups = rows.div_ceil(kernel.rows) * all_heads;
    let variant = kernel
        .variant
        .define("XT", word)
        .define("KT", dtype_word(k.dtype()));
    let Some((keys, per_unit)) = kernel.shares else {
        return launch(&variant, inputs, out, &params, [groups, 1, 1]);
    };
    let room = (per_unit * device.info().units)
        .checked_div(groups)
        .unwrap_or(1);
    params.parts = params.kv_len.div_ceil(keys).min(room).clamp(1, PARTS_MAX);
    if params.parts == 1 {
        let variant = variant.define("OT", word).define("PARTS", 0);
        return launch(&variant, inputs, out, &params, [groups, 1, 1]);
    }
    let lines = rows * all_heads;
    let count = lines as usize * params.parts as usize * (params.head_dim as usize + 2);
    let bytes = count * size_of::<f32>();
    let sums = device.buffer(bytes)?;
    let variant = variant.define("OT", "f32").define("PARTS", 1);
    let operands = [span(q), span(k), span(v), (&sums, 0..bytes)];
    device.launch(&variant, &operands, &params, [groups * params.parts, 1, 1])?;
    let join = Variant::new(&JOIN).define("XT", word);
    let operands = [(&sums, 0..bytes), out.whole()];
    Ok(device.launch(&join, &operands, &params, [lines, 1, 1])?)
}

/// The kernel for such operands: for tiles of queries, on tensor cores or Metal's matrices where
/// the device has them and the keys are of their types; for few queries the one that reads keys
/// row by row. Of shapes, dtypes and device alone.
fn kernel(
    info: &DeviceInfo,
    (q, k): (DType, DType),
    params: &AttentionParams,
    batch: u32,
) -> Kernel {
    let on_tensor_cores = info.tensor_cores && matches!(k, DType::F16 | DType::BF16);
    let are_few = match on_tensor_cores {
        true => params.q_len * params.group <= FEW_ROWS,
        false => params.q_len < TILED_QUERIES_MIN || info.shared_bytes < TILE_BYTES,
    };
    if are_few || params.head_dim > TILED_HEAD_MAX {
        let each = 16 / k.size_in_bytes() as u32;
        return Kernel {
            variant: Variant::new(&FEW).define("EACH", each),
            rows: FEW_ROWS,
            shares: Some((FEW_KEYS, FEW_PER_UNIT)),
        };
    }
    let rounded = |sizes: &[u32]| sizes.iter().copied().find(|size| params.head_dim <= *size);
    if on_tensor_cores {
        let head = rounded(&[64, 96, 128]);
        let source = if head.is_some() { &FLASH } else { &FLASH_LONG };
        // f32 is two terms of the keys' f16.
        let variant = Variant::new(source)
            .define("TERMS", if q == DType::F32 { 2 } else { 1 })
            .define("HEAD", head.unwrap_or(TILED_HEAD_MAX))
            .define("SOFTCAP", u32::from(params.softcap != 0.0));
        return Kernel {
            variant,
            rows: source.group() / 2,
            shares: Some((FLASH_KEYS, 1)),
        };
    }
    let (variant, rows) = if info.simdgroup_matrices {
        let head = rounded(&[64, 96, 128]).unwrap_or(TILED_HEAD_MAX);
        by_matrices(info, (q, k), params, (batch, head))
    } else {
        let head = rounded(&[64, 128]).unwrap_or(TILED_HEAD_MAX);
        (Variant::new(&TILE).define("HEAD", head), TILE_ROWS)
    };
    Kernel {
        variant,
        rows,
        shares: None,
    }
}

/// The kernel on Metal's matrices: with eight rows a subgroup, and more of these where there are
/// groups enough for the device all the same.
fn by_matrices(
    info: &DeviceInfo,
    dtypes: (DType, DType),
    params: &AttentionParams,
    (batch, head): (u32, u32),
) -> (Variant, u32) {
    let rows_of = |source: &KernelSource| source.group() / 4;
    let rows = u64::from(params.q_len) * u64::from(params.group);
    let kv_heads = u64::from(params.heads.checked_div(params.group).unwrap_or(0));
    let groups = rows.div_ceil(rows_of(&MATRICES_WIDE).into()) * kv_heads * u64::from(batch);
    let is_wide = head <= WIDE_HEAD_MAX && groups >= 4 * u64::from(info.units);
    let source = if is_wide { &MATRICES_WIDE } else { &MATRICES };
    let factors = if dtypes == (DType::F16, DType::F16) {
        "half"
    } else {
        "float"
    };
    let variant = Variant::new(source)
        .define("HEAD", head)
        .define("MT", factors);
    (variant, rows_of(source))
}
