//! Views of one shape as an elementwise kernel takes them, and launches over their elements.
//!
//! A kernel takes an element's number apart by the merged sizes. Where neighbours lie side by side
//! in all views it does so once for `EACH` of them, which it loads and stores at once (`PACKED`;
//! see `elements.gpu.h`). From 2³¹ elements on it counts in 64 bits (`BIG`).

use super::{GpuStorage, GpuView};
use crate::{DType, Result};
use std::ops::Range;
use tallow_gpu::strided::{self, Dims, Strides};
use tallow_gpu::{Buffer, Params, Variant};

/// Neighbours that are loaded at once.
pub(crate) const PACKS: &str = include_str!("packs.gpu.h");
/// The loops of elementwise kernels.
pub(crate) const ELEMENTS: &str =
    concat!(include_str!("packs.gpu.h"), include_str!("elements.gpu.h"));
/// Rows that threads share.
pub(crate) const ROWS: &str = concat!(include_str!("packs.gpu.h"), include_str!("row.gpu.h"));
/// Bytes that a thread loads or stores at once.
const PACK_BYTES: usize = 16;
/// Elements that a thread takes where it takes them one by one.
pub(crate) const PER_THREAD: u64 = 4;

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

    /// How threads share the rows in kernels of [`ROWS`], which load so many neighbours at once:
    /// adds the defines, and says how many groups that is.
    pub(crate) fn share(&self, variant: Variant, each: u64) -> (Variant, [u32; 3]) {
        const SUBGROUP: u64 = 32;
        // Values that a thread holds, in registers.
        const VALUES: u64 = 32;
        let group = u64::from(variant.source.group());
        let lanes = if self.cols <= SUBGROUP * VALUES {
            SUBGROUP
        } else {
            group
        };
        let share = self.cols.div_ceil(lanes * each).max(1).next_power_of_two();
        let held = share * each <= VALUES;
        let kept = if held { share } else { VALUES / 2 / each };
        let variant = variant
            .define("EACH", each as u32)
            .define("LANES", lanes as u32)
            .define("KEPT", kept as u32);
        let variant = if held {
            variant.define("HELD", 1)
        } else {
            variant
        };
        let rows_of_group = group / lanes;
        (variant, [self.rows.div_ceil(rows_of_group) as u32, 1, 1])
    }

    /// How many neighbours of a row are loaded at once.
    pub(crate) fn pack(&self, x: GpuView<'_>) -> u64 {
        let strides = &self.strides[..self.dims.rank as usize];
        match self.col_stride == 1 {
            true => aligned_pack(x, self.cols, strides),
            false => 1,
        }
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
    /// Elements that a thread takes.
    each: u64,
    packed: bool,
}

impl<const N: usize> Views<N> {
    /// The views together, and the dtype of what is written. Errors if their dimensions do not
    /// merge to twelve.
    pub(crate) fn new(op: &'static str, views: [GpuView<'_>; N], out: DType) -> Result<Self> {
        let first = views[0].layout();
        let merged = strided::merge(first.dims(), views.map(|view| view.layout().stride()));
        let Some((dims, strides)) = merged else {
            return Err(too_many(op, first.dims()));
        };
        let offsets = views.map(|view| view.layout().start_offset() as u64);
        let dtypes = views.iter().map(|view| view.dtype());
        let each = pack(dtypes.chain([out]));
        Ok(Self {
            count: first.shape().elem_count() as u64,
            offsets,
            packed: is_packed(&dims, &strides, offsets, each),
            dims,
            strides,
            each,
        })
    }

    /// Groups of threads that cover the elements.
    pub(crate) fn groups(&self, variant: &Variant) -> [u32; 3] {
        groups(self.count.div_ceil(self.each), variant)
    }
}

/// How many elements of these dtypes go together: as many of the widest as a load takes, at least
/// four and at most eight.
fn pack(dtypes: impl Iterator<Item = DType>) -> u64 {
    let widest = dtypes.map(|dtype| dtype.size_in_bytes()).max();
    (PACK_BYTES / widest.unwrap_or(1).max(1)).clamp(4, 8) as u64
}

/// How many neighbours of a line of a view are loaded at once: 1 where packs would not be aligned.
pub(crate) fn aligned_pack(x: GpuView<'_>, length: u64, outer: &[u64]) -> u64 {
    let each = pack([x.dtype()].into_iter());
    let offset = x.layout().start_offset() as u64;
    let mut starts = outer.iter().chain([&length, &offset]);
    match starts.all(|at| at.is_multiple_of(each)) {
        true => each,
        false => 1,
    }
}

/// Whether each pack of elements has one address in every view, a multiple of its size, or is one
/// element many times. Only views of one dimension may end with a part of a pack.
fn is_packed<const N: usize>(
    dims: &Dims,
    strides: &[Strides; N],
    offsets: [u64; N],
    each: u64,
) -> bool {
    let rank = dims.rank as usize;
    let whole = rank <= 1 || dims.size[0].is_multiple_of(each);
    whole
        && strides.iter().zip(offsets).all(|(strides, offset)| {
            let outer = strides.get(1..rank).unwrap_or_default();
            let aligned = outer
                .iter()
                .chain([&offset])
                .all(|at| at.is_multiple_of(each));
            strides[0] == 0 || (strides[0] == 1 && aligned)
        })
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

/// Adds `EACH`, and `PACKED` and `BIG` as the views need them.
pub(crate) fn define_views<const N: usize>(variant: Variant, views: &Views<N>) -> Variant {
    let variant = variant.define("EACH", views.each as u32);
    let variant = match views.packed {
        true => variant.define("PACKED", 1),
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

/// Groups for so many elements, [`PER_THREAD`] a thread.
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
