//! Reductions over any dimensions: sum, greatest, least, and the mean that follows from the sum.
//!
//! Narrow floats and f32 accumulate in f32, in blocks whose results add up in f64; f64 in f64. NaN
//! propagates from any place. Integer sums wrap. A sum over nothing is 0; a maximum over nothing is
//! an error, and so is a mean of integers, which has no exact answer in their dtype. How elements
//! are grouped depends on the shape alone, so the result is the same for any number of threads.

mod cases;
mod cpu;
mod formulas;
mod gpu;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::shape::{Dim, Dims};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor};
use formulas::{Max, Min, Reducer, Sum};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "reduce",
    ops: &[
        OpInfo {
            name: "sum",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "max",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "min",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "mean",
            dtypes: &DType::FLOATS,
        },
    ],
    cases: cases::cases,
    draw: cases::draw,
};

/// A reduction of some dimensions, which keep size 1 in the result.
struct Reduce<R> {
    reducer: R,
    dims: Vec<usize>,
}

impl<R: Reducer + 'static> Op for Reduce<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let mut dims = inputs[0].dims().to_vec();
        self.dims.iter().for_each(|&dim| dims[dim] = 1);
        Ok((Shape::from(dims), inputs[0].dtype()))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::reduce(self.reducer, &self.dims, inputs[0], out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::reduce(self.reducer, &self.dims, inputs[0], out)
    }
    fn gradient(&self, inputs: &[&Tensor], out: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let x = inputs[0];
        let (y, u) = (
            out.broadcast_as(x.shape())?,
            upstream.broadcast_as(x.shape())?,
        );
        Ok(smallvec![Some(R::gradient(x, &y, &u, &self.dims)?)])
    }
}

fn reduce(x: &Tensor, reducer: impl Reducer + 'static, dims: Vec<usize>) -> Result<Tensor> {
    apply(Reduce { reducer, dims }, &[x])
}

/// The tensor without these dimensions, which have size 1.
fn without(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let kept: Vec<usize> = (0..x.rank())
        .filter(|dim| !dims.contains(dim))
        .map(|dim| x.dims()[dim])
        .collect();
    x.reshape(kept)
}

/// All dimensions of a tensor.
fn all(x: &Tensor) -> Vec<usize> {
    (0..x.rank()).collect()
}

/// Reductions.
impl Tensor {
    /// The sum over some dimensions, which keep size 1.
    pub fn sum_keepdim<D: Dims>(&self, sum_dims: D) -> Result<Self> {
        reduce(self, Sum, sum_dims.to_indexes(self.shape(), "sum")?)
    }

    /// The sum over some dimensions, which disappear.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2.], [3., 4.]], &Device::Cpu)?;
    /// assert_eq!(x.sum(0)?.to_vec1::<f32>()?, [4., 6.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn sum<D: Dims>(&self, sum_dims: D) -> Result<Self> {
        let dims = sum_dims.to_indexes(self.shape(), "sum")?;
        without(&reduce(self, Sum, dims.clone())?, &dims)
    }

    /// The sum of all elements, a scalar.
    pub fn sum_all(&self) -> Result<Self> {
        self.sum(all(self))
    }

    /// The mean over some dimensions, which keep size 1. Errors for integers.
    pub fn mean_keepdim<D: Dims>(&self, mean_dims: D) -> Result<Self> {
        let dims = mean_dims.to_indexes(self.shape(), "mean")?;
        if self.dtype().is_int() {
            return Err(Error::UnsupportedDTypeForOp(self.dtype(), "mean"));
        }
        let count: usize = dims.iter().map(|&dim| self.dims()[dim]).product();
        // A sum of narrow floats can pass what they hold where the mean does not.
        let wide = match self.dtype() {
            DType::F64 | DType::F32 => self.clone(),
            _ => self.to_dtype(DType::F32)?,
        };
        let mean = reduce(&wide, Sum, dims)?.affine(1.0 / count as f64, 0.0)?;
        mean.to_dtype(self.dtype())
    }

    /// The mean over some dimensions, which disappear. Errors for integers.
    pub fn mean<D: Dims>(&self, mean_dims: D) -> Result<Self> {
        let dims = mean_dims.to_indexes(self.shape(), "mean")?;
        without(&self.mean_keepdim(dims.clone())?, &dims)
    }

    /// The mean of all elements, a scalar. Errors for integers.
    pub fn mean_all(&self) -> Result<Self> {
        self.mean(all(self))
    }

    /// The greatest element along a dimension, which keeps size 1. Errors if it is empty.
    pub fn max_keepdim<D: Dim>(&self, dim: D) -> Result<Self> {
        reduce(self, Max, vec![dim.to_index(self.shape(), "max")?])
    }

    /// The greatest element along a dimension, which disappears. Errors if it is empty.
    pub fn max<D: Dim>(&self, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "max")?;
        without(&reduce(self, Max, vec![dim])?, &[dim])
    }

    /// The greatest of all elements, a scalar. Errors if there are none.
    pub fn max_all(&self) -> Result<Self> {
        without(&reduce(self, Max, all(self))?, &all(self))
    }

    /// The least element along a dimension, which keeps size 1. Errors if it is empty.
    pub fn min_keepdim<D: Dim>(&self, dim: D) -> Result<Self> {
        reduce(self, Min, vec![dim.to_index(self.shape(), "min")?])
    }

    /// The least element along a dimension, which disappears. Errors if it is empty.
    pub fn min<D: Dim>(&self, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "min")?;
        without(&reduce(self, Min, vec![dim])?, &[dim])
    }

    /// The least of all elements, a scalar. Errors if there are none.
    pub fn min_all(&self) -> Result<Self> {
        without(&reduce(self, Min, all(self))?, &all(self))
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Device, Result, Tensor};

    #[test]
    fn nothing_has_a_sum_but_no_maximum() -> Result<()> {
        let empty = Tensor::zeros((2, 0), DType::F32, &Device::Cpu)?;
        assert_eq!(empty.sum(1)?.to_vec1::<f32>()?, [0., 0.]);
        assert!(empty.max(1).is_err());
        assert_eq!(empty.max(0)?.dims(), [0]);
        assert!(empty.mean_all()?.to_scalar::<f32>()?.is_nan());
        assert!(Tensor::new(&[2u32, 4], &Device::Cpu)?.mean_all().is_err());
        assert!(empty.sum((1, 1)).is_err());
        Ok(())
    }

    #[test]
    fn long_sums_keep_their_digits() -> Result<()> {
        let ones = |count: usize, dtype| Tensor::ones(count, dtype, &Device::Cpu);
        assert_eq!(
            ones(20_000_000, DType::F32)?
                .sum_all()?
                .to_scalar::<f32>()?,
            2e7
        );
        let narrow = ones(4096, DType::F16)?;
        assert_eq!(
            narrow.sum_all()?.to_scalar::<crate::f16>()?.to_f32(),
            4096.0
        );
        assert_eq!(narrow.mean_all()?.to_scalar::<crate::f16>()?.to_f32(), 1.0);
        let many = ones(100_000, DType::F16)?;
        assert_eq!(many.mean_all()?.to_scalar::<crate::f16>()?.to_f32(), 1.0);
        Ok(())
    }
}
