//! Views of one shape as an elementwise kernel takes them, and launches over their elements.
//!
//! Where all views are row-major the kernel gets the define `CONTIGUOUS` and takes element `i` at
//! `offset + i`; else it takes `i` apart by the merged sizes. From 2³¹ elements on it counts in 64
//! bits (`BIG`).

use super::{GpuStorage, GpuView};
use crate::{DType, Result};
use std::ops::Range;
use tallow_gpu::strided::{self, Dims, Strides};
use tallow_gpu::{Buffer, Params, Variant};

/// Elements that a thread of an elementwise kernel takes: one leaves a fifth of the bandwidth.
const PER_THREAD: u64 = 4;

tallow_gpu::params! {
    /// One view.
    pub(crate) struct View1 {
        /// Elements.
        pub count: u64,
        /// Where the view starts, in elements.
        pub offset: u64,
        /// The sizes.
        pub dims: Dims,
        /// The strides.
        pub strides: [u64; 12],
    }
    /// Two views.
    pub(crate) struct View2 {
        /// Elements.
        pub count: u64,
        /// Where the views start, in elements.
        pub offset: u64,
        /// The second's.
        pub offset2: u64,
        /// The sizes.
        pub dims: Dims,
        /// The strides.
        pub strides: [u64; 12],
        /// The second's.
        pub strides2: [u64; 12],
    }
    /// Three views.
    pub(crate) struct View3 {
        /// Elements.
        pub count: u64,
        /// Where the views start, in elements.
        pub offset: u64,
        /// The second's.
        pub offset2: u64,
        /// The third's.
        pub offset3: u64,
        /// The sizes.
        pub dims: Dims,
        /// The strides.
        pub strides: [u64; 12],
        /// The second's.
        pub strides2: [u64; 12],
        /// The third's.
        pub strides3: [u64; 12],
    }
}

tallow_gpu::params! {
    /// The rows of a view: its last dimension, once for each place in the others.
    pub(crate) struct Rows {
        /// Rows.
        pub rows: u64,
        /// Elements in a row.
        pub cols: u64,
        /// From one to the next, in elements.
        pub col_stride: u64,
        /// Where the view starts, in elements.
        pub offset: u64,
        /// The sizes of the other dimensions.
        pub dims: Dims,
        /// Their strides.
        pub strides: [u64; 12],
    }
}

impl Rows {
    /// The rows of a view; a scalar has one row of one element.
    pub(crate) fn new(op: &'static str, view: GpuView<'_>) -> Result<Self> {
        let layout = view.layout();
        let last = layout.dims().len().saturating_sub(1);
        let (outer, strides) = (&layout.dims()[..last], &layout.stride()[..last]);
        let Some((dims, [strides])) = strided::merge(outer, [strides]) else {
            return Err(too_many(op, layout.dims()));
        };
        let rows: usize = outer.iter().product();
        if rows >= 1 << 31 {
            crate::bail!("{op}: {rows} rows; a launch takes fewer than 2^31");
        }
        Ok(Self {
            rows: rows as u64,
            cols: layout.dims().last().map_or(1, |size| *size as u64),
            col_stride: layout.stride().last().map_or(1, |stride| *stride as u64),
            offset: layout.start_offset() as u64,
            dims,
            strides,
        })
    }

    /// A group a row.
    pub(crate) fn groups(&self) -> [u32; 3] {
        [self.rows as u32, 1, 1]
    }
}

fn too_many(op: &'static str, dims: &[usize]) -> crate::Error {
    crate::Error::Msg(format!(
        "{op}: a view {dims:?} whose dimensions do not merge to {}; call contiguous first",
        strided::DIMS_MAX
    ))
}

/// Views of one shape.
pub(crate) struct Views<const N: usize> {
    count: u64,
    offsets: [u64; N],
    dims: Dims,
    strides: [Strides; N],
    contiguous: bool,
}

impl<const N: usize> Views<N> {
    /// The views together. Errors if their dimensions do not merge to twelve.
    pub(crate) fn new(op: &'static str, views: [GpuView<'_>; N]) -> Result<Self> {
        let first = views[0].layout();
        let merged = strided::merge(first.dims(), views.map(|view| view.layout().stride()));
        let Some((dims, strides)) = merged else {
            return Err(too_many(op, first.dims()));
        };
        Ok(Self {
            count: first.shape().elem_count() as u64,
            offsets: views.map(|view| view.layout().start_offset() as u64),
            dims,
            strides,
            contiguous: views.iter().all(|view| view.layout().is_contiguous()),
        })
    }

    /// Groups of threads that cover the elements.
    pub(crate) fn groups(&self, variant: &Variant) -> [u32; 3] {
        element_groups(self.count, variant)
    }
}

impl Views<1> {
    pub(crate) fn params(&self) -> View1 {
        let ([offset], [strides]) = (self.offsets, self.strides);
        View1 {
            count: self.count,
            offset,
            dims: self.dims,
            strides,
        }
    }
}

impl Views<2> {
    pub(crate) fn params(&self) -> View2 {
        let ([offset, offset2], [strides, strides2]) = (self.offsets, self.strides);
        let (count, dims) = (self.count, self.dims);
        View2 {
            count,
            offset,
            offset2,
            dims,
            strides,
            strides2,
        }
    }
}

impl Views<3> {
    pub(crate) fn params(&self) -> View3 {
        let [offset, offset2, offset3] = self.offsets;
        let [strides, strides2, strides3] = self.strides;
        let (count, dims) = (self.count, self.dims);
        View3 {
            count,
            offset,
            offset2,
            offset3,
            dims,
            strides,
            strides2,
            strides3,
        }
    }
}

/// Adds `CONTIGUOUS` and `BIG` as the views need them.
pub(crate) fn define_views<const N: usize>(variant: Variant, views: &Views<N>) -> Variant {
    let variant = match views.contiguous {
        true => variant.define("CONTIGUOUS", 1),
        false => variant,
    };
    define_big(variant, views.count)
}

/// Adds `BIG` where so many elements are counted.
pub(crate) fn define_big(variant: Variant, count: u64) -> Variant {
    match count >= 1 << 31 {
        true => variant.define("BIG", 1),
        false => variant,
    }
}

/// Groups for so many elements of an elementwise kernel.
pub(crate) fn element_groups(count: u64, variant: &Variant) -> [u32; 3] {
    groups(count.div_ceil(PER_THREAD), variant)
}

/// Groups for so many threads, one dimension.
pub(crate) fn groups(threads: u64, variant: &Variant) -> [u32; 3] {
    let groups = threads.div_ceil(u64::from(variant.source.group()));
    // Grids are as wide as 2³¹ everywhere; that many groups of elements no device has memory for.
    [u32::try_from(groups).unwrap_or(u32::MAX), 1, 1]
}

/// The bytes that a view may touch.
pub(crate) fn span(view: GpuView<'_>) -> (&Buffer, Range<usize>) {
    let (layout, size) = (view.layout(), view.dtype().size_in_bytes());
    let range = layout.start_offset() * size..layout.span_end() * size;
    (view.storage().buffer(), range)
}

/// Launches a kernel that reads views and writes the whole of a result.
pub(crate) fn launch<P: Params, const N: usize>(
    variant: &Variant,
    inputs: [GpuView<'_>; N],
    out: &GpuStorage,
    params: &P,
    groups: [u32; 3],
) -> Result<()> {
    let mut operands: smallvec::SmallVec<[_; 5]> = inputs.into_iter().map(span).collect();
    operands.push(out.whole());
    Ok(out.device().launch(variant, &operands, params, groups)?)
}

/// The dtype's name in kernels.
pub(crate) fn dtype_word(dtype: DType) -> &'static str {
    match dtype {
        DType::U8 => "u8",
        DType::U32 => "u32",
        DType::I16 => "i16",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::BF16 => "bf16",
        DType::F16 => "f16",
        DType::F32 => "f32",
        DType::F64 => "f64",
        DType::F8E4M3 => "f8e4m3",
        DType::F6E2M3 | DType::F6E3M2 | DType::F4 | DType::F8E8M0 => "packed",
    }
}

/// 1 for integers, for `#if`.
pub(crate) fn integer(dtype: DType) -> u32 {
    u32::from(dtype.is_int())
}
