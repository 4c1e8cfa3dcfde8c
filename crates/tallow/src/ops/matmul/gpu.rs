//! The launch: tiles of 64 × 64, a group of threads each; batches and strides as they lie. What the
//! driver's own library takes (`library.rs`) is left to it.

use super::library;
use crate::gpu::{GpuStorage, GpuView, dtype_word, launch};
use crate::{DType, Result};
use tallow_gpu::strided::{self, Dims};
use tallow_gpu::{KernelSource, Variant, params_text};

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
const TILE: usize = 64;

static MATMUL: KernelSource = KernelSource::new(
    "matmul_tile",
    include_str!("matmul.gpu.h"),
    &[include_str!("tile.gpu.h")],
    Some(params_text::<MatMulParams>),
    256,
);

pub(super) fn matmul(lhs: GpuView<'_>, rhs: GpuView<'_>, out: &GpuStorage) -> Result<()> {
    if library::multiply(lhs, rhs, out)? {
        return Ok(());
    }
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
    let tiles = |size: u32| size.div_ceil(TILE as u32);
    let groups = batch.iter().product::<usize>() as u64 * u64::from(tiles(m)) * u64::from(tiles(n));
    let Some(groups) = u32::try_from(groups)
        .ok()
        .filter(|groups| *groups < 1 << 31)
    else {
        crate::bail!("matmul: {groups} tiles; a launch takes fewer than 2^31");
    };
    let params = MatMulParams {
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
        tiles_m: tiles(m),
        tiles_n: tiles(n),
        unused: 0,
    };
    let variant = Variant::new(&MATMUL)
        .define("XT", dtype_word(lhs.dtype()))
        .define("WIDE", u32::from(lhs.dtype() == DType::F64));
    launch(&variant, [lhs, rhs], out, &params, [groups, 1, 1])
}
