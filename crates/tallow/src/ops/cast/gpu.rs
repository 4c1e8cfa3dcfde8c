//! The launch: one kernel, with both dtypes as defines.

use crate::gpu::{ELEMENTS, GpuStorage, GpuView, View1, Views, define_views, dtype_word, launch};
use crate::{DType, Result};
use tallow_gpu::{KernelSource, Variant, params_text};

static CAST: KernelSource = KernelSource::new(
    "cast",
    include_str!("cast.gpu.h"),
    &[ELEMENTS],
    Some(params_text::<View1>),
    256,
);

/// What a dtype is to the kernel: integer, narrow float, f32, f64.
fn kind(dtype: DType) -> u32 {
    match dtype {
        DType::F64 => 3,
        DType::F32 => 2,
        dtype => u32::from(!dtype.is_int()),
    }
}

pub(in crate::ops) fn run(x: GpuView<'_>, out: &GpuStorage) -> Result<()> {
    let views = Views::new(super::NAME, [x], out.dtype())?;
    let variant = Variant::new(&CAST)
        .define("XT", dtype_word(x.dtype()))
        .define("YT", dtype_word(out.dtype()))
        .define("FROM", kind(x.dtype()))
        .define("TO", kind(out.dtype()));
    let variant = define_views(variant, &views);
    launch(&variant, [x], out, &views.params(), views.groups(&variant))
}
