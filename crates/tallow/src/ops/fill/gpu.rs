//! The launch: a value's bits to every element of a view.

use crate::Result;
use crate::gpu::{ELEMENTS, GpuView, Views, define_views, span};
use crate::ops::copy::gpu::word;
use crate::scalar::Scalar;
use tallow_gpu::strided::Dims;
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// A view and a value's bits.
    pub(super) struct FillParams {
        /// Elements.
        pub count: u64,
        /// Where the view starts, in elements.
        pub offset: u64,
        /// The value's bits, the lowest first.
        pub bits: u64,
        /// The sizes.
        pub dims: Dims,
        /// The strides.
        pub strides: [u64; 12],
    }
}

static FILL: KernelSource = KernelSource::new(
    "fill_value",
    include_str!("fill.gpu.h"),
    &[ELEMENTS],
    Some(params_text::<FillParams>),
    256,
);

fn bits(value: Scalar) -> u64 {
    match value {
        Scalar::U8(value) => value.into(),
        Scalar::U32(value) => value.into(),
        Scalar::I16(value) => value as u64,
        Scalar::I32(value) => value as u64,
        Scalar::I64(value) => value as u64,
        Scalar::BF16(value) => value.to_bits().into(),
        Scalar::F16(value) => value.to_bits().into(),
        Scalar::F32(value) => value.to_bits().into(),
        Scalar::F64(value) => value.to_bits(),
        Scalar::F8E4M3(value) => value.to_bits().into(),
    }
}

/// The byte that the value consists of, if it is one.
fn byte(bits: u64, size: usize) -> Option<u8> {
    let bytes = bits.to_le_bytes();
    bytes[..size]
        .iter()
        .all(|byte| *byte == bytes[0])
        .then_some(bytes[0])
}

/// Writes the value, which has the target's dtype.
pub(in crate::ops) fn set(target: GpuView<'_>, value: Scalar) -> Result<()> {
    let (bits, (buffer, range)) = (bits(value), span(target));
    let device = target.storage().device();
    if let Some(byte) = byte(bits, target.dtype().size_in_bytes())
        && target.layout().is_contiguous()
    {
        return Ok(device.fill(buffer, range, byte)?);
    }
    let views = Views::new("const_set", [target], target.dtype())?;
    let view = views.params();
    let params = FillParams {
        count: view.count,
        offset: view.offset,
        bits,
        dims: view.dims,
        strides: view.strides,
    };
    let variant = Variant::new(&FILL).define("XT", word(target.dtype()));
    let variant = define_views(variant, &views);
    let groups = views.groups(&variant);
    Ok(device.launch(&variant, &[(buffer, range)], &params, groups)?)
}
