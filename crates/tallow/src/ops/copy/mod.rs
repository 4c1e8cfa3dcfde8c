//! Copies: the elements of any view in a buffer of their own.

mod cases;

use super::{Family, OpInfo};
use crate::cpu::{self, CpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Device, Result, Shape, Tensor};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "copy",
    ops: &[
        OpInfo {
            name: "copy",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "contiguous",
            dtypes: &DType::COMPUTE,
        },
    ],
    cases: cases::cases,
    draw: cases::draw,
};

struct Copy;

impl Op for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        Ok((inputs[0].shape().clone(), inputs[0].dtype()))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        crate::with_dtype!(inputs[0].dtype(), self.name(), T in all => {
            cpu::copy::copy(inputs[0].typed::<T>()?, out.as_mut_slice()?);
            Ok(())
        })
    }
    fn gradient(&self, _: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        Ok(smallvec![Some(upstream.clone())])
    }
}

/// The elements of a view, row-major, in a storage of their own.
pub(crate) fn copied(view: CpuView<'_>) -> Result<CpuStorage> {
    let mut out = CpuStorage::for_output(view.dtype(), view.layout().shape().elem_count(), "copy")?;
    Copy.cpu(&[view], &mut out)?;
    Ok(out)
}

impl Tensor {
    /// The same elements in a buffer of their own, row-major.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
    /// assert_eq!(x.copy()?.to_vec1::<f32>()?, [1., 2.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn copy(&self) -> Result<Tensor> {
        apply(Copy, &[self])
    }

    /// The same tensor if it is row-major without gaps, else a copy that is.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2.], [3., 4.]], &Device::Cpu)?.t()?;
    /// assert!(!x.is_contiguous() && x.contiguous()?.is_contiguous());
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        self.copy()
    }

    /// The same elements on a device: the same tensor if it is there.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
    /// assert!(x.to_device(&Device::Cpu)?.device().is_cpu());
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn to_device(&self, device: &Device) -> Result<Tensor> {
        match device {
            Device::Cpu => Ok(self.clone()),
            Device::Cuda(gpu) | Device::Metal(gpu) => match *gpu {},
        }
    }

    /// A contiguous copy, even where the tensor is contiguous already.
    pub fn force_contiguous(&self) -> Result<Tensor> {
        self.copy()
    }
}
