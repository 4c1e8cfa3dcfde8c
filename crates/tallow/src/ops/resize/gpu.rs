//! The launches: the tables are made on the processor, once a call, and go along as buffers.

use super::taps::Taps;
use crate::gpu::{GpuStorage, GpuView, dtype_word, groups, launch};
use crate::ops::copy::gpu::word;
use crate::{CpuStorage, DType, Layout, Result, bail};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// Sizes of the small image and of the resized one.
    pub(super) struct ResizeParams {
        /// Elements of what is written.
        pub count: u64,
        /// Where what is read starts, in elements.
        pub offset: u64,
        /// Channels.
        pub channels: u64,
        /// Rows of the resized image.
        pub rows: u64,
        /// Columns of the resized image.
        pub columns: u64,
        /// Rows of the image.
        pub height: u64,
        /// Columns of the image.
        pub width: u64,
        /// Nothing.
        pub unused: u64,
        /// The strides of what is read.
        pub strides: [u64; 4],
    }
}

const TEXT: &str = include_str!("resize.gpu.h");
type Text = Option<fn() -> (String, usize)>;
const PARAMS: Text = Some(params_text::<ResizeParams>);

static RESIZE: KernelSource = KernelSource::new("resize", TEXT, &[], PARAMS, 256);
static GRADIENT: KernelSource = KernelSource::new("resize_gradient", TEXT, &[], PARAMS, 256);

/// Which way along the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Nearest,
    Bilinear,
    /// Of either.
    Gradient,
}

/// Entries of both dimensions one behind the other.
fn tables(out: &GpuStorage, taps: &[Vec<Taps>; 2]) -> Result<(GpuStorage, GpuStorage)> {
    let all = || taps.iter().flatten();
    let lows: Option<Vec<u32>> = all().map(|tap| u32::try_from(tap.low).ok()).collect();
    let Some(lows) = lows else {
        bail!("resize: rows pass what u32 numbers");
    };
    let weights = match out.dtype() {
        DType::F64 => CpuStorage::F64(all().map(|tap| tap.weight).collect()),
        _ => CpuStorage::F32(all().map(|tap| tap.weight as f32).collect()),
    };
    let device = out.device();
    Ok((
        GpuStorage::from_cpu(device, &CpuStorage::U32(lows))?,
        GpuStorage::from_cpu(device, &weights)?,
    ))
}

/// `x` is the image, or the gradient of the resized one; `image` the size of the former.
pub(super) fn run(
    way: Way,
    taps: &[Vec<Taps>; 2],
    image: [usize; 2],
    x: GpuView<'_>,
    out: &GpuStorage,
) -> Result<()> {
    let (lows, weights) = tables(out, taps)?;
    let all = x.layout().stride();
    let mut strides = [all[0] as u64, all[1] as u64, 0, 0];
    let spatial = all[2..].iter().map(|stride| *stride as u64);
    let first = 4 - (all.len() - 2);
    for (to, from) in strides[first..].iter_mut().zip(spatial) {
        *to = from;
    }
    let params = ResizeParams {
        count: out.count() as u64,
        offset: x.layout().start_offset() as u64,
        channels: x.dims()[1] as u64,
        rows: taps[0].len() as u64,
        columns: taps[1].len() as u64,
        height: image[0] as u64,
        width: image[1] as u64,
        unused: 0,
        strides,
    };
    let gradient = way == Way::Gradient;
    let variant = Variant::new(if gradient { &GRADIENT } else { &RESIZE })
        .define(
            "XT",
            if way == Way::Nearest {
                word(x.dtype())
            } else {
                dtype_word(x.dtype())
            },
        )
        .define("WT", dtype_word(weights.dtype()))
        .define("NEAREST", u32::from(way == Way::Nearest))
        .define("GRADIENT", u32::from(gradient));
    let (low_layout, weight_layout) = (
        Layout::contiguous(lows.count()),
        Layout::contiguous(weights.count()),
    );
    let lows = GpuView::new(&lows, &low_layout)?;
    let weights = GpuView::new(&weights, &weight_layout)?;
    let grid = groups(params.count, &variant);
    launch(&variant, [x, lows, weights], out, &params, grid)
}
