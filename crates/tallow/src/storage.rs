//! Storage: the buffer under one or more tensors.
//!
//! Neither [`Storage`] nor [`CpuStorage`] implements `Drop`, so that users can move vectors out of
//! them. Buffers go back to the recycling pool where the tensors' shared [`StorageCell`] is
//! dropped.

use crate::cpu::recycle;
use crate::{DType, Device, Error, F8E4M3, Layout, Result, Shape, WithDType, bf16, f16};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A buffer in main memory: a vector per element type. The types narrower than a byte, and the MX
/// scale, are stored as packed bytes.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // each variant is the dtype of its name
pub enum CpuStorage {
    U8(Vec<u8>),
    U32(Vec<u32>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    BF16(Vec<bf16>),
    F16(Vec<f16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    F8E4M3(Vec<F8E4M3>),
    F6E2M3(Vec<u8>),
    F6E3M2(Vec<u8>),
    F4(Vec<u8>),
    F8E8M0(Vec<u8>),
}

pub use crate::gpu::GpuStorage;

/// A buffer on a GPU that is driven through CUDA.
pub type CudaStorage = GpuStorage;
/// A buffer on a GPU that is driven through Metal.
pub type MetalStorage = GpuStorage;

/// Elements that someone else holds, with their dtype.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // each variant is the dtype of its name
pub enum CpuStorageRef<'a> {
    U8(&'a [u8]),
    U32(&'a [u32]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    BF16(&'a [bf16]),
    F16(&'a [f16]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    F8E4M3(&'a [F8E4M3]),
    F6E2M3(&'a [u8]),
    F6E3M2(&'a [u8]),
    F4(&'a [u8]),
    F8E8M0(&'a [u8]),
}

/// A storage, locked for reading.
pub type StorageRef<'a> = RwLockReadGuard<'a, Storage>;
/// A storage, locked for writing.
pub type StorageMutRef<'a> = RwLockWriteGuard<'a, Storage>;

/// A buffer on one of the devices.
#[derive(Debug)]
pub enum Storage {
    /// Main memory.
    Cpu(CpuStorage),
    /// A GPU's memory, through CUDA.
    Cuda(CudaStorage),
    /// A GPU's memory, through Metal.
    Metal(MetalStorage),
    /// A device's memory, through OpenCL.
    OpenCl(GpuStorage),
}

macro_rules! each_storage {
    ($storage:expr, $data:ident => $body:expr) => {
        match $storage {
            CpuStorage::U8($data) => $body,
            CpuStorage::U32($data) => $body,
            CpuStorage::I16($data) => $body,
            CpuStorage::I32($data) => $body,
            CpuStorage::I64($data) => $body,
            CpuStorage::BF16($data) => $body,
            CpuStorage::F16($data) => $body,
            CpuStorage::F32($data) => $body,
            CpuStorage::F64($data) => $body,
            CpuStorage::F8E4M3($data) => $body,
            CpuStorage::F6E2M3($data) => $body,
            CpuStorage::F6E3M2($data) => $body,
            CpuStorage::F4($data) => $body,
            CpuStorage::F8E8M0($data) => $body,
        }
    };
}

impl CpuStorage {
    /// The dtype of the elements.
    pub fn dtype(&self) -> DType {
        match self {
            Self::U8(_) => DType::U8,
            Self::U32(_) => DType::U32,
            Self::I16(_) => DType::I16,
            Self::I32(_) => DType::I32,
            Self::I64(_) => DType::I64,
            Self::BF16(_) => DType::BF16,
            Self::F16(_) => DType::F16,
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::F8E4M3(_) => DType::F8E4M3,
            Self::F6E2M3(_) => DType::F6E2M3,
            Self::F6E3M2(_) => DType::F6E3M2,
            Self::F4(_) => DType::F4,
            Self::F8E8M0(_) => DType::F8E8M0,
        }
    }

    /// The elements, if the storage holds this type.
    pub fn as_slice<T: WithDType>(&self) -> Result<&[T]> {
        T::cpu_storage_as_slice(self)
    }

    /// The elements to write, if the storage holds this type.
    pub fn as_mut_slice<T: WithDType>(&mut self) -> Result<&mut [T]> {
        T::cpu_storage_as_mut_slice(self)
    }

    /// The length of the vector: elements, or bytes for the packed types.
    pub fn len(&self) -> usize {
        each_storage!(self, data => data.len())
    }

    /// True if the vector is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Buffers of one dtype, one behind the other. Errors if there is none, and if dtypes differ.
    ///
    /// ```
    /// use tallow::CpuStorage;
    /// let joined = CpuStorage::concat(&[CpuStorage::U8(vec![1]), CpuStorage::U8(vec![2, 3])])?;
    /// assert_eq!(joined.as_slice::<u8>()?, [1, 2, 3]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn concat(storages: &[CpuStorage]) -> Result<CpuStorage> {
        let op = "concat";
        let Some((first, rest)) = storages.split_first() else {
            return Err(Error::OpRequiresAtLeastOneTensor { op });
        };
        let mut joined = first.clone();
        for next in rest {
            match (&mut joined, next) {
                (Self::F6E2M3(joined), Self::F6E2M3(next))
                | (Self::F6E3M2(joined), Self::F6E3M2(next))
                | (Self::F4(joined), Self::F4(next))
                | (Self::F8E8M0(joined), Self::F8E8M0(next)) => joined.extend_from_slice(next),
                (joined, next) if joined.dtype() == next.dtype() => {
                    crate::with_dtype!(next.dtype(), op, T in all => {
                        let mut data = <T as WithDType>::cpu_storage_data(std::mem::replace(
                            joined,
                            Self::U8(Vec::new()),
                        ))?;
                        data.extend_from_slice(next.as_slice::<T>()?);
                        *joined = T::to_cpu_storage_owned(data);
                        Ok::<(), Error>(())
                    })?;
                }
                (joined, next) => {
                    let (lhs, rhs) = (joined.dtype(), next.dtype());
                    return Err(Error::DTypeMismatchBinaryOp { lhs, rhs, op });
                }
            }
        }
        Ok(joined)
    }

    /// A buffer for an operation's result: initialised, with values that mean nothing.
    pub(crate) fn for_output(dtype: DType, count: usize, op: &'static str) -> Result<Self> {
        crate::with_dtype!(dtype, op, T in all => {
            Ok(T::to_cpu_storage_owned(recycle::take::<T>(count)))
        })
    }

    /// True if the vector has a size that the recycling pool takes.
    fn is_pooled(&self) -> bool {
        each_storage!(self, data => recycle::takes(data))
    }

    /// Gives the vector back to the recycling pool.
    fn recycle(self) {
        each_storage!(self, data => recycle::give(data))
    }
}

impl Storage {
    /// The dtype of the elements.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Cpu(storage) => storage.dtype(),
            Self::Cuda(gpu) | Self::Metal(gpu) | Self::OpenCl(gpu) => gpu.dtype(),
        }
    }

    /// A copy of the whole buffer, for the same layout.
    pub fn try_clone(&self, _layout: &Layout) -> Result<Self> {
        match self {
            Self::Cpu(storage) => Ok(Self::Cpu(storage.clone())),
            Self::Cuda(gpu) | Self::Metal(gpu) | Self::OpenCl(gpu) => {
                Ok(Self::from_gpu(gpu.try_clone()?))
            }
        }
    }

    /// The device that the buffer is on.
    pub fn device(&self) -> Device {
        match self {
            Self::Cpu(_) => Device::Cpu,
            Self::Cuda(gpu) | Self::Metal(gpu) | Self::OpenCl(gpu) => {
                Device::from_gpu(gpu.device().clone())
            }
        }
    }

    /// A buffer of a GPU.
    pub fn from_gpu(storage: GpuStorage) -> Self {
        match storage.device().info().api {
            tallow_gpu::Api::Cuda => Self::Cuda(storage),
            tallow_gpu::Api::Metal => Self::Metal(storage),
            tallow_gpu::Api::OpenCl => Self::OpenCl(storage),
        }
    }

    /// The buffer, if it is a GPU's.
    pub(crate) fn as_gpu(&self) -> Result<&GpuStorage> {
        match self {
            Self::Cpu(_) => crate::bail!("a tensor on a gpu is wanted; this one is on the cpu"),
            Self::Cuda(gpu) | Self::Metal(gpu) | Self::OpenCl(gpu) => Ok(gpu),
        }
    }

    /// The buffer, if it is in main memory.
    pub(crate) fn as_cpu(&self) -> Result<&CpuStorage> {
        match self {
            Self::Cpu(storage) => Ok(storage),
            Self::Cuda(_) | Self::Metal(_) | Self::OpenCl(_) => Err(not_on_cpu()),
        }
    }

    /// The buffer to write, if it is in main memory.
    pub(crate) fn as_cpu_mut(&mut self) -> Result<&mut CpuStorage> {
        match self {
            Self::Cpu(storage) => Ok(storage),
            Self::Cuda(_) | Self::Metal(_) | Self::OpenCl(_) => Err(not_on_cpu()),
        }
    }
}

fn not_on_cpu() -> Error {
    Error::Msg("a tensor on the cpu is wanted; move this one with to_device".into())
}

/// A storage that tensors share, behind a lock. Dropping the last holder recycles the buffer.
#[derive(Debug)]
pub(crate) struct StorageCell(RwLock<Storage>);

impl StorageCell {
    #[inline(always)]
    pub(crate) fn new(storage: Storage) -> Self {
        Self(RwLock::new(storage))
    }

    // A panic in a kernel leaves valid elements behind, so a poisoned lock is still good to read.
    #[inline]
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Storage> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Storage> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StorageCell {
    fn drop(&mut self) {
        let cell = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The runtime's own pool takes a GPU's buffer, and the allocator a small vector.
        if let Storage::Cpu(storage) = cell
            && storage.is_pooled()
        {
            std::mem::replace(storage, CpuStorage::U8(Vec::new())).recycle();
        }
    }
}

/// Checks that a buffer holds as many elements as a shape has.
pub(crate) fn check_count(shape: &Shape, count: usize) -> Result<()> {
    if shape.checked_elem_count()? != count {
        return Err(crate::Error::ShapeMismatch {
            buffer_size: count,
            shape: shape.clone(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_one_dtype_join() -> Result<()> {
        let packed = CpuStorage::F4(vec![1]);
        let joined = CpuStorage::concat(&[packed.clone(), CpuStorage::F4(vec![2])])?;
        assert!(matches!(joined, CpuStorage::F4(bytes) if bytes == [1, 2]));
        assert!(CpuStorage::concat(&[packed, CpuStorage::U8(vec![2])]).is_err());
        assert!(CpuStorage::concat(&[]).is_err());
        Ok(())
    }
}
