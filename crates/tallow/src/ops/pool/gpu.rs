//! The launches: a thread for each result, or for each element of the image where gradients go
//! back, so that no two threads add to one place.

use super::{Kind, Windows};
use crate::gpu::{GpuStorage, GpuView, define_big, dtype_word, groups, integer, launch};
use crate::{Result, Shape, bail};
use tallow_gpu::strided::{self, Dims};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// Windows of an image.
    pub(super) struct PoolParams {
        /// Results.
        pub count: u64,
        /// Where the image starts, in elements.
        pub offset: u64,
        /// Rows of a window.
        pub height: u64,
        /// Columns of a window.
        pub width: u64,
        /// The image's stride from row to row.
        pub row_stride: u64,
        /// And from column to column.
        pub column_stride: u64,
        /// The sizes of the result.
        pub dims: Dims,
        /// From one window to the next.
        pub strides: [u64; 12],
    }
}

tallow_gpu::params! {
    /// The image `[…, channels, rows, columns]`, and the windows.
    pub(super) struct PoolGradientParams {
        /// Elements of the image.
        pub count: u64,
        /// Where the windows' gradients start, in elements.
        pub offset: u64,
        /// Where the image starts.
        pub offset2: u64,
        /// Channels of the image.
        pub channels: u64,
        /// Rows of the image.
        pub rows: u64,
        /// Columns of the image.
        pub columns: u64,
        /// Rows of windows.
        pub out_rows: u64,
        /// Windows in a row.
        pub out_columns: u64,
        /// Rows of a window.
        pub height: u64,
        /// Columns of a window.
        pub width: u64,
        /// Rows from one window to the next.
        pub row_step: u64,
        /// Columns from one window to the next.
        pub column_step: u64,
        /// The strides of the windows' gradients.
        pub strides: [u64; 4],
        /// The image's.
        pub strides2: [u64; 4],
    }
}

static POOL: KernelSource = KernelSource::new(
    "pool",
    include_str!("pool.gpu.h"),
    &[],
    Some(params_text::<PoolParams>),
    256,
);

const GRADIENT_TEXT: &str = include_str!("gradient.gpu.h");
type Text = Option<fn() -> (String, usize)>;
const GRADIENT_PARAMS: Text = Some(params_text::<PoolGradientParams>);

static MEAN_GRADIENT: KernelSource =
    KernelSource::new("pool_gradient", GRADIENT_TEXT, &[], GRADIENT_PARAMS, 256);
static MAX_GRADIENT: KernelSource = KernelSource::new(
    "pool_gradient_max",
    GRADIENT_TEXT,
    &[],
    GRADIENT_PARAMS,
    256,
);

pub(super) fn pool(windows: Windows, x: GpuView<'_>, out: &GpuStorage) -> Result<()> {
    let (dims, op) = (windows.out_dims(&Shape::from(x.dims()))?, windows.name());
    let strides = x.layout().stride();
    let mut steps = strides.to_vec();
    steps[2] *= windows.stride[0];
    steps[3] *= windows.stride[1];
    let Some((merged, [steps])) = strided::merge(&dims, [&steps]) else {
        bail!("{op}: image {:?} has too many dimensions", x.dims());
    };
    let params = PoolParams {
        count: out.count() as u64,
        offset: x.layout().start_offset() as u64,
        height: windows.size[0] as u64,
        width: windows.size[1] as u64,
        row_stride: strides[2] as u64,
        column_stride: strides[3] as u64,
        dims: merged,
        strides: steps,
    };
    let variant = Variant::new(&POOL)
        .define("XT", dtype_word(x.dtype()))
        .define("INTEGER", integer(x.dtype()))
        .define("MEAN", u32::from(windows.kind == Kind::Mean));
    let variant = define_big(variant, params.count);
    launch(&variant, [x], out, &params, groups(params.count, &variant))
}

/// The gradient with respect to an image of these sizes; a maximum's wants the image itself.
pub(super) fn gradient(
    windows: Windows,
    image: &[usize],
    upstream: GpuView<'_>,
    x: Option<GpuView<'_>>,
    out: &GpuStorage,
) -> Result<()> {
    let four = |view: GpuView<'_>| -> [u64; 4] {
        std::array::from_fn(|dim| view.layout().stride().get(dim).map_or(0, |s| *s as u64))
    };
    let params = PoolGradientParams {
        count: out.count() as u64,
        offset: upstream.layout().start_offset() as u64,
        offset2: x.map_or(0, |x| x.layout().start_offset() as u64),
        channels: image[1] as u64,
        rows: image[2] as u64,
        columns: image[3] as u64,
        out_rows: upstream.dims()[2] as u64,
        out_columns: upstream.dims()[3] as u64,
        height: windows.size[0] as u64,
        width: windows.size[1] as u64,
        row_step: windows.stride[0] as u64,
        column_step: windows.stride[1] as u64,
        strides: four(upstream),
        strides2: x.map_or([0; 4], four),
    };
    let source = if x.is_some() {
        &MAX_GRADIENT
    } else {
        &MEAN_GRADIENT
    };
    let variant = Variant::new(source)
        .define("XT", dtype_word(out.dtype()))
        .define("MEAN", u32::from(x.is_none()));
    let grid = groups(params.count, &variant);
    match x {
        Some(x) => launch(&variant, [upstream, x], out, &params, grid),
        None => launch(&variant, [upstream], out, &params, grid),
    }
}
