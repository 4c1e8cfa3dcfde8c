//! The launch of products with experts: a subgroup a result.

use crate::gpu::{GpuStorage, GpuView, dtype_word, span};
use crate::quantized::{Form, QTensor};
use crate::{CpuStorage, DType, Result};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// What a product with experts takes.
    pub(super) struct ExpertParams {
        /// Where x starts, in elements.
        pub offset: u64,
        /// Where the scales start, in bytes.
        pub scales_at: u64,
        /// How many results there are.
        pub results: u64,
        /// Positions (a token's slot each) that share a row of x.
        pub sharers: u32,
        /// Rows of a matrix.
        pub n: u32,
        /// The inner size.
        pub k: u32,
        /// Nothing.
        pub unused: u32,
    }
}

static EXPERTS: KernelSource = KernelSource::new(
    "qmatmul_experts",
    include_str!("qmatmul.gpu.h"),
    &[],
    Some(params_text::<ExpertParams>),
    128,
);
/// A subgroup each.
const RESULTS_PER_GROUP: u64 = 4;

/// `out[t, s] = x[t, s or 0] · W[ids[t, s]]ᵀ`; x is row-major, and every id is an expert's.
pub(super) fn multiply(
    weight: &QTensor,
    x: GpuView<'_>,
    ids: &[u32],
    out: &GpuStorage,
) -> Result<()> {
    let (_, n, k) = weight.shape().dims3()?;
    if k == 0 {
        return Ok(out.device().fill(out.buffer(), out.whole().1, 0)?);
    }
    let rows = x.layout().shape().elem_count() / k;
    let sharers = ids.len().checked_div(rows).unwrap_or(1).max(1);
    let results = out.count() as u64;
    let groups = u32::try_from(results.div_ceil(RESULTS_PER_GROUP));
    let [Ok(n), Ok(k), Ok(sharers)] = [n, k, sharers].map(u32::try_from) else {
        crate::bail!("indexed_moe_forward: x {:?}: a size passes 2^32", x.dims());
    };
    let Some(groups) = groups.ok().filter(|groups| *groups < 1 << 31) else {
        crate::bail!("indexed_moe_forward: {results} results; a launch takes fewer than 2^33");
    };
    let uploaded = weight.uploaded()?;
    let variant = Variant::new(&EXPERTS).define("EXPERTS", 1);
    let (variant, scales_at) = match uploaded.form {
        Form::Plain(dtype) => (variant.define("BITS", 0).define("WT", dtype_word(dtype)), 0),
        Form::Codes {
            bits,
            group,
            halves,
            scales_at,
        } => {
            let scale = dtype_word(if halves { DType::F16 } else { DType::F32 });
            let variant = variant.define("BITS", bits).define("GROUP", group);
            (variant.define("SCALE", scale), scales_at)
        }
    };
    let params = ExpertParams {
        offset: x.layout().start_offset() as u64,
        scales_at,
        results,
        sharers,
        n,
        k,
        unused: 0,
    };
    let ids = GpuStorage::from_cpu(out.device(), &CpuStorage::U32(ids.to_vec()))?;
    let weights = (&uploaded.buffer, 0..uploaded.buffer.bytes());
    let operands = [weights, span(x), ids.whole(), out.whole()];
    Ok(out
        .device()
        .launch(&variant, &operands, &params, [groups, 1, 1])?)
}
