//! The launch: a copy along strides of which some go backwards.

use crate::Result;
use crate::gpu::{GpuStorage, GpuView, View1};
use tallow_gpu::strided;

pub(super) fn flip(x: GpuView<'_>, flipped: &[usize], out: &GpuStorage) -> Result<()> {
    let layout = x.layout();
    let (mut strides, mut offset) = (layout.stride().to_vec(), layout.start_offset());
    for &dim in flipped {
        // Places are sums modulo 2⁶⁴, so that a negative stride is its complement.
        offset += (layout.dims()[dim] - 1) * strides[dim];
        strides[dim] = strides[dim].wrapping_neg();
    }
    let Some((dims, [strides])) = strided::merge(layout.dims(), [&strides]) else {
        crate::bail!(
            "flip: a view {:?} whose dimensions do not merge to {}; call contiguous first",
            layout.dims(),
            strided::DIMS_MAX
        );
    };
    let walk = View1 {
        count: layout.shape().elem_count() as u64,
        offset: offset as u64,
        dims,
        strides,
    };
    crate::ops::copy::gpu::copy_along(x, &walk, out)
}
