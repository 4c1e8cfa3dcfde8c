//! The launch: a thread a pair.

use super::Pairs;
use crate::Result;
use crate::gpu::{GpuStorage, GpuView, define_big, dtype_word, groups, launch};
use tallow_gpu::strided::{self, Dims};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// What rope takes: views of the pairs, `[batch, heads, len, head_dim / 2]`.
    pub(super) struct RopeParams {
        /// Pairs.
        pub count: u64,
        /// Where x starts, in elements.
        pub offset: u64,
        /// Where cos starts.
        pub cos_offset: u64,
        /// Where sin starts.
        pub sin_offset: u64,
        /// From the first of a pair to the second, in x.
        pub pair: u64,
        /// The same in y.
        pub pair_out: u64,
        /// The sizes.
        pub dims: Dims,
        /// Strides of x.
        pub strides: [u64; 12],
        /// Strides of cos.
        pub cos_strides: [u64; 12],
        /// Strides of sin.
        pub sin_strides: [u64; 12],
        /// Strides of y.
        pub out_strides: [u64; 12],
    }
}

static ROPE: KernelSource = KernelSource::new(
    "rope_pairs",
    include_str!("rope.gpu.h"),
    &[],
    Some(params_text::<RopeParams>),
    128,
);

pub(super) fn rope(inputs: &[GpuView<'_>], pairs: Pairs, out: &GpuStorage) -> Result<()> {
    let (x, cos, sin) = (inputs[0], inputs[1], inputs[2]);
    let (&[batch, heads, len, head_dim], &[xb, xh, xl, xd]) = (x.dims(), x.layout().stride())
    else {
        crate::bail!("rope: x {:?}; wants four dimensions", x.dims());
    };
    let half = head_dim / 2;
    let (apart, step) = match pairs {
        Pairs::Neighbours => (1, 2),
        Pairs::Halves => (half, 1),
    };
    let table = |view: GpuView<'_>| match *view.layout().stride() {
        [batch, position, pair] => [batch, 0, position, pair],
        [position, pair] => [0, 0, position, pair],
        _ => [0; 4],
    };
    let out_strides = [heads * len * head_dim, len * head_dim, head_dim, step];
    let x_strides = [xb, xh, xl, xd * step];
    let merged = strided::merge(
        &[batch, heads, len, half],
        [&x_strides, &table(cos), &table(sin), &out_strides],
    );
    let (dims, [strides, cos_strides, sin_strides, out_strides]) =
        merged.expect("four dimensions are fewer than twelve");
    let start = |view: GpuView<'_>| view.layout().start_offset() as u64;
    let params = RopeParams {
        count: (batch * heads * len * half) as u64,
        offset: start(x),
        cos_offset: start(cos),
        sin_offset: start(sin),
        pair: (apart * xd) as u64,
        pair_out: apart as u64,
        dims,
        strides,
        cos_strides,
        sin_strides,
        out_strides,
    };
    let variant = Variant::new(&ROPE).define("XT", dtype_word(x.dtype()));
    let variant = define_big(variant, params.count);
    launch(
        &variant,
        [x, cos, sin],
        out,
        &params,
        groups(params.count, &variant),
    )
}
