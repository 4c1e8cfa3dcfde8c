//! Copies: the elements of any view in a buffer of their own.

mod cases;
pub(super) mod gpu;

use super::{Family, OpInfo};
use crate::backprop::{Node, Rule};
use crate::cpu::{self, CpuView};
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::storage::Storage;
use crate::{CpuStorage, DType, Device, Layout, Result, Shape, Tensor};
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
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::copy(inputs[0], out)
    }
    fn gradient(&self, _: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        Ok(smallvec![Some(upstream.clone())])
    }
}

/// The way to another device; gradients go back to the first.
struct Moved;

impl Rule for Moved {
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        Ok(smallvec![Some(upstream.to_device(inputs[0].device())?)])
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
        if self.device().same_device(device) {
            return Ok(self.clone());
        }
        if !self.device().is_cpu() && !device.is_cpu() {
            return self.to_device(&Device::Cpu)?.to_device(device);
        }
        let node = Node::new(self.dtype(), &[self], || Box::new(Moved));
        let (storage, layout) = match device.gpu() {
            None => self.read_back()?,
            Some(gpu) => {
                let packed = self.contiguous()?;
                let (storage, layout) = packed.storage_and_layout();
                let all = storage.as_cpu()?;
                let whole = layout.start_offset() == 0 && all.len() == self.elem_count();
                let storage = match whole {
                    true => GpuStorage::from_cpu(gpu, all)?,
                    false => {
                        let view = CpuView::new(all, layout)?;
                        GpuStorage::from_cpu(gpu, &copied(view)?)?
                    }
                };
                (Storage::from_gpu(storage), Layout::contiguous(self.shape()))
            }
        };
        Ok(Tensor::recorded(storage, layout, node))
    }

    /// The elements of a GPU's tensor in main memory: the span of the view, where its gaps are not
    /// larger than what it shows.
    fn read_back(&self) -> Result<(Storage, Layout)> {
        let layout = self.layout();
        let span = layout.span_end() - layout.start_offset();
        if span > 2 * self.elem_count() {
            return self.copy()?.read_back();
        }
        let (storage, _) = self.storage_and_layout();
        let storage = storage.as_gpu()?.to_cpu(layout.start_offset(), span)?;
        let layout = Layout::new(self.shape().clone(), layout.stride().to_vec(), 0);
        Ok((Storage::Cpu(storage), layout))
    }

    /// A contiguous copy, even where the tensor is contiguous already.
    pub fn force_contiguous(&self) -> Result<Tensor> {
        self.copy()
    }
}
