//! The launch: one kernel, with the formula and the dtype as defines.

use crate::Result;
use crate::gpu::{GpuStorage, GpuView, View1, Views, define_views, dtype_word, integer, launch};
use tallow_gpu::{KernelSource, Variant, params_text};

static UNARY: KernelSource = KernelSource::new(
    "unary",
    include_str!("unary.gpu.h"),
    &[],
    Some(params_text::<View1>),
    256,
);

pub(super) fn run(
    op: &'static str,
    formula: &'static str,
    x: GpuView<'_>,
    out: &GpuStorage,
) -> Result<()> {
    let views = Views::new(op, [x])?;
    let variant = Variant::new(&UNARY)
        .define("XT", dtype_word(x.dtype()))
        .define("INTEGER", integer(x.dtype()))
        .define("FORMULA", formula);
    let variant = define_views(variant, &views);
    launch(&variant, [x], out, &views.params(), views.groups(&variant))
}
