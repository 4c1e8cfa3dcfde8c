//! Order reversed along dimensions: `out[i] = x[n - 1 - i]`.

mod cases;
mod cpu;
mod gpu;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::shape::Dims;
use crate::{CpuStorage, DType, Result, Shape, Tensor};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "flip",
    ops: &[OpInfo {
        name: "flip",
        dtypes: &DType::COMPUTE,
    }],
    cases: cases::cases,
    draw: cases::draw,
};

struct Flip {
    dims: Vec<usize>,
}

impl Op for Flip {
    fn name(&self) -> &'static str {
        "flip"
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        Ok((inputs[0].shape().clone(), inputs[0].dtype()))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        crate::with_dtype!(inputs[0].dtype(), self.name(), T in all => {
            cpu::flip(inputs[0].typed::<T>()?, &self.dims, out.as_mut_slice()?);
            Ok(())
        })
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::flip(inputs[0], &self.dims, out)
    }
    fn gradient(&self, _: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        Ok(smallvec![Some(upstream.flip(&self.dims)?)])
    }
}

impl Tensor {
    /// A copy with the order along each of these dimensions reversed. Errors if one is out of range
    /// or named twice.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1u8, 2, 3], [4, 5, 6]], &Device::Cpu)?;
    /// assert_eq!(x.flip(&[1])?.to_vec2::<u8>()?, [[3, 2, 1], [6, 5, 4]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn flip(&self, dims: &[usize]) -> Result<Tensor> {
        let dims = dims.to_indexes(self.shape(), "flip")?;
        apply(Flip { dims }, &[self])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn dims_out_of_range_or_twice_are_errors() -> Result<()> {
        let x = Tensor::new(&[[1f32, 2.]], &Device::Cpu)?;
        assert!(x.flip(&[2]).is_err() && x.flip(&[1, 1]).is_err());
        Ok(())
    }
}
