//! The launches: a subgroup a weight row for few rows of x; tiles for many, on tensor cores or
//! Metal's matrices where the device has them.

use crate::gpu::{GpuStorage, GpuView, WEIGHTS_HEADER, span};
use crate::ops::matmul::matrix_tile;
use crate::quantized::{Form, QTensor, Uploaded};
use crate::{DType, Result};
use tallow_gpu::{
    DeviceInfo, KernelSource, MatrixLayout, MatrixPlace, Number, Product, Variant, params_text,
};

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

/// On Metal's matrices. `X_SPACE` is for `unit_dot`, which it does not call.
static MATRICES: KernelSource = KernelSource::new(
    "qmatmul_matrices",
    include_str!("matrices.gpu.h"),
    &[
        "#define X_SPACE SHARED_P\n",
        WEIGHTS_HEADER,
        include_str!("../matmul/simdgroup.gpu.h"),
        include_str!("../matmul/matrix_tile.gpu.h"),
    ],
    Some(params_text::<QMatMulParams>),
    128,
);

const MMA_TEXT: &str = include_str!("mma.gpu.h");
const MMA_HEADERS: &[&str] = &[include_str!("../matmul/mma.gpu.h")];
static MMA: KernelSource = KernelSource::new(
    "qmatmul_mma",
    MMA_TEXT,
    MMA_HEADERS,
    Some(params_text::<QMatMulParams>),
    128,
);
static MMA_WIDE: KernelSource = KernelSource::new(
    "qmatmul_mma_wide",
    MMA_TEXT,
    MMA_HEADERS,
    Some(params_text::<QMatMulParams>),
    256,
);

/// Rows of x up to which a subgroup a weight row is faster than tiles of 64: tiles do the work of
/// 64 rows whatever their number.
const FEW_ROWS: u32 = 8;
/// Weight rows of a group of `FEW`: a subgroup each.
const ROWS_PER_GROUP: u32 = 4;
const TILE: u32 = 64;
const TILE_WIDE: u32 = 128;

/// How a product is computed.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// A subgroup a weight row.
    Few,
    /// Tiles of f32.
    Many,
    /// Tiles on tensor cores.
    Mma,
    /// Larger tiles, of which there must be enough for the whole device.
    MmaWide,
    /// Tiles of so many rows and columns on Metal's matrices, in f32.
    Matrices([u32; 2]),
}

impl Way {
    /// The way for `m` rows of x and `n` of W: of shapes, form and device alone.
    fn of(info: &DeviceInfo, form: Form, m: u32, n: u32) -> Self {
        let wide = m.div_ceil(TILE_WIDE).saturating_mul(n.div_ceil(TILE_WIDE));
        match form {
            _ if m <= FEW_ROWS => Self::Few,
            _ if info.simdgroup_matrices => Self::Matrices(matrix_tile(info, 1, [m, n])),
            // Two bf16 terms do not hold a weight of f32.
            Form::Plain(DType::F32) => Self::Many,
            _ if !info.tensor_cores => Self::Many,
            _ if wide >= info.units => Self::MmaWide,
            _ => Self::Mma,
        }
    }

    fn variant(self, form: Form, m: u32) -> Variant {
        // bf16 is one term, all else two.
        let terms = if matches!(form, Form::Plain(DType::BF16)) {
            1
        } else {
            2
        };
        match self {
            // A variant for one row, and one for up to eight.
            Self::Few => Variant::new(&FEW)
                .define("FEW", 1)
                .define("ROWS", if m == 1 { 1 } else { FEW_ROWS }),
            Self::Many => Variant::new(&MANY).define("FEW", 0),
            Self::Mma => Variant::new(&MMA).define("W_TERMS", terms),
            Self::MmaWide => Variant::new(&MMA_WIDE).define("W_TERMS", terms),
            Self::Matrices([rows, columns]) => Variant::new(&MATRICES)
                .define("MT", "float")
                .define("STEP", 32)
                .define("TILE_M", rows)
                .define("TILE_N", columns),
        }
    }

    /// Rows and columns of a group's results.
    fn tile(self) -> [u32; 2] {
        match self {
            Self::Few => [FEW_ROWS, ROWS_PER_GROUP],
            Self::Many | Self::Mma => [TILE; 2],
            Self::MmaWide => [TILE_WIDE; 2],
            Self::Matrices(tile) => tile,
        }
    }
}

/// Lets the driver's library multiply with weights of f32; false for others, or without a library.
fn by_library(
    weight: &Uploaded,
    x: GpuView<'_>,
    out: &GpuStorage,
    sizes: [u32; 3],
) -> Result<bool> {
    let [m, n, k] = sizes.map(|size| size as usize);
    if n == 0 || !matches!(weight.form, Form::Plain(DType::F32)) {
        return Ok(false);
    }
    let layout = |sizes, strides, offset| {
        let place = MatrixPlace {
            sizes,
            strides,
            batch: 0,
            offset,
        };
        MatrixLayout::new(place, Number::F32)
    };
    let left = layout([m, k], [k, 1], x.layout().start_offset());
    let (Some(lhs), Some(rhs)) = (left, layout([k, n], [1, k], 0)) else {
        return Ok(false);
    };
    let product = Product {
        number: Number::F32,
        batch: 1,
        m,
        n,
        k,
        lhs,
        rhs,
    };
    let operands = [span(x), (&weight.buffer, 0..weight.buffer.bytes())];
    Ok(out.device().multiply(&product, operands, out.whole())?)
}

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
    let weights = weight.gpu_weights()?;
    if m > FEW_ROWS && by_library(&uploaded, x, out, [m, n, k])? {
        return Ok(());
    }
    let way = Way::of(out.device().info(), uploaded.form, m, n);
    let variant = weights.define(way.variant(uploaded.form, m));
    let [rows_tile, columns_tile] = way.tile();
    let (tiles_m, tiles_n) = (m.div_ceil(rows_tile), n.div_ceil(columns_tile));
    let params = QMatMulParams {
        offset: x.layout().start_offset() as u64,
        scales_at: weights.scales_at(),
        m,
        n,
        k,
        tiles_n,
    };
    let groups = tiles_n.saturating_mul(tiles_m);
    let operands = [uploaded.whole(), span(x), out.whole()];
    Ok(out
        .device()
        .launch(&variant, &operands, &params, [groups, 1, 1])?)
}
