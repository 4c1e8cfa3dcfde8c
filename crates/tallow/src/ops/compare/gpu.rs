//! The launch: one kernel, with the relation and the dtype as defines.

use super::CmpOp;
use crate::Result;
use crate::gpu::{ELEMENTS, GpuStorage, GpuView, View2, Views, define_views, dtype_word, launch};
use tallow_gpu::{KernelSource, Variant, params_text};

static COMPARE: KernelSource = KernelSource::new(
    "compare",
    include_str!("compare.gpu.h"),
    &[ELEMENTS],
    Some(params_text::<View2>),
    256,
);

pub(super) fn run(op: CmpOp, operands: [GpuView<'_>; 2], out: &GpuStorage) -> Result<()> {
    let views = Views::new(op.name(), operands, out.dtype())?;
    let relation = match op {
        CmpOp::Eq => "==",
        CmpOp::Ne => "!=",
        CmpOp::Le => "<=",
        CmpOp::Ge => ">=",
        CmpOp::Lt => "<",
        CmpOp::Gt => ">",
    };
    let variant = Variant::new(&COMPARE)
        .define("XT", dtype_word(operands[0].dtype()))
        .define("RELATION", relation);
    let variant = define_views(variant, &views);
    launch(
        &variant,
        operands,
        out,
        &views.params(),
        views.groups(&variant),
    )
}
