//! The launch: values move as they are, so that one kernel a size and a condition's dtype serves.

use crate::Result;
use crate::gpu::{ELEMENTS, GpuStorage, GpuView, View3, Views, define_views, dtype_word, launch};
use crate::ops::copy::gpu::word;
use tallow_gpu::{KernelSource, Variant, params_text};

static SELECT: KernelSource = KernelSource::new(
    "select_where",
    include_str!("select.gpu.h"),
    &[ELEMENTS],
    Some(params_text::<View3>),
    256,
);

/// The condition, then the values for true and for false.
pub(super) fn run(operands: [GpuView<'_>; 3], out: &GpuStorage) -> Result<()> {
    let views = Views::new(super::NAME, operands, out.dtype())?;
    let variant = Variant::new(&SELECT)
        .define("IT", dtype_word(operands[0].dtype()))
        .define("XT", word(out.dtype()));
    let variant = define_views(variant, &views);
    launch(
        &variant,
        operands,
        out,
        &views.params(),
        views.groups(&variant),
    )
}
