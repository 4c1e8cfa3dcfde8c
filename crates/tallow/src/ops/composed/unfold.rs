//! Windows along a dimension.

use crate::ops::{Family, OpInfo};
use crate::shape::Dim;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
use crate::views::View;
use crate::{DType, Layout, Result, Shape, Tensor, bail};

/// The entry in [`ALL`](crate::ops::ALL).
pub const FAMILY: Family = Family {
    name: "unfold",
    ops: &[OpInfo {
        name: "unfold",
        dtypes: &DType::COMPUTE,
    }],
    cases,
    draw,
};

impl Tensor {
    /// The windows of `size` indexes along a dimension, `step` apart: the dimension numbers them,
    /// and a new last dimension holds each window's slices. A view. Errors if the dimension is
    /// shorter than a window, and for a size or step of 0.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1u8, 2, 3, 4, 5], &Device::Cpu)?;
    /// assert_eq!(x.unfold(0, 3, 2)?.to_vec2::<u8>()?, [[1, 2, 3], [3, 4, 5]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn unfold<D: Dim>(&self, dim: D, size: usize, step: usize) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "unfold")?;
        let len = self.dims()[dim];
        if size == 0 || step == 0 || size > len {
            let shape = self.shape();
            bail!(
                "unfold: size {size}, step {step} along dim {dim} of {shape:?}; wants 1 to {len}"
            );
        }
        let (mut dims, mut stride) = (self.dims().to_vec(), self.stride().to_vec());
        let within = stride[dim];
        dims[dim] = (len - size) / step + 1;
        // One window takes no step, and the product of a large one might overflow.
        stride[dim] = if dims[dim] > 1 { within * step } else { within };
        dims.push(size);
        stride.push(within);
        let start_offset = self.layout().start_offset();
        let layout = Layout::new(Shape::from(dims), stride, start_offset);
        Ok(self.view(layout, View::Unfold { dim, step }))
    }
}

/// The sum, for each element of `x`, over its places in the windows.
pub(crate) fn fold(windows: &Tensor, x: &Tensor, dim: usize, step: usize) -> Result<Tensor> {
    let (count, size) = (windows.dims()[dim], windows.dims()[x.rank()]);
    let place = |at: usize| (at / size * step + at % size) as i64;
    let ids = Tensor::from_iter((0..count * size).map(place), x.device())?;
    // Each window's slices beside its number, and the two as one dimension.
    let mut order: Vec<usize> = (0..x.rank()).collect();
    order.insert(dim + 1, x.rank());
    let mut dims = x.dims().to_vec();
    dims[dim] = count * size;
    let slices = windows.permute(order)?.reshape(dims)?;
    x.zeros_like()?.index_add(&ids, &slices, dim)
}

fn case(dims: &[usize], dim: usize, size: usize, step: usize) -> Case {
    Case {
        op: "unfold",
        dtypes: &DType::COMPUTE,
        inputs: vec![Input::new(dims, Values::Range(0.0, 100.0))],
        run: Box::new(move |inputs| inputs[0].unfold(dim, size, step)),
        reference: Box::new(move |inputs: &[Array]| {
            let dims = &inputs[0].dims;
            let mut windows = dims.clone();
            windows[dim] = (dims[dim] - size) / step + 1;
            windows.push(size);
            Array::from_fn(&windows, |index| {
                let mut own = index[..dims.len()].to_vec();
                own[dim] = index[dim] * step + index[dims.len()];
                inputs[0].at(&own)
            })
        }),
        tolerance: Tolerance::EXACT,
    }
}

fn cases() -> Vec<Case> {
    let shapes: [(&[usize], usize, usize, usize); 8] = [
        (&[1], 0, 1, 1),
        (&[7], 0, 3, 1),
        (&[7], 0, 3, 2),
        (&[7], 0, 7, 5),
        (&[0, 4], 1, 2, 1),
        (&[5, 9], 0, 2, 3),
        (&[3, 8, 4], 1, 4, 4),
        (&[1, 2, 1, 2, 1, 2, 1, 5], 7, 2, 2),
    ];
    shapes
        .map(|(dims, dim, size, step)| case(dims, dim, size, step))
        .into()
}

fn draw(draw: &mut Draw) -> Case {
    let mut dims = draw.dims_of(1..=8, 0);
    let dim = draw.number("dim", 0, dims.len() - 1);
    dims[dim] = dims[dim].max(1);
    let size = draw.number("size", 1, dims[dim].min(20));
    case(&dims, dim, size, draw.pick("step", &[1, 2, 3, 7, 1000]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn windows_that_do_not_fit_are_errors() -> Result<()> {
        let x = Tensor::new(&[1f32, 2., 3.], &Device::Cpu)?;
        assert!(x.unfold(0, 4, 1).is_err() && x.unfold(0, 0, 1).is_err());
        assert!(x.unfold(0, 1, 0).is_err() && x.unfold(1, 1, 1).is_err());
        assert_eq!(x.unfold(0, 2, usize::MAX)?.dims(), [1, 2]);
        Ok(())
    }
}
