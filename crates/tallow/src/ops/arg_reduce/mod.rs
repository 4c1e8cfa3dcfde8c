//! Where the greatest or the least element along a dimension is: its index, as u32.
//!
//! Of equal elements the first counts; a NaN is greater and less than anything, so the first NaN is
//! found, as numpy and PyTorch do.

mod cases;
mod cpu;
mod gpu;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Op, apply};
use crate::shape::Dim;
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor};

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "arg_reduce",
    ops: &[
        OpInfo {
            name: "argmax",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "argmin",
            dtypes: &DType::COMPUTE,
        },
    ],
    cases: cases::cases,
    draw: cases::draw,
};

/// Which end is looked for along the last dimension, which keeps size 1.
struct ArgReduce {
    greatest: bool,
}

impl Op for ArgReduce {
    fn name(&self) -> &'static str {
        if self.greatest { "argmax" } else { "argmin" }
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let mut dims = inputs[0].dims().to_vec();
        match dims.last_mut() {
            Some(0) | None => return Err(Error::EmptyTensor { op: self.name() }),
            Some(last) => *last = 1,
        }
        Ok((Shape::from(dims), DType::U32))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::arg_reduce(self.greatest, inputs[0], out.as_mut_slice::<u32>()?)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::run(self.name(), self.greatest, inputs[0], out)
    }
}

fn arg_reduce<D: Dim>(x: &Tensor, dim: D, greatest: bool) -> Result<Tensor> {
    let op = ArgReduce { greatest };
    let dim = dim.to_index(x.shape(), op.name())?;
    let last = x.rank() - 1;
    apply(op, &[&x.transpose(dim, last)?])?.transpose(dim, last)
}

/// Reductions to an index.
impl Tensor {
    /// The index of the greatest element along a dimension, which disappears. Errors if it is
    /// empty.
    ///
    /// ```
    /// use tallow::{D, Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 5., 5.], [7., 0., 1.]], &Device::Cpu)?;
    /// assert_eq!(x.argmax(D::Minus1)?.to_vec1::<u32>()?, [1, 0]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn argmax<D: Dim>(&self, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "argmax")?;
        arg_reduce(self, dim, true)?.squeeze(dim)
    }

    /// The index of the greatest element along a dimension, which keeps size 1.
    pub fn argmax_keepdim<D: Dim>(&self, dim: D) -> Result<Self> {
        arg_reduce(self, dim, true)
    }

    /// The index of the least element along a dimension, which disappears. Errors if it is empty.
    pub fn argmin<D: Dim>(&self, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "argmin")?;
        arg_reduce(self, dim, false)?.squeeze(dim)
    }

    /// The index of the least element along a dimension, which keeps size 1.
    pub fn argmin_keepdim<D: Dim>(&self, dim: D) -> Result<Self> {
        arg_reduce(self, dim, false)
    }
}
