//! The launch: a group of threads a row.

use crate::gpu::{GpuStorage, GpuView, ROWS, Rows, dtype_word, span};
use crate::{DType, Result};
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// What a norm takes.
    pub(super) struct NormParams {
        /// The rows of x.
        pub rows: Rows,
        /// Where the weights start, in elements.
        pub weight_offset: u64,
        /// How far apart they are.
        pub weight_stride: u64,
        /// Where the bias starts.
        pub bias_offset: u64,
        /// How far apart its elements are.
        pub bias_stride: u64,
        /// What is added under the root.
        pub eps: f32,
        /// Nothing.
        pub unused: u32,
    }
}

fn params() -> (String, usize) {
    let (text, size) = params_text::<NormParams>();
    (params_text::<Rows>().0 + &text, size)
}

const TEXT: &str = include_str!("norm.gpu.h");
static RMS: KernelSource = KernelSource::new("rms_norm_row", TEXT, &[ROWS], Some(params), 256);
static LAYER: KernelSource = KernelSource::new("layer_norm_row", TEXT, &[ROWS], Some(params), 256);

pub(super) fn norm(inputs: &[GpuView<'_>], eps: f32, out: &GpuStorage) -> Result<()> {
    let (x, weight, bias) = (inputs[0], inputs[1], inputs.get(2).copied());
    let name = if bias.is_some() {
        "layer_norm"
    } else {
        "rms_norm"
    };
    let rows = Rows::new(name, x)?;
    let place = |view: GpuView<'_>| {
        let layout = view.layout();
        (layout.start_offset() as u64, layout.stride()[0] as u64)
    };
    let (weight_offset, weight_stride) = place(weight);
    let (bias_offset, bias_stride) = place(bias.unwrap_or(weight));
    let params = NormParams {
        rows,
        weight_offset,
        weight_stride,
        bias_offset,
        bias_stride,
        eps,
        unused: 0,
    };
    let variant = Variant::new(if bias.is_some() { &LAYER } else { &RMS })
        .define("XT", dtype_word(x.dtype()))
        .define("WIDE", u32::from(x.dtype() == DType::F64))
        .define("LAYER", u32::from(bias.is_some()));
    let each = rows.pack(x);
    let packed = |(offset, stride): (u64, u64)| stride == 1 && offset.is_multiple_of(each);
    let packed = packed(place(weight)) && packed(place(bias.unwrap_or(weight)));
    let (variant, groups) = rows.share(variant, if packed { each } else { 1 });
    let mut operands: smallvec::SmallVec<[_; 4]> = inputs.iter().map(|view| span(*view)).collect();
    operands.push(out.whole());
    Ok(out.device().launch(&variant, &operands, &params, groups)?)
}
