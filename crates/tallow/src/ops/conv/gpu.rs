//! The launches: a thread for each result of a convolution or of a transposed one, a group for each
//! element of a kernel's gradient. No two add to one place.

use super::geometry::{Sizes, Spatial};
use crate::gpu::{GpuStorage, GpuView, define_big, dtype_word, groups, launch};
use crate::{Result, bail};
use tallow_gpu::strided::{self, Dims};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// Sizes and strides of one convolution.
    pub(super) struct ConvParams {
        /// Results.
        pub count: u64,
        /// What is summed over besides taps: channels, or batches for a kernel's gradient.
        pub channels: u64,
        /// Where the first operand starts, in elements.
        pub offset: u64,
        /// The second.
        pub offset2: u64,
        /// Strides from one summed channel to the next.
        pub channel_stride: u64,
        /// The second's.
        pub channel_stride2: u64,
        /// The first operand's sizes.
        pub source: [u64; 3],
        /// And strides.
        pub source_strides: [u64; 3],
        /// Taps of the kernel.
        pub taps: [u64; 3],
        /// The second operand's strides.
        pub tap_strides: [u64; 3],
        /// Sizes of a convolution's result.
        pub outs: [u64; 3],
        /// Elements from one window to the next.
        pub step: [u64; 3],
        /// Zeros in front of the image.
        pub padding: [u64; 3],
        /// Elements from one tap to the next.
        pub dilation: [u64; 3],
        /// Nothing.
        pub unused: u64,
        /// The sizes of the result.
        pub dims: Dims,
        /// The first operand's strides over them.
        pub strides: [u64; 12],
        /// The second's.
        pub strides2: [u64; 12],
        /// The packed places.
        pub strides3: [u64; 12],
    }
}

const TEXT: &str = include_str!("conv.gpu.h");
type Text = Option<fn() -> (String, usize)>;
const PARAMS: Text = Some(params_text::<ConvParams>);

static DIRECT: KernelSource = KernelSource::new("conv_direct", TEXT, &[], PARAMS, 256);
static KERNEL: KernelSource = KernelSource::new("conv_kernel", TEXT, &[], PARAMS, 256);

/// Which of the three operations, as in `operation.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Forward = 0,
    Transposed = 1,
    Kernel = 2,
}

/// An operand's strides: the first two dimensions, and three spatial ones.
fn strides(view: GpuView<'_>) -> ([usize; 2], Spatial) {
    let all = view.layout().stride();
    let mut spatial = [0; 3];
    spatial[3 - (all.len() - 2)..].copy_from_slice(&all[2..]);
    ([all[0], all[1]], spatial)
}

/// Result dimensions with the strides that two operands have over them.
struct Walk {
    sizes: Vec<usize>,
    first: Vec<usize>,
    second: Vec<usize>,
}

impl Walk {
    fn new(
        kind: Kind,
        sizes: &Sizes,
        ([a0, a1], _): ([usize; 2], Spatial),
        ([b0, b1], _): ([usize; 2], Spatial),
    ) -> Self {
        let (ins, outs) = (sizes.in_channels, sizes.out_channels);
        // Batch, group, channel of the group; or, for a kernel, group, output, input channel.
        let (front, first, second) = match kind {
            Kind::Forward => (
                [sizes.batch, sizes.groups, outs],
                [a0, a1 * ins, 0],
                [0, b0 * outs, b0],
            ),
            Kind::Transposed => (
                [sizes.batch, sizes.groups, ins],
                [a0, a1 * outs, 0],
                [0, b0 * outs, b1],
            ),
            Kind::Kernel => (
                [sizes.groups, outs, ins],
                [a1 * ins, 0, a1],
                [b1 * outs, b1, 0],
            ),
        };
        let spatial = match kind {
            Kind::Forward => sizes.out,
            Kind::Transposed => sizes.image,
            Kind::Kernel => sizes.kernel,
        };
        Self {
            sizes: [front, spatial].concat(),
            first: [first, [0; 3]].concat(),
            second: [second, [0; 3]].concat(),
        }
    }
}

/// The first operand is x, or y for a transposed convolution; the second w, or y for a kernel's
/// gradient.
pub(super) fn run(
    op: &'static str,
    kind: Kind,
    sizes: &Sizes,
    [first, second]: [GpuView<'_>; 2],
    out: &GpuStorage,
) -> Result<()> {
    let (a, b) = (strides(first), strides(second));
    let walk = Walk::new(kind, sizes, a, b);
    if walk.sizes[3] >= 1 << 16 || walk.sizes[4] >= 1 << 16 || walk.sizes[5] >= 1 << 32 {
        bail!("{op}: {:?}; a GPU takes up to 65535 rows", &walk.sizes[3..]);
    }
    let packed = [0, 0, 0, 1 << 48, 1 << 32, 1];
    let merged = strided::merge(&walk.sizes, [&walk.first, &walk.second, &packed]);
    let Some((dims, [strides1, strides2, strides3])) = merged else {
        bail!("{op}: result {:?} has too many dimensions", walk.sizes);
    };
    let (channels, channel_stride, channel_stride2) = match kind {
        Kind::Forward => (sizes.in_channels, a.0[1], b.0[1]),
        Kind::Transposed => (sizes.out_channels, a.0[1], b.0[0]),
        Kind::Kernel => (sizes.batch, a.0[0], b.0[0]),
    };
    let three = |of: Spatial| of.map(|size| size as u64);
    let params = ConvParams {
        count: out.count() as u64,
        channels: channels as u64,
        offset: first.layout().start_offset() as u64,
        offset2: second.layout().start_offset() as u64,
        channel_stride: channel_stride as u64,
        channel_stride2: channel_stride2 as u64,
        source: three(match kind {
            Kind::Transposed => sizes.out,
            _ => sizes.image,
        }),
        source_strides: three(a.1),
        taps: three(sizes.kernel),
        tap_strides: three(b.1),
        outs: three(sizes.out),
        step: three(sizes.windows.map(|window| window.stride)),
        padding: three(sizes.windows.map(|window| window.padding)),
        dilation: three(sizes.windows.map(|window| window.dilation)),
        unused: 0,
        dims,
        strides: strides1,
        strides2,
        strides3,
    };
    let source = if kind == Kind::Kernel {
        &KERNEL
    } else {
        &DIRECT
    };
    let variant = Variant::new(source)
        .define("XT", dtype_word(out.dtype()))
        .define("KIND", kind as u32);
    let variant = define_big(variant, params.count);
    let grid = match (kind, u32::try_from(params.count)) {
        (Kind::Kernel, Ok(count)) => [count, 1, 1],
        (Kind::Kernel, Err(_)) => bail!("{op}: {} weights; more than a launch takes", params.count),
        _ => groups(params.count, &variant),
    };
    launch(&variant, [first, second], out, &params, grid)
}
