//! The launch: up to a group of threads for each row, side by side along the row or across rows,
//! whichever has the smaller stride.

use crate::Result;
use crate::gpu::{GpuStorage, GpuView, Rows, dtype_word, integer, launch};
use tallow_gpu::{KernelSource, Variant, params_text};

static ARG_REDUCE: KernelSource = KernelSource::new(
    "arg_reduce",
    include_str!("arg_reduce.gpu.h"),
    &[include_str!("../reduce/lanes.gpu.h")],
    Some(params_text::<Rows>),
    256,
);

pub(super) fn run(
    op: &'static str,
    greatest: bool,
    x: GpuView<'_>,
    out: &GpuStorage,
) -> Result<()> {
    let rows = Rows::new(op, x)?;
    if rows.cols > u64::from(u32::MAX) {
        crate::bail!("{op}: rows of {} elements pass what u32 numbers", rows.cols);
    }
    let rank = rows.dims.rank as usize;
    let across = rows.strides[..rank].iter().filter(|stride| **stride > 0);
    let columns = across.min().is_some_and(|least| *least < rows.col_stride);
    let lanes: u32 = match (columns, rows.cols) {
        (true, _) => 8,
        (false, 0..=64) => 8,
        (false, 65..=1024) => 32,
        (false, _) => 256,
    };
    let variant = Variant::new(&ARG_REDUCE)
        .define("XT", dtype_word(x.dtype()))
        .define("INTEGER", integer(x.dtype()))
        .define("RELATION", if greatest { ">" } else { "<" })
        .define("LANES", lanes)
        .define("COLUMNS", u32::from(columns));
    let groups = rows.rows.div_ceil(u64::from(256 / lanes)) as u32;
    launch(&variant, [x], out, &rows, [groups, 1, 1])
}
