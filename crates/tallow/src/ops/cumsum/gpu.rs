//! The launches: a group for each line along the dimension, or a thread where lines stand side by
//! side; long lines are cut into segments, whose sums come first.

use crate::gpu::{GpuStorage, GpuView, define_big, dtype_word, integer, launch};
use crate::{DType, Layout, Result, bail};
use tallow_gpu::strided::{self, Dims};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// Lines along a dimension.
    pub(super) struct CumsumParams {
        /// Lines.
        pub lines: u64,
        /// Elements of a line.
        pub length: u64,
        /// Elements of a segment.
        pub segment: u64,
        /// Segments of a line.
        pub segments: u64,
        /// Where the view starts, in elements.
        pub offset: u64,
        /// The stride along a line.
        pub along: u64,
        /// The result's.
        pub along2: u64,
        /// The sizes of the other dimensions.
        pub dims: Dims,
        /// Their strides.
        pub strides: [u64; 12],
        /// The result's.
        pub strides2: [u64; 12],
    }
}

const TEXT: &str = include_str!("cumsum.gpu.h");
type Text = Option<fn() -> (String, usize)>;
const PARAMS: Text = Some(params_text::<CumsumParams>);

static SUMS: KernelSource = KernelSource::new("cumsum_sums", TEXT, &[], PARAMS, 256);
static WHOLE: KernelSource = KernelSource::new("cumsum", TEXT, &[], PARAMS, 256);
static ON: KernelSource = KernelSource::new("cumsum_on", TEXT, &[], PARAMS, 256);

/// Groups that a device wants: 8 for each of the 132 processors of an H200.
const GROUPS_WANTED: u64 = 1024;
/// Lines up to this long are left to a thread each, if there are [`LINES_MANY`] of them.
const LENGTH_SHORT: u64 = 128;
const LINES_MANY: u64 = 1 << 14;

pub(super) fn cumsum(x: GpuView<'_>, dim: usize, out: &GpuStorage) -> Result<()> {
    let (dims, result) = (x.dims(), Layout::contiguous(x.dims()));
    let across = |of: &[usize]| [&of[..dim], &of[dim + 1..]].concat();
    let (strides, strides2) = (across(x.layout().stride()), across(result.stride()));
    let Some((merged, [first, second])) = strided::merge(&across(dims), [&strides, &strides2])
    else {
        bail!("cumsum: a view {dims:?} has too many dimensions; call contiguous first");
    };
    let along = x.layout().stride()[dim];
    let (lines, length) = ((out.count() / dims[dim]) as u64, dims[dim] as u64);
    let beside = strides.iter().zip(across(dims));
    let beside = beside.filter(|(stride, size)| *size > 1 && **stride > 0);
    let columns = beside.map(|(stride, _)| *stride).min();
    let columns = columns.is_some_and(|least| least < along)
        || (length <= LENGTH_SHORT && lines >= LINES_MANY);
    let (groups, segment_min) = match columns {
        true => (lines.div_ceil(256), 64),
        false => (lines, 4096),
    };
    let Ok(grid) = u32::try_from(groups) else {
        bail!("cumsum: {lines} lines; more than a launch takes");
    };
    let segments = (GROUPS_WANTED / groups).min(length / segment_min).max(1);
    let segment = length.div_ceil(segments);
    let params = CumsumParams {
        lines,
        length,
        segment,
        segments: length.div_ceil(segment),
        offset: x.layout().start_offset() as u64,
        along: along as u64,
        along2: result.stride()[dim] as u64,
        dims: merged,
        strides: first,
        strides2: second,
    };
    let wide = match (x.dtype().is_int(), out.device().info().has_f64) {
        (true, _) => DType::I64,
        (false, true) => DType::F64,
        (false, false) => DType::F32,
    };
    let variant = |source, sums: bool| {
        let variant = Variant::new(source)
            .define("XT", dtype_word(x.dtype()))
            .define("BT", dtype_word(wide))
            .define("INTEGER", integer(x.dtype()))
            .define("COLUMNS", u32::from(columns))
            .define("SUMS", u32::from(sums))
            .define("CUT", u32::from(params.segments > 1));
        define_big(variant, lines)
    };
    let grid = [grid, params.segments as u32, 1];
    if params.segments == 1 {
        return launch(&variant(&WHOLE, false), [x], out, &params, grid);
    }
    let before = GpuStorage::new(out.device(), (lines * params.segments) as usize, wide)?;
    launch(&variant(&SUMS, true), [x], &before, &params, grid)?;
    let layout = Layout::contiguous(before.count());
    let before = GpuView::new(&before, &layout)?;
    launch(&variant(&ON, false), [x, before], out, &params, grid)
}
