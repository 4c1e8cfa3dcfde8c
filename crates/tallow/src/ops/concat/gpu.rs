//! The launch: a view's elements to the places of another, as bytes; joining is a write for each
//! operand.

use crate::gpu::{ELEMENTS, GpuStorage, GpuView, View2, Views, define_views, span};
use crate::ops::copy::gpu::word;
use crate::{Layout, Result};
use tallow_gpu::{KernelSource, Variant, params_text};

static WRITE: KernelSource = KernelSource::new(
    "concat_write",
    include_str!("concat.gpu.h"),
    &[ELEMENTS],
    Some(params_text::<View2>),
    256,
);

/// Writes `x` to the elements of the target, which has its shape and dtype and no memory in common
/// with it.
pub(in crate::ops) fn write(x: GpuView<'_>, target: GpuView<'_>) -> Result<()> {
    if x.layout().shape().elem_count() == 0 {
        return Ok(());
    }
    let device = target.storage().device();
    let (source, (buffer, range)) = (span(x), span(target));
    if x.layout().is_contiguous() && target.layout().is_contiguous() {
        return Ok(device.copy(source, (buffer, range.start))?);
    }
    let views = Views::new("slice_set", [x, target], x.dtype())?;
    let variant = Variant::new(&WRITE).define("XT", word(x.dtype()));
    let variant = define_views(variant, &views);
    let (params, groups) = (views.params(), views.groups(&variant));
    Ok(device.launch(&variant, &[source, (buffer, range)], &params, groups)?)
}

pub(super) fn cat(inputs: &[GpuView<'_>], dim: usize, out: &GpuStorage) -> Result<()> {
    let mut dims = inputs[0].dims().to_vec();
    dims[dim] = inputs.iter().map(|input| input.dims()[dim]).sum();
    let (whole, mut start) = (Layout::contiguous(dims), 0);
    for input in inputs {
        let len = input.dims()[dim];
        let part = whole.narrow(dim, start, len)?;
        write(*input, GpuView::new(out, &part)?)?;
        start += len;
    }
    Ok(())
}

/// A copy of the first operand with the second in the ranges (start and length) of each dimension.
pub(super) fn assign(
    [whole, src]: [GpuView<'_>; 2],
    ranges: &[(usize, usize)],
    out: &GpuStorage,
) -> Result<()> {
    crate::ops::copy::gpu::copy(whole, out)?;
    let mut layout = Layout::contiguous(whole.dims());
    for (dim, &(start, len)) in ranges.iter().enumerate() {
        layout = layout.narrow(dim, start, len)?;
    }
    write(src, GpuView::new(out, &layout)?)
}
