//! The launches: a subgroup a weight row for few rows of x, tiles for many.

use crate::gpu::{GpuStorage, GpuView, dtype_word, span};
use crate::quantized::{Form, QTensor};
use crate::{DType, Result};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// What a product with blocks takes.
    pub(super) struct QMatMulParams {
        /// Where x starts, in elements.
        pub offset: u64,
        /// Where the scales start, in bytes.
        pub scales_at: u64,
        /// Rows of x.
        pub m: u32,
        /// Rows of the matrix.
        pub n: u32,
        /// The inner size.
        pub k: u32,
        /// Tiles over the rows of the matrix.
        pub tiles_n: u32,
    }
}

const TEXT: &str = include_str!("qmatmul.gpu.h");
static FEW: KernelSource = KernelSource::new(
    "qmatmul_few",
    TEXT,
    &[],
    Some(params_text::<QMatMulParams>),
    128,
);
static MANY: KernelSource = KernelSource::new(
    "qmatmul_many",
    TEXT,
    &[include_str!("../matmul/tile.gpu.h")],
    Some(params_text::<QMatMulParams>),
    256,
);

/// Rows of x up to which a subgroup a weight row is faster than tiles of 64: tiles do the work of
/// 64 rows whatever their number.
const FEW_ROWS: u32 = 8;
/// Weight rows of a group of `FEW`: a subgroup each.
const ROWS_PER_GROUP: u32 = 4;
const TILE: u32 = 64;

/// `out[m, n] = x[m, k] · Wᵀ`; x is row-major.
pub(super) fn multiply(weight: &QTensor, x: GpuView<'_>, out: &GpuStorage) -> Result<()> {
    let (n, k) = weight.shape().dims2()?;
    let rows = x.layout().shape().elem_count().checked_div(k).unwrap_or(0);
    let [Ok(m), Ok(n), Ok(k)] = [rows, n, k].map(u32::try_from) else {
        crate::bail!("qmatmul: x {:?}: a size passes 2^32", x.dims());
    };
    if k == 0 {
        return Ok(out.device().fill(out.buffer(), out.whole().1, 0)?);
    }
    let uploaded = weight.uploaded()?;
    let few = m <= FEW_ROWS;
    let variant = Variant::new(if few { &FEW } else { &MANY }).define("FEW", u32::from(few));
    let variant = match few {
        // A variant for one row, and one for up to eight.
        true => variant.define("ROWS", if m == 1 { 1 } else { FEW_ROWS }),
        false => variant,
    };
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
    let tiles = |size: u32| size.div_ceil(TILE);
    let params = QMatMulParams {
        offset: x.layout().start_offset() as u64,
        scales_at,
        m,
        n,
        k,
        tiles_n: tiles(n),
    };
    let groups = match few {
        true => n.div_ceil(ROWS_PER_GROUP),
        false => tiles(n).saturating_mul(tiles(m)),
    };
    let weights = (&uploaded.buffer, 0..uploaded.buffer.bytes());
    let operands = [weights, span(x), out.whole()];
    Ok(out
        .device()
        .launch(&variant, &operands, &params, [groups, 1, 1])?)
}
