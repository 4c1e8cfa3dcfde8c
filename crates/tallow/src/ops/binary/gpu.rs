//! The launch: one kernel, with the formula and the dtype as defines. Integers that have no answer
//! set the device's error word, which the next read-back finds.

use crate::Result;
use crate::gpu::{
    ELEMENTS, GpuStorage, GpuView, View2, Views, define_views, dtype_word, integer, launch,
};
use tallow_gpu::{KernelSource, Variant, params_text};

const TEXT: &str = include_str!("binary.gpu.h");

static BINARY: KernelSource =
    KernelSource::new("binary", TEXT, &[ELEMENTS], Some(params_text::<View2>), 256);
/// The same with the error word: only what can fail takes it.
static CHECKED: KernelSource = KernelSource::new(
    "binary_checked",
    TEXT,
    &[ELEMENTS],
    Some(params_text::<View2>),
    256,
);

pub(super) fn run(
    op: &'static str,
    formula: &'static str,
    refuses: bool,
    operands: [GpuView<'_>; 2],
    out: &GpuStorage,
) -> Result<()> {
    let dtype = operands[0].dtype();
    let views = Views::new(op, operands, out.dtype())?;
    let checked = dtype.is_int() && refuses;
    let variant = Variant::new(if checked { &CHECKED } else { &BINARY })
        .define("XT", dtype_word(dtype))
        .define("INTEGER", integer(dtype))
        .define("CHECKED", u32::from(checked))
        .define("FORMULA", formula);
    let variant = define_views(variant, &views);
    launch(
        &variant,
        operands,
        out,
        &views.params(),
        views.groups(&variant),
    )
}
