//! Which kernel computes a convolution.
//!
//! | operation | kernel |
//! |---|---|
//! | kernel of one tap, stride 1, no padding | a matrix product with the image as it lies |
//! | one channel a group, few results | [`depthwise`]: vectors along the rows of a plane |
//! | any other | a matrix product with [`patches`] of the image, made while they are packed |
//! | transposed | [`transposed`]: such a product, or one whose rows are then added up |
//! | gradient of the kernel | [`kernel`]: a product over all positions of the result |

mod depthwise;
mod kernel;
mod maps;
mod patches;
mod transposed;

pub(super) use kernel::kernel;
pub(super) use transposed::transposed;

use super::geometry::Sizes;
use crate::cpu::View;
use crate::cpu::copy::{self, Straightened};
use crate::cpu::recycle::Recycle;
use crate::cpu::walk::Walk;
use crate::{Result, WithDType};
use maps::{Lined, Maps};
use patches::Patches;
use std::ops::{AddAssign, Range};
use tallow_gemm::{GemmElement, MatRef};

/// An element type that convolutions take: a float, summed in f32 or f64.
pub(super) trait Element: WithDType + GemmElement<Acc: Sum> {}

impl<T: WithDType + GemmElement<Acc: Sum>> Element for T {}

/// What convolutions are summed in.
pub(super) trait Sum: WithDType + GemmElement + Recycle + AddAssign {}

impl<A: WithDType + GemmElement + Recycle + AddAssign> Sum for A {}

/// The convolution: `out[batch, groups · out_channels, …]`.
pub(super) fn forward<T: Element>(
    x: View<'_, T>,
    kernel: View<'_, T>,
    sizes: &Sizes,
    out: &mut [T],
) -> Result<()> {
    if depthwise::takes(sizes) {
        let straight = copy::straight_rows(x);
        return depthwise::run(Maps::new(straight.view(x)), kernel, sizes, out);
    }
    let straight = straight_kernel(kernel);
    let kernels = matrices(straight.view(kernel), sizes, 0..sizes.in_channels)?;
    let kernels = |at: usize| kernels[at % sizes.groups];
    let count = sizes.batch * sizes.groups;
    if let Some(images) = pointwise(x, sizes, sizes.in_channels)? {
        return Ok(tallow_gemm::matmul(out, count, &kernels, &|at| images[at])?);
    }
    let lined = Lined::new(x, sizes);
    let patches = Patches::of_windows(lined.maps(x), sizes);
    tallow_gemm::matmul_columns(out, count, &kernels, &patches)?;
    lined.recycle();
    Ok(())
}

/// The images, or results, if each result is made of the inputs at one position.
fn pointwise<'a, T: Element>(
    view: View<'a, T>,
    sizes: &Sizes,
    channels: usize,
) -> Result<Option<Vec<MatRef<'a, T>>>> {
    let mut windows = sizes.windows.iter();
    let is_pointwise = sizes.taps() == 1 && windows.all(|at| at.padding == 0 && at.stride == 1);
    // Behind a transposed convolution's least image there may be more, which nothing reaches.
    if !is_pointwise || sizes.image != sizes.out || channels == 0 || !is_even(view, 2) {
        return Ok(None);
    }
    images(view, sizes, channels).map(Some)
}

/// Each group of each image, or result, of a batch as a matrix, `[channels, positions]`; the
/// positions are evenly apart.
fn images<'a, T: GemmElement>(
    view: View<'a, T>,
    sizes: &Sizes,
    channels: usize,
) -> Result<Vec<MatRef<'a, T>>> {
    let [stride] = Walk::new(&view.dims[2..], [&view.strides[2..]]).inner_strides();
    let cols = view.dims[2..].iter().product();
    let image = |at: usize| {
        let (batch, group) = (at / sizes.groups, at % sizes.groups);
        let start = batch * view.strides[0] + group * channels * view.strides[1];
        let data = view.data.get(start..).unwrap_or_default();
        Ok(MatRef::new(data, channels, cols, view.strides[1], stride)?)
    };
    (0..sizes.batch * sizes.groups).map(image).collect()
}

/// Whether the elements of the dimensions from this one on are evenly apart.
fn is_even<T>(view: View<'_, T>, from: usize) -> bool {
    let walk = Walk::new(&view.dims[from..], [&view.strides[from..]]);
    walk.dims.len() == 1
}

/// The kernel, copied if the elements of one result are not evenly apart.
fn straight_kernel<T: WithDType>(kernel: View<'_, T>) -> Straightened<T> {
    copy::straighten_unless(is_even(kernel, 1), kernel)
}

/// Some channels of the straight kernel as a matrix for each group: `[out_channels, channels ·
/// taps]`.
fn matrices<'a, T: GemmElement>(
    kernel: View<'a, T>,
    sizes: &Sizes,
    channels: Range<usize>,
) -> Result<Vec<MatRef<'a, T>>> {
    let [stride] = Walk::new(&kernel.dims[1..], [&kernel.strides[1..]]).inner_strides();
    let matrix = |group: usize| {
        let start =
            group * sizes.out_channels * kernel.strides[0] + channels.start * kernel.strides[1];
        let (rows, cols) = (sizes.out_channels, channels.len() * sizes.taps());
        let data = kernel.data.get(start..).unwrap_or_default();
        Ok(MatRef::new(data, rows, cols, kernel.strides[0], stride)?)
    };
    (0..sizes.groups).map(matrix).collect()
}

/// A contiguous matrix for each group.
fn contiguous<'a, T: GemmElement>(
    data: &'a [T],
    sizes: &Sizes,
    [rows, cols]: [usize; 2],
) -> Result<Vec<MatRef<'a, T>>> {
    let matrix = |group: usize| {
        let data = data.get(group * rows * cols..).unwrap_or_default();
        Ok(MatRef::new(data, rows, cols, cols, 1)?)
    };
    (0..sizes.groups).map(matrix).collect()
}
