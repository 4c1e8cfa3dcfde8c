//! The launch: one kernel, with the formula and the dtype as defines.

use crate::gpu::{
    ELEMENTS, GpuStorage, GpuView, View1, Views, define_views, dtype_word, integer, launch,
};
use crate::{DType, Result};
use tallow_gpu::{KernelSource, Variant, params_text};

static UNARY: KernelSource = KernelSource::new(
    "unary",
    include_str!("unary.gpu.h"),
    &[ELEMENTS],
    Some(params_text::<View1>),
    256,
);

/// How exact a formula has to be.
fn digits(dtype: DType) -> u32 {
    match dtype {
        DType::F64 => 2,
        DType::F32 => 1,
        _ => 0,
    }
}

pub(super) fn run(
    op: &'static str,
    formula: &'static str,
    x: GpuView<'_>,
    out: &GpuStorage,
) -> Result<()> {
    let views = Views::new(op, [x], out.dtype())?;
    let variant = Variant::new(&UNARY)
        .define("XT", dtype_word(x.dtype()))
        .define("INTEGER", integer(x.dtype()))
        .define("DIGITS", digits(x.dtype()))
        .define("FORMULA", formula);
    let variant = define_views(variant, &views);
    launch(&variant, [x], out, &views.params(), views.groups(&variant))
}
