//! The launch: bytes as they are, so that one kernel a size serves all dtypes.

use crate::gpu::{
    ELEMENTS, GpuStorage, GpuView, PER_THREAD, View1, Views, define_big, define_views,
    element_groups, launch,
};
use crate::{DType, Result};
use tallow_gpu::{KernelSource, Variant, params_text};

static COPY: KernelSource = KernelSource::new(
    "copy_strided",
    include_str!("copy.gpu.h"),
    &[ELEMENTS],
    Some(params_text::<View1>),
    256,
);

/// An integer of the dtype's size, for kernels that only move elements.
pub(in crate::ops) fn word(dtype: DType) -> &'static str {
    match dtype.size_in_bytes() {
        1 => "u8",
        2 => "i16",
        4 => "u32",
        _ => "i64",
    }
}

pub(in crate::ops) fn copy(x: GpuView<'_>, out: &GpuStorage) -> Result<()> {
    if x.layout().is_contiguous() {
        let (buffer, range) = crate::gpu::span(x);
        return Ok(out.device().copy((buffer, range), (out.buffer(), 0))?);
    }
    let views = Views::new("copy", [x], out.dtype())?;
    let variant = define_views(Variant::new(&COPY).define("XT", word(x.dtype())), &views);
    launch(&variant, [x], out, &views.params(), views.groups(&variant))
}

/// Elements of `x` in the order of strides that the caller made, which may go backwards.
pub(in crate::ops) fn copy_along(x: GpuView<'_>, walk: &View1, out: &GpuStorage) -> Result<()> {
    let variant = Variant::new(&COPY)
        .define("XT", word(x.dtype()))
        .define("EACH", PER_THREAD as u32);
    let variant = define_big(variant, walk.count);
    let groups = element_groups(walk.count, &variant);
    launch(&variant, [x], out, walk, groups)
}
