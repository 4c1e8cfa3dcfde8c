//! The launch: one kernel for both operations, since a slice's index is the same for all its
//! elements: a stride of 0. Indexes are checked on the device, so that one outside shows at the
//! next read-back.

use crate::gpu::{GpuStorage, GpuView, define_big, dtype_word, element_groups, launch};
use crate::ops::copy::gpu::word;
use crate::{DType, Result};
use tallow_gpu::strided::{self, Dims};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// Where each element's index is, and where it would be read if that were 0.
    pub(super) struct IndexParams {
        /// Elements of the result.
        pub count: u64,
        /// Where the source starts, in elements.
        pub offset: u64,
        /// The indexes.
        pub offset2: u64,
        /// The source's stride along the indexed dimension.
        pub along: u64,
        /// The source's size there.
        pub size: u64,
        /// The sizes of the result.
        pub dims: Dims,
        /// The source's strides, 0 along the indexed dimension.
        pub strides: [u64; 12],
        /// The indexes'.
        pub strides2: [u64; 12],
    }
}

/// What kernels that take indexes say about them.
pub(in crate::ops) const IDS: &str = include_str!("ids.gpu.h");

static INDEX: KernelSource = KernelSource::new(
    "index_read",
    include_str!("index.gpu.h"),
    &[IDS],
    Some(params_text::<IndexParams>),
    256,
);

/// The defines of the indexes' dtype.
pub(in crate::ops) fn define_ids(variant: Variant, dtype: DType) -> Variant {
    let padding: u32 = match dtype {
        DType::U32 => 32,
        DType::I64 => 64,
        _ => 0,
    };
    variant
        .define("IT", dtype_word(dtype))
        .define("PADDING", padding)
}

/// Whole slices: the strides of `[n]` indexes that stand still along all other dimensions.
pub(in crate::ops) fn slice_strides(ids: GpuView<'_>, rank: usize, dim: usize) -> Vec<usize> {
    let mut strides = vec![0; rank];
    strides[dim] = ids.layout().stride()[0];
    strides
}

pub(super) fn index_select(
    source: GpuView<'_>,
    ids: GpuView<'_>,
    dim: usize,
    out: &GpuStorage,
) -> Result<()> {
    let mut dims = source.dims().to_vec();
    dims[dim] = ids.dims()[0];
    let strides = slice_strides(ids, dims.len(), dim);
    read([source, ids], &dims, &strides, dim, out)
}

pub(in crate::ops) fn gather(
    source: GpuView<'_>,
    ids: GpuView<'_>,
    dim: usize,
    out: &GpuStorage,
) -> Result<()> {
    read([source, ids], ids.dims(), ids.layout().stride(), dim, out)
}

/// Reads along `dim` of the source; the indexes have these strides over the result's dimensions.
fn read(
    [source, ids]: [GpuView<'_>; 2],
    dims: &[usize],
    id_strides: &[usize],
    dim: usize,
    out: &GpuStorage,
) -> Result<()> {
    let mut strides = source.layout().stride().to_vec();
    let along = std::mem::take(&mut strides[dim]);
    let Some((dims, [strides, strides2])) = strided::merge(dims, [&strides, id_strides]) else {
        crate::bail!(
            "index: source {:?} has too many dimensions; call contiguous first",
            source.dims()
        );
    };
    let params = IndexParams {
        count: out.count() as u64,
        offset: source.layout().start_offset() as u64,
        offset2: ids.layout().start_offset() as u64,
        along: along as u64,
        size: source.dims()[dim] as u64,
        dims,
        strides,
        strides2,
    };
    let variant = Variant::new(&INDEX).define("XT", word(source.dtype()));
    let variant = define_ids(variant, ids.dtype());
    let variant = define_big(variant, params.count);
    let groups = element_groups(params.count, &variant);
    launch(&variant, [source, ids], out, &params, groups)
}
