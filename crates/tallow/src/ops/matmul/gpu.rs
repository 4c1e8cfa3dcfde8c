//! The launches: batches and strides as they lie. What the driver's own library takes
//! (`library.rs`) is left to it; a product with a vector has a kernel of its own, and all else goes
//! by tiles, on Metal's matrices where the device has them.

use super::library;
use crate::gpu::{GpuStorage, GpuView, dtype_word, launch};
use crate::{DType, Result};
use tallow_gpu::strided::{self, Dims};
use tallow_gpu::{DeviceInfo, KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// What a product takes. Rows and columns of a matrix are strides in elements.
    pub(super) struct MatMulParams {
        /// Sizes of the batch.
        pub batch: Dims,
        /// Strides of the lhs over the batch.
        pub lhs_batch: [u64; 12],
        /// Strides of the rhs over the batch.
        pub rhs_batch: [u64; 12],
        /// Where the lhs starts, in elements.
        pub lhs_offset: u64,
        /// Where the rhs starts.
        pub rhs_offset: u64,
        /// From one row of the lhs to the next.
        pub lhs_row: u64,
        /// From one column of the lhs to the next.
        pub lhs_col: u64,
        /// From one row of the rhs to the next.
        pub rhs_row: u64,
        /// From one column of the rhs to the next.
        pub rhs_col: u64,
        /// Rows of the result.
        pub m: u32,
        /// Columns of the result.
        pub n: u32,
        /// The inner size.
        pub k: u32,
        /// Tiles over the rows.
        pub tiles_m: u32,
        /// Tiles over the columns.
        pub tiles_n: u32,
        /// Nothing.
        pub unused: u32,
    }
}

/// Rows and columns of a tile.
const TILE: u32 = 64;

static MATMUL: KernelSource = KernelSource::new(
    "matmul_tile",
    include_str!("matmul.gpu.h"),
    &[include_str!("tile.gpu.h")],
    Some(params_text::<MatMulParams>),
    256,
);
static MATRICES: KernelSource = KernelSource::new(
    "matmul_matrices",
    include_str!("matrices.gpu.h"),
    &[
        include_str!("simdgroup.gpu.h"),
        include_str!("matrix_tile.gpu.h"),
    ],
    Some(params_text::<MatMulParams>),
    128,
);
static GEMV: KernelSource = KernelSource::new(
    "matmul_gemv",
    include_str!("gemv.gpu.h"),
    &[],
    Some(params_text::<MatMulParams>),
    256,
);

/// Rows or columns up to which a tile of so many wastes less than a square one.
const NARROW: u32 = 16;
/// Rows of a matrix by a vector below which each gets a whole group.
const FEW_ROWS: u32 = 8;

pub(super) fn matmul(lhs: GpuView<'_>, rhs: GpuView<'_>, out: &GpuStorage) -> Result<()> {
    if library::multiply(lhs, rhs, out)? {
        return Ok(());
    }
    let params = params(lhs, rhs)?;
    let batch = params.batch.size.iter().product::<u64>();
    let (info, dtype) = (out.device().info(), lhs.dtype());
    if params.m == 1 || params.n == 1 {
        return by_rows(lhs, rhs, out, (params, batch));
    }
    let is_wide = dtype == DType::F64;
    let (variant, [rows, columns]) = match info.simdgroup_matrices && !is_wide {
        true => by_matrices(info, dtype, &params, batch),
        false => {
            let variant = Variant::new(&MATMUL).define("XT", dtype_word(dtype));
            (variant.define("WIDE", u32::from(is_wide)), [TILE; 2])
        }
    };
    let params = MatMulParams {
        tiles_m: params.m.div_ceil(rows),
        tiles_n: params.n.div_ceil(columns),
        ..params
    };
    launch(&variant, [lhs, rhs], out, &params, groups(&params, batch)?)
}

/// A group a tile.
fn groups(params: &MatMulParams, batch: u64) -> Result<[u32; 3]> {
    let tiles = u64::from(params.tiles_m) * u64::from(params.tiles_n);
    let groups = batch.saturating_mul(tiles);
    match u32::try_from(groups)
        .ok()
        .filter(|groups| *groups < 1 << 31)
    {
        Some(groups) => Ok([groups, 1, 1]),
        None => crate::bail!("matmul: {groups} tiles; a launch takes fewer than 2^31"),
    }
}

/// Sizes and strides; tiles are left to the kernel's choice.
fn params(lhs: GpuView<'_>, rhs: GpuView<'_>) -> Result<MatMulParams> {
    let batch_rank = lhs.dims().len() - 2;
    let (batch, lhs_dims) = lhs.dims().split_at(batch_rank);
    let (lhs_batch, lhs_strides) = lhs.layout().stride().split_at(batch_rank);
    let (rhs_batch, rhs_strides) = rhs.layout().stride().split_at(batch_rank);
    let Some((dims, [lhs_batch, rhs_batch])) = strided::merge(batch, [lhs_batch, rhs_batch]) else {
        crate::bail!(
            "matmul: batch dims {batch:?} that do not merge to {}; call contiguous first",
            strided::DIMS_MAX
        );
    };
    let (m, k, n) = (lhs_dims[0], lhs_dims[1], rhs.dims()[batch_rank + 1]);
    let [Ok(m), Ok(k), Ok(n)] = [m, k, n].map(u32::try_from) else {
        crate::bail!(
            "matmul: lhs {:?}, rhs {:?}: a size passes 2^32",
            lhs.dims(),
            rhs.dims()
        );
    };
    Ok(MatMulParams {
        batch: dims,
        lhs_batch,
        rhs_batch,
        lhs_offset: lhs.layout().start_offset() as u64,
        rhs_offset: rhs.layout().start_offset() as u64,
        lhs_row: lhs_strides[0] as u64,
        lhs_col: lhs_strides[1] as u64,
        rhs_row: rhs_strides[0] as u64,
        rhs_col: rhs_strides[1] as u64,
        m,
        n,
        k,
        tiles_m: 1,
        tiles_n: 1,
        unused: 0,
    })
}

/// The tile of a product of so many rows and columns on Metal's matrices: a small one where large
/// ones are too few for the device.
pub(in crate::ops) fn matrix_tile(info: &DeviceInfo, batch: u64, [m, n]: [u32; 2]) -> [u32; 2] {
    let tiles = |size: u32| u64::from(size.div_ceil(TILE));
    let groups = batch.saturating_mul(tiles(m) * tiles(n));
    match (m, n) {
        (..=NARROW, _) => [NARROW, TILE],
        (_, ..=NARROW) => [TILE, NARROW],
        _ if groups >= 4 * u64::from(info.units) => [TILE; 2],
        _ => [TILE / 2; 2],
    }
}

/// The kernel on Metal's matrices, and its tile. Of shapes, dtype and device alone.
fn by_matrices(
    info: &DeviceInfo,
    dtype: DType,
    params: &MatMulParams,
    batch: u64,
) -> (Variant, [u32; 2]) {
    let tile = matrix_tile(info, batch, [params.m, params.n]);
    // A number of f8e4m3 is one of f16.
    let factors = match dtype {
        DType::F16 | DType::F8E4M3 => "half",
        _ => "float",
    };
    let variant = Variant::new(&MATRICES)
        .define("XT", dtype_word(dtype))
        .define("MT", factors)
        .define("STEP", if factors == "half" { 32 } else { 16 })
        .define("TILE_M", tile[0])
        .define("TILE_N", tile[1]);
    (variant, tile)
}

/// A matrix by a vector; where the lhs is the vector, the rhs turned is the matrix.
fn by_rows(
    lhs: GpuView<'_>,
    rhs: GpuView<'_>,
    out: &GpuStorage,
    (params, batch): (MatMulParams, u64),
) -> Result<()> {
    let (operands, params) = match params.n == 1 {
        true => ([lhs, rhs], params),
        false => ([rhs, lhs], turned(params)),
    };
    let (rows, along) = match params.lhs_row < params.lhs_col {
        _ if params.m < FEW_ROWS => (1, true),
        false => (8, true),
        true => (32, false),
    };
    let params = MatMulParams {
        tiles_m: params.m.div_ceil(rows),
        ..params
    };
    let variant = Variant::new(&GEMV)
        .define("XT", dtype_word(lhs.dtype()))
        .define("ROWS", rows)
        .define("ALONG", u32::from(along));
    launch(&variant, operands, out, &params, groups(&params, batch)?)
}

/// The product of the turned operands, which is the turned product.
fn turned(params: MatMulParams) -> MatMulParams {
    MatMulParams {
        lhs_batch: params.rhs_batch,
        rhs_batch: params.lhs_batch,
        lhs_offset: params.rhs_offset,
        rhs_offset: params.lhs_offset,
        lhs_row: params.rhs_col,
        lhs_col: params.rhs_row,
        rhs_row: params.lhs_col,
        rhs_col: params.lhs_row,
        m: params.n,
        n: params.m,
        ..params
    }
}
