//! Tensors of one value, and writing one value into a tensor: `zeros`, `ones`, `full`, `const_set`.

mod cases;
pub(super) mod gpu;

use super::{Family, OpInfo};
use crate::cpu::map::{Cost, for_each_chunk};
use crate::cpu::walk::Walk;
use crate::cpu::{CpuView, recycle};
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{InPlaceOp, apply_in_place};
use crate::scalar::Scalar;
use crate::storage::Storage;
use crate::{CpuStorage, DType, Device, Error, Layout, Result, Shape, Tensor, WithDType};

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "fill",
    ops: &[
        info("zeros"),
        info("ones"),
        info("full"),
        info("zeros_like"),
        info("ones_like"),
        info("zero_set"),
        info("one_set"),
        info("const_set"),
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

/// Writes one value to every element of the target.
struct ConstSet(Scalar);

impl InPlaceOp for ConstSet {
    fn name(&self) -> &'static str {
        "const_set"
    }
    fn check(&self, target: &Tensor, _: &[&Tensor]) -> Result<()> {
        if target.dtype() != self.0.dtype() {
            let (lhs, rhs) = (target.dtype(), self.0.dtype());
            return Err(Error::DTypeMismatchBinaryOp {
                lhs,
                rhs,
                op: "const_set",
            });
        }
        Ok(())
    }
    fn cpu(&self, target: &mut CpuStorage, layout: &Layout, _: &[CpuView<'_>]) -> Result<()> {
        match self.0 {
            Scalar::U8(value) => set(target, layout, value),
            Scalar::U32(value) => set(target, layout, value),
            Scalar::I16(value) => set(target, layout, value),
            Scalar::I32(value) => set(target, layout, value),
            Scalar::I64(value) => set(target, layout, value),
            Scalar::BF16(value) => set(target, layout, value),
            Scalar::F16(value) => set(target, layout, value),
            Scalar::F32(value) => set(target, layout, value),
            Scalar::F64(value) => set(target, layout, value),
            Scalar::F8E4M3(value) => set(target, layout, value),
        }
    }
    fn gpu(&self, target: GpuView<'_>, _: &[GpuView<'_>]) -> Result<()> {
        gpu::set(target, self.0)
    }
}

fn set<T: WithDType>(target: &mut CpuStorage, layout: &Layout, value: T) -> Result<()> {
    let data = &mut target.as_mut_slice::<T>()?[layout.start_offset()..layout.span_end()];
    let walk = Walk::new(layout.dims(), [layout.stride()]);
    let ([stride], count) = (walk.inner_strides(), layout.shape().elem_count());
    walk.for_each_run(0..count, |[offset], span| match stride {
        1 => fill(&mut data[offset..][..span.len()], value),
        _ => data[offset..]
            .iter_mut()
            .step_by(stride)
            .take(span.len())
            .for_each(|x| *x = value),
    });
    Ok(())
}

fn fill<T: WithDType>(out: &mut [T], value: T) {
    for_each_chunk(out, Cost::Light, &|_, chunk| chunk.fill(value));
}

/// A buffer of one value.
fn filled<T: WithDType>(value: T, count: usize) -> CpuStorage {
    let mut data = recycle::take::<T>(count);
    fill(&mut data, value);
    T::to_cpu_storage_owned(data)
}

/// Tensors of one value.
impl Tensor {
    /// Zeros.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::zeros((2, 3), DType::F32, &Device::Cpu)?;
    /// assert_eq!(x.to_vec2::<f32>()?, [[0.; 3]; 2]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn zeros<S: Into<Shape>>(shape: S, dtype: DType, device: &Device) -> Result<Self> {
        crate::with_dtype!(dtype, "zeros", T in all => {
            Self::full(<T as WithDType>::from_f64(0.0), shape.into(), device)
        })
    }

    /// Ones.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::ones(3, DType::I64, &Device::Cpu)?;
    /// assert_eq!(x.to_vec1::<i64>()?, [1, 1, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn ones<S: Into<Shape>>(shape: S, dtype: DType, device: &Device) -> Result<Self> {
        crate::with_dtype!(dtype, "ones", T in all => {
            Self::full(<T as WithDType>::from_f64(1.0), shape.into(), device)
        })
    }

    /// One value everywhere. Errors if the shape passes what memory can address.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::full(0.5f32, 2, &Device::Cpu)?;
    /// assert_eq!(x.to_vec1::<f32>()?, [0.5, 0.5]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn full<D: WithDType, S: Into<Shape>>(value: D, shape: S, device: &Device) -> Result<Self> {
        let shape = shape.into();
        let count = shape.checked_elem_count()?;
        let Some(gpu) = device.gpu() else {
            return Self::from_cpu_storage(filled(value, count), shape, device);
        };
        let storage = GpuStorage::new(gpu, count, D::DTYPE)?;
        if count > 0 {
            let layout = Layout::contiguous(&shape);
            gpu::set(GpuView::new(&storage, &layout)?, Scalar::from(value))?;
        }
        Ok(Self::from_parts(
            Storage::from_gpu(storage),
            Layout::contiguous(shape),
        ))
    }

    /// A tensor whose values mean nothing, to be written before it is read. They are initialised
    /// memory all the same: this is safe.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::empty((2, 3), DType::F32, &Device::Cpu)?;
    /// assert_eq!(x.dims(), [2, 3]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn empty<S: Into<Shape>>(shape: S, dtype: DType, device: &Device) -> Result<Self> {
        let shape = shape.into();
        let count = shape.checked_elem_count()?;
        if let Some(gpu) = device.gpu() {
            let storage = Storage::from_gpu(GpuStorage::new(gpu, count, dtype)?);
            return Ok(Self::from_parts(storage, Layout::contiguous(shape)));
        }
        let storage = CpuStorage::for_output(dtype, count, "empty")?;
        Self::from_cpu_storage(storage, shape, device)
    }

    /// [`empty`](Self::empty) of this shape and dtype, on this device.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::zeros((2, 3), DType::F32, &Device::Cpu)?.empty_like()?;
    /// assert_eq!((x.dims(), x.dtype()), (&[2, 3][..], DType::F32));
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn empty_like(&self) -> Result<Self> {
        Self::empty(self.shape(), self.dtype(), self.device())
    }

    /// Zeros of this shape and dtype, on this device.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
    /// assert_eq!(x.zeros_like()?.to_vec1::<f32>()?, [0., 0.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn zeros_like(&self) -> Result<Self> {
        Self::zeros(self.shape(), self.dtype(), self.device())
    }

    /// Ones of this shape and dtype, on this device.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[5u8, 2], &Device::Cpu)?;
    /// assert_eq!(x.ones_like()?.to_vec1::<u8>()?, [1, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn ones_like(&self) -> Result<Self> {
        Self::ones(self.shape(), self.dtype(), self.device())
    }
}

/// Writing one value in place: every tensor over the same buffer sees it.
impl Tensor {
    /// Writes a value of this tensor's dtype to every element. Errors for another dtype, and for a
    /// broadcast view.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::zeros((2, 2), DType::F32, &Device::Cpu)?;
    /// x.narrow(1, 0, 1)?.const_set(7f32.into())?;
    /// assert_eq!(x.to_vec2::<f32>()?, [[7., 0.], [7., 0.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn const_set(&self, value: Scalar) -> Result<()> {
        apply_in_place(&ConstSet(value), self, &[])
    }

    /// Writes 0 to every element.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
    /// x.zero_set()?;
    /// assert_eq!(x.to_vec1::<f32>()?, [0., 0.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn zero_set(&self) -> Result<()> {
        self.const_set(Scalar::zero(self.dtype()))
    }

    /// Writes 1 to every element.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[5i16, 2], &Device::Cpu)?;
    /// x.one_set()?;
    /// assert_eq!(x.to_vec1::<i16>()?, [1, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn one_set(&self) -> Result<()> {
        self.const_set(Scalar::one(self.dtype()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_filled_is_an_error() -> Result<()> {
        let cpu = &Device::Cpu;
        assert!(Tensor::zeros((usize::MAX, 2), DType::F32, cpu).is_err());
        assert!(Tensor::ones(2, DType::F4, cpu).is_err());
        let x = Tensor::zeros(2, DType::F32, cpu)?;
        assert!(x.const_set(Scalar::F64(1.0)).is_err(), "another dtype");
        assert!(
            x.broadcast_as((3, 2))?.zero_set().is_err(),
            "a broadcast view"
        );
        Ok(())
    }
}
