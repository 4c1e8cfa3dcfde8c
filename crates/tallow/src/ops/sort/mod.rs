//! Order along the last dimension: [`Tensor::sort_last_dim`], [`Tensor::arg_sort_last_dim`] and
//! [`Tensor::topk_last_dim`].
//!
//! Sorting is stable in both directions: equal elements, and zeros of both signs are equal, keep
//! their order. NaN comes last in both directions. Indexes are u32.

mod cases;
mod cpu;
mod gpu;
mod key;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, D, DType, Error, Result, Shape, Tensor, bail};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "sort",
    ops: &[
        info("arg_sort_last_dim"),
        info("sort_last_dim"),
        info("topk_last_dim"),
    ],
    cases: cases::cases,
    draw: cases::draw,
};

const fn info(name: &'static str) -> OpInfo {
    OpInfo {
        name,
        dtypes: &DType::COMPUTE,
    }
}

/// The indexes of the first `count` elements of each row, in order.
struct ArgSort {
    ascending: bool,
    count: Option<usize>,
}

impl Op for ArgSort {
    fn name(&self) -> &'static str {
        match self.count {
            None => "arg_sort_last_dim",
            Some(_) => "topk_last_dim",
        }
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let mut dims = inputs[0].dims().to_vec();
        let (rank, shape) = (dims.len(), inputs[0].shape());
        let Some(len) = dims.last_mut() else {
            return Err(Error::UnexpectedNumberOfDims {
                expected: 1,
                got: rank,
                shape: shape.clone(),
            });
        };
        if u32::try_from(*len).is_err() {
            bail!(
                "{}: rows of {len} elements pass what u32 numbers",
                self.name()
            );
        }
        if let Some(count) = self.count {
            if count > *len {
                bail!("topk_last_dim: {count} of {len}: shape {shape:?} has shorter rows");
            }
            *len = count;
        }
        Ok((Shape::from(dims), DType::U32))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::arg_sort(self.ascending, inputs[0], out.as_mut_slice::<u32>()?)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::arg_sort(self.name(), self.ascending, inputs[0], out)
    }
}

/// The elements of each row at the places that its order has for it. The operands are the rows and
/// an order that [`ArgSort`] made of them.
struct InOrder;

impl Op for InOrder {
    fn name(&self) -> &'static str {
        "sort_last_dim"
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        Ok((inputs[1].shape().clone(), inputs[0].dtype()))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let order = inputs[1].typed::<u32>()?;
        cpu::in_order(inputs[0], &order.data[..order.count()], out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        let last = inputs[0].dims().len() - 1;
        super::index::gpu::gather(inputs[0], inputs[1], last, out)
    }
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let zeros = inputs[0].zeros_like()?;
        let gradient = zeros.scatter_add(inputs[1], upstream, D::Minus1)?;
        Ok(smallvec![Some(gradient), None])
    }
}

/// Order along the last dimension.
impl Tensor {
    /// The indexes (u32) that put each row of the last dimension in order: rising for `asc`, else
    /// falling. Stable; NaN comes last. Errors for a scalar.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[3f32, 1., 2.]], &Device::Cpu)?;
    /// assert_eq!(x.arg_sort_last_dim(true)?.to_vec2::<u32>()?, [[1, 2, 0]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn arg_sort_last_dim(&self, asc: bool) -> Result<Tensor> {
        let (ascending, count) = (asc, None);
        apply(ArgSort { ascending, count }, &[self])
    }

    /// Each row of the last dimension in order, rising for `asc`, else falling; and the indexes
    /// (u32) that the elements had. Stable; NaN comes last. Errors for a scalar.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let (sorted, order) = Tensor::new(&[3f32, 1., 2.], &Device::Cpu)?.sort_last_dim(false)?;
    /// assert_eq!(sorted.to_vec1::<f32>()?, [3., 2., 1.]);
    /// assert_eq!(order.to_vec1::<u32>()?, [0, 2, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn sort_last_dim(&self, asc: bool) -> Result<(Tensor, Tensor)> {
        let order = self.arg_sort_last_dim(asc)?;
        Ok((apply(InOrder, &[self, &order])?, order))
    }

    /// The `k` greatest elements of each row of the last dimension, or the least, in order; and the
    /// indexes (u32) that they had. Of equal elements the first count; NaN only where the numbers
    /// do not suffice. Errors if rows have fewer than `k`, and for a scalar.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[3f32, 1., 4., 2.], &Device::Cpu)?;
    /// let (values, ids) = x.topk_last_dim(2, true)?;
    /// assert_eq!(values.to_vec1::<f32>()?, [4., 3.]);
    /// assert_eq!(ids.to_vec1::<u32>()?, [2, 0]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn topk_last_dim(&self, k: usize, greatest: bool) -> Result<(Tensor, Tensor)> {
        let (ascending, count) = (!greatest, Some(k));
        let ids = apply(ArgSort { ascending, count }, &[self])?;
        Ok((apply(InOrder, &[self, &ids])?, ids))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn what_has_no_rows_is_an_error() -> Result<()> {
        let cpu = &Device::Cpu;
        assert!(Tensor::new(1f32, cpu)?.sort_last_dim(true).is_err());
        assert!(Tensor::new(1f32, cpu)?.topk_last_dim(1, true).is_err());
        let x = Tensor::new(&[1f32, 2.], cpu)?;
        assert!(x.topk_last_dim(3, true).is_err());
        assert_eq!(x.topk_last_dim(0, true)?.0.dims(), [0]);
        let empty = Tensor::zeros((2, 0), DType::F32, cpu)?;
        assert_eq!(empty.sort_last_dim(true)?.1.dims(), [2, 0]);
        assert_eq!(empty.topk_last_dim(0, false)?.0.dims(), [2, 0]);
        Ok(())
    }

    #[test]
    fn the_bits_of_elements_survive() -> Result<()> {
        let x = Tensor::new(&[0f32, -0., f32::NAN, -1.], &Device::Cpu)?;
        let (sorted, order) = x.sort_last_dim(false)?;
        assert_eq!(order.to_vec1::<u32>()?, [0, 1, 3, 2]);
        let signs = sorted.to_vec1::<f32>()?;
        assert!(signs[0].is_sign_positive() && signs[1].is_sign_negative() && signs[3].is_nan());
        Ok(())
    }
}
