//! Running sums along a dimension: `out[i] = x[0] + … + x[i]`.
//!
//! Floats add up in f64 and are rounded once each; integers wrap. How elements are grouped depends
//! on the shape alone, so the bits are the same for any number of threads.

mod cases;
mod cpu;
mod gpu;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::shape::Dim;
use crate::{CpuStorage, DType, Result, Shape, Tensor};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "cumsum",
    ops: &[OpInfo {
        name: "cumsum",
        dtypes: &DType::COMPUTE,
    }],
    cases: cases::cases,
    draw: cases::draw,
};

struct Cumsum {
    dim: usize,
}

impl Op for Cumsum {
    fn name(&self) -> &'static str {
        "cumsum"
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        Ok((inputs[0].shape().clone(), inputs[0].dtype()))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::cumsum(inputs[0], self.dim, out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::cumsum(inputs[0], self.dim, out)
    }
    fn gradient(&self, _: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        // Each element is in every sum from its own on.
        let dims = [self.dim];
        let gradient = upstream.flip(&dims)?.cumsum(self.dim)?.flip(&dims)?;
        Ok(smallvec![Some(gradient)])
    }
}

impl Tensor {
    /// The sums of the elements up to each along a dimension, itself included. Integers wrap.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2., 3.], [4., 5., 6.]], &Device::Cpu)?;
    /// assert_eq!(x.cumsum(1)?.to_vec2::<f32>()?, [[1., 3., 6.], [4., 9., 15.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn cumsum<D: Dim>(&self, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "cumsum")?;
        apply(Cumsum { dim }, &[self])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn long_sums_keep_their_digits_and_integers_wrap() -> Result<()> {
        let ones = Tensor::ones(20_000_000, DType::F32, &Device::Cpu)?;
        let last = ones.cumsum(0)?.get(19_999_999)?;
        assert_eq!(last.to_scalar::<f32>()?, 2e7);
        let x = Tensor::new(&[200u8, 100, 1], &Device::Cpu)?;
        assert_eq!(x.cumsum(0)?.to_vec1::<u8>()?, [200, 44, 45]);
        assert!(x.cumsum(1).is_err());
        Ok(())
    }
}
