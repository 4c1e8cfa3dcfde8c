//! Devices: where a tensor lives and where its operations run.

use crate::{CpuStorage, DType, Error, Result, Shape, WithDType};
use tallow_gpu::{Api, GpuError};

pub use crate::gpu::GpuDevice;

/// A GPU that is driven through CUDA.
pub type CudaDevice = GpuDevice;
/// A GPU that is driven through Metal.
pub type MetalDevice = GpuDevice;

/// A device. Opening it, and everything else about it, goes through [`Tensor`](crate::Tensor).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// The processor, with one pool of threads for all operations.
    Cpu,
    /// A GPU through CUDA.
    Cuda(CudaDevice),
    /// A GPU through Metal.
    Metal(MetalDevice),
    /// A GPU, or another device, through OpenCL.
    OpenCl(GpuDevice),
}

/// Which device, without holding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceLocation {
    /// The processor.
    Cpu,
    /// A GPU through CUDA.
    Cuda {
        /// Its number.
        gpu_id: usize,
    },
    /// A GPU through Metal.
    Metal {
        /// Its number.
        gpu_id: usize,
    },
    /// A device through OpenCL.
    OpenCl {
        /// Its number.
        gpu_id: usize,
    },
}

impl Device {
    /// Which device this is.
    pub fn location(&self) -> DeviceLocation {
        match self {
            Self::Cpu => DeviceLocation::Cpu,
            Self::Cuda(gpu) => DeviceLocation::Cuda {
                gpu_id: gpu.info().ordinal,
            },
            Self::Metal(gpu) => DeviceLocation::Metal {
                gpu_id: gpu.info().ordinal,
            },
            Self::OpenCl(gpu) => DeviceLocation::OpenCl {
                gpu_id: gpu.info().ordinal,
            },
        }
    }

    /// The GPU, if it is one.
    pub fn gpu(&self) -> Option<&GpuDevice> {
        match self {
            Self::Cpu => None,
            Self::Cuda(gpu) | Self::Metal(gpu) | Self::OpenCl(gpu) => Some(gpu),
        }
    }

    /// A GPU that is open, as a device.
    pub fn from_gpu(gpu: GpuDevice) -> Self {
        match gpu.info().api {
            Api::Cuda => Self::Cuda(gpu),
            Api::Metal => Self::Metal(gpu),
            Api::OpenCl => Self::OpenCl(gpu),
        }
    }

    fn open(api: Api, ordinal: usize) -> Result<Self> {
        Ok(Self::from_gpu(GpuDevice::open(api, ordinal)?))
    }

    /// Opens a device through OpenCL. Errors if there is no OpenCL, or no such device.
    pub fn new_opencl(ordinal: usize) -> Result<Self> {
        Self::open(Api::OpenCl, ordinal)
    }

    /// Opens a GPU through CUDA. Errors if there is no CUDA driver, or no such device.
    pub fn new_cuda(ordinal: usize) -> Result<Self> {
        Self::open(Api::Cuda, ordinal)
    }

    /// The same as [`new_cuda`](Self::new_cuda): a device has one stream, which is its own.
    pub fn new_cuda_with_stream(ordinal: usize) -> Result<Self> {
        Self::new_cuda(ordinal)
    }

    /// Opens a GPU through Metal. Errors where there is none.
    pub fn new_metal(ordinal: usize) -> Result<Self> {
        Self::open(Api::Metal, ordinal)
    }

    /// A GPU through CUDA if there is one, else the processor.
    pub fn cuda_if_available(ordinal: usize) -> Result<Self> {
        Self::available(Api::Cuda, ordinal)
    }

    /// A GPU through Metal if there is one, else the processor.
    pub fn metal_if_available(ordinal: usize) -> Result<Self> {
        Self::available(Api::Metal, ordinal)
    }

    fn available(api: Api, ordinal: usize) -> Result<Self> {
        match Self::open(api, ordinal) {
            Err(Error::Gpu(error)) => match *error {
                GpuError::Missing { .. } | GpuError::NoDevice { .. } => Ok(Self::Cpu),
                other => Err(other.into()),
            },
            opened => opened,
        }
    }

    /// The GPU, if it is driven through CUDA.
    pub fn as_cuda_device(&self) -> Result<&CudaDevice> {
        match self {
            Self::Cuda(gpu) => Ok(gpu),
            _ => crate::bail!("expected a cuda device, got {:?}", self.location()),
        }
    }

    /// The GPU, if it is driven through Metal.
    pub fn as_metal_device(&self) -> Result<&MetalDevice> {
        match self {
            Self::Metal(gpu) => Ok(gpu),
            _ => crate::bail!("expected a metal device, got {:?}", self.location()),
        }
    }

    /// True for a GPU that is driven through CUDA.
    pub fn is_cuda(&self) -> bool {
        matches!(self, Self::Cuda(_))
    }

    /// True for a GPU that is driven through Metal.
    pub fn is_metal(&self) -> bool {
        matches!(self, Self::Metal(_))
    }

    /// True if every operation on floats takes bf16.
    pub fn supports_bf16(&self) -> bool {
        true
    }

    /// The dtype that weights in bf16 are best computed in: f32 on the processor.
    pub fn bf16_default_to_f32(&self) -> DType {
        match self {
            Self::Cpu => DType::F32,
            Self::Cuda(_) | Self::Metal(_) | Self::OpenCl(_) => DType::BF16,
        }
    }

    /// Runs `f` with the device's state at hand. The processor's pool of threads is the same inside
    /// and outside.
    pub fn with_context<F: FnOnce() -> R + Send, R: Send>(&self, f: F) -> R {
        f()
    }

    /// True if both are the same device.
    #[inline]
    pub fn same_device(&self, rhs: &Self) -> bool {
        (self.is_cpu() && rhs.is_cpu()) || self.location() == rhs.location()
    }

    /// True for the processor.
    pub fn is_cpu(&self) -> bool {
        matches!(self, Self::Cpu)
    }

    /// Waits for all work that was submitted to the device.
    pub fn synchronize(&self) -> Result<()> {
        match self {
            Self::Cpu => Ok(()),
            Self::Cuda(gpu) | Self::Metal(gpu) | Self::OpenCl(gpu) => Ok(gpu.synchronize()?),
        }
    }
}

/// Nested data that a tensor can be made of: a scalar, an array, a slice, vectors of vectors.
pub trait NdArray {
    /// The shape; an error if rows differ in length.
    fn shape(&self) -> Result<Shape>;
    /// The elements in row-major order.
    fn to_cpu_storage(&self) -> CpuStorage;
}

impl<S: WithDType> NdArray for S {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from(()))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage(&[*self])
    }
}

impl<S: WithDType, const N: usize> NdArray for &[S; N] {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from(N))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage(self.as_slice())
    }
}

impl<S: WithDType> NdArray for &[S] {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from(self.len()))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage(self)
    }
}

impl<S: WithDType, const N: usize, const M: usize> NdArray for &[[S; N]; M] {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from((M, N)))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat())
    }
}

impl<S: WithDType, const N: usize> NdArray for &[[S; N]] {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from((self.len(), N)))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat())
    }
}

impl<S: WithDType, const N: usize, const M: usize, const P: usize> NdArray for &[[[S; N]; M]; P] {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from((P, M, N)))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat().concat())
    }
}

impl<S: WithDType, const N: usize, const M: usize, const P: usize, const Q: usize> NdArray
    for &[[[[S; N]; M]; P]; Q]
{
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from((Q, P, M, N)))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat().concat().concat())
    }
}

impl<S: WithDType> NdArray for Vec<S> {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from(self.len()))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage(self)
    }
}

impl<S: WithDType> NdArray for Vec<Vec<S>> {
    fn shape(&self) -> Result<Shape> {
        let len = self.first().map_or(0, Vec::len);
        if let Some(at) = self.iter().position(|row| row.len() != len) {
            crate::bail!(
                "new: rows differ in length: row 0 has {len}, row {at} {}",
                self[at].len()
            );
        }
        Ok(Shape::from((self.len(), len)))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat())
    }
}

impl<S: WithDType> NdArray for Vec<Vec<Vec<S>>> {
    fn shape(&self) -> Result<Shape> {
        stacked(self)
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat().concat())
    }
}

impl<S: WithDType> NdArray for Vec<Vec<Vec<Vec<S>>>> {
    fn shape(&self) -> Result<Shape> {
        stacked(self)
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat().concat().concat())
    }
}

/// The shape of parts of one shape, one behind the other.
fn stacked<A: NdArray>(parts: &[A]) -> Result<Shape> {
    let Some(first) = parts.first() else {
        crate::bail!("new: nested vectors without elements tell no sizes; use zeros");
    };
    let first = first.shape()?;
    for (at, part) in parts.iter().enumerate() {
        let shape = part.shape()?;
        if shape != first {
            crate::bail!("new: parts differ in shape: part 0 has {first:?}, part {at} {shape:?}");
        }
    }
    Ok(Shape::from([&[parts.len()], first.dims()].concat()))
}

impl<S: WithDType> NdArray for Vec<&[S]> {
    fn shape(&self) -> Result<Shape> {
        let len = self.first().map_or(0, |row| row.len());
        if let Some(at) = self.iter().position(|row| row.len() != len) {
            crate::bail!(
                "new: rows differ in length: row 0 has {len}, row {at} {}",
                self[at].len()
            );
        }
        Ok(Shape::from((self.len(), len)))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat())
    }
}
