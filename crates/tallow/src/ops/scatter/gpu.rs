//! The launch: a thread for each column along the indexed dimension, which takes its indexes in
//! order; or, where columns are few, for each element, which looks through all indexes of its
//! column for its own. Both give the processor's order and so its bits; no two threads write to one
//! place.
//!
//! Narrow floats add up in f32 and are rounded once: in a register where a thread owns an element,
//! else in a copy of the target.

use crate::gpu::{GpuStorage, GpuView, define_big, dtype_word, integer, span};
use crate::ops::copy::gpu::word;
use crate::ops::index::gpu::{IDS, define_ids};
use crate::ops::{cast, concat};
use crate::{DType, Layout, Result};
use tallow_gpu::strided::{self, Dims};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// Columns of indexes, and where they stand in the target (1), the indexes (2), the source (3).
    pub(super) struct ScatterParams {
        /// Columns.
        pub columns: u64,
        /// Indexes in a column.
        pub length: u64,
        /// The target's size along the indexed dimension.
        pub size: u64,
        /// Where the target starts, in elements.
        pub offset: u64,
        /// The indexes.
        pub offset2: u64,
        /// The source.
        pub offset3: u64,
        /// Strides along the indexed dimension.
        pub along: u64,
        /// The indexes'.
        pub along2: u64,
        /// The source's.
        pub along3: u64,
        /// The sizes of the other dimensions.
        pub dims: Dims,
        /// Their strides.
        pub strides: [u64; 12],
        /// The indexes'.
        pub strides2: [u64; 12],
        /// The source's.
        pub strides3: [u64; 12],
    }
}

static SCATTER: KernelSource = KernelSource::new(
    "scatter",
    include_str!("scatter.gpu.h"),
    &[IDS],
    Some(params_text::<ScatterParams>),
    256,
);

/// With fewer columns than this, an H200's 2.7e5 threads are mostly idle.
const COLUMNS_FEW: usize = 8192;
/// Elements up to which looking through all indexes costs less than one thread's chain of reads
/// and writes: 4e6 comparisons an index are 0.5 µs, one such step.
const ELEMENTS_FEW: usize = 1 << 22;

/// What is written where.
pub(super) struct Operands<'a> {
    pub(super) target: GpuView<'a>,
    pub(super) ids: GpuView<'a>,
    /// The indexes' strides over the source's dimensions.
    pub(super) id_strides: &'a [usize],
    pub(super) source: GpuView<'a>,
}

pub(super) fn scatter(operands: &Operands<'_>, dim: usize, add: bool) -> Result<()> {
    let (target, source) = (operands.target, operands.source);
    if source.layout().shape().elem_count() == 0 {
        return Ok(());
    }
    let columns = source.layout().shape().elem_count() / source.dims()[dim];
    let by_column = columns >= COLUMNS_FEW || columns * target.dims()[dim] > ELEMENTS_FEW;
    let narrow = matches!(target.dtype(), DType::F16 | DType::BF16 | DType::F8E4M3);
    if !(add && narrow && by_column) {
        return record(operands, dim, add, by_column);
    }
    let device = target.storage().device();
    let (count, layout) = (
        target.layout().shape().elem_count(),
        Layout::contiguous(target.dims()),
    );
    let wide = GpuStorage::new(device, count, DType::F32)?;
    cast::gpu::run(target, &wide)?;
    let in_wide = Operands {
        target: GpuView::new(&wide, &layout)?,
        ..*operands
    };
    record(&in_wide, dim, add, by_column)?;
    let rounded = GpuStorage::new(device, count, target.dtype())?;
    cast::gpu::run(GpuView::new(&wide, &layout)?, &rounded)?;
    concat::gpu::write(GpuView::new(&rounded, &layout)?, target)
}

fn record(operands: &Operands<'_>, dim: usize, add: bool, by_column: bool) -> Result<()> {
    let (target, source) = (operands.target, operands.source);
    let strides = [
        target.layout().stride(),
        operands.id_strides,
        source.layout().stride(),
    ];
    let across = |of: &[usize]| [&of[..dim], &of[dim + 1..]].concat();
    let [first, second, third] = strides.map(across);
    let dims = across(source.dims());
    let merged = strided::merge(&dims, [&first, &second, &third]);
    let Some((merged, [first, second, third])) = merged else {
        crate::bail!(
            "scatter: source {:?} has too many dimensions",
            source.dims()
        );
    };
    let start = |view: GpuView<'_>| view.layout().start_offset() as u64;
    let params = ScatterParams {
        columns: dims.iter().product::<usize>() as u64,
        length: source.dims()[dim] as u64,
        size: target.dims()[dim] as u64,
        offset: start(target),
        offset2: start(operands.ids),
        offset3: start(source),
        along: strides[0][dim] as u64,
        along2: strides[1][dim] as u64,
        along3: strides[2][dim] as u64,
        dims: merged,
        strides: first,
        strides2: second,
        strides3: third,
    };
    let dtypes = match add {
        true => (dtype_word(target.dtype()), dtype_word(source.dtype())),
        false => (word(target.dtype()), word(source.dtype())),
    };
    let variant = Variant::new(&SCATTER)
        .define("XT", dtypes.0)
        .define("ZT", dtypes.1)
        .define("ADD", u32::from(add))
        .define("INTEGER", integer(target.dtype()))
        .define("OWNS_COLUMN", u32::from(by_column));
    let variant = define_ids(variant, operands.ids.dtype());
    let variant = define_big(variant, params.columns);
    let threads = params.columns * if by_column { 1 } else { params.size };
    let groups = crate::gpu::groups(threads, &variant);
    let operands = [span(target), span(operands.ids), span(source)];
    Ok(target
        .storage()
        .device()
        .launch(&variant, &operands, &params, groups)?)
}
