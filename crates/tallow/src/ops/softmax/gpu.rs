//! The launch: a group of threads a row.

use crate::gpu::{GpuStorage, GpuView, ROWS, Rows, dtype_word, launch};
use crate::{DType, Result};
use tallow_gpu::{KernelSource, Variant, params_text};

static SOFTMAX: KernelSource = KernelSource::new(
    "softmax_row",
    include_str!("softmax.gpu.h"),
    &[ROWS],
    Some(params_text::<Rows>),
    256,
);

pub(super) fn softmax(x: GpuView<'_>, out: &GpuStorage) -> Result<()> {
    let rows = Rows::new("softmax", x)?;
    let variant = Variant::new(&SOFTMAX)
        .define("XT", dtype_word(x.dtype()))
        .define("WIDE", u32::from(x.dtype() == DType::F64));
    let (variant, groups) = rows.share(variant, rows.pack(x));
    launch(&variant, [x], out, &rows, groups)
}
