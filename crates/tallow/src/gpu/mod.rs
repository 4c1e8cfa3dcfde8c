//! Tensors' side of a GPU: storage, views, and what the launches of an operation have in common.
//!
//! An operation's `gpu.rs` picks a variant of its kernel, fills in the parameters and launches it
//! on views; everything behind that (batches, hazards, pools, compilers) is `tallow-gpu`'s.

mod kernel;
mod views;

pub use kernel::{GpuKernel, Operand, WEIGHTS_HEADER, run, start_read};

pub(crate) use views::{
    ELEMENTS, PACKS, PER_THREAD, ROWS, Rows, View1, View2, View3, Views, aligned_pack, define_big,
    define_views, dtype_word, element_groups, groups, integer, launch, span,
};

use crate::{CpuStorage, DType, Error, F8E4M3, Layout, Result, bf16, f16};
use tallow_gpu::Buffer;
pub use tallow_gpu::{
    Define, GpuDevice, GpuError, KernelSource, Params, ReadBack, Recording, Variant, params,
    params_text,
};

/// A buffer on a GPU.
#[derive(Debug)]
pub struct GpuStorage {
    // In a place of its own, so that a storage in main memory, moved more often, is no larger.
    buffer: Box<Buffer>,
    count: usize,
    dtype: DType,
}

/// An operand on a GPU: a storage and the layout into it.
#[derive(Clone, Copy, Debug)]
pub struct GpuView<'a> {
    storage: &'a GpuStorage,
    layout: &'a Layout,
}

impl GpuStorage {
    /// A buffer whose values mean nothing yet.
    pub fn new(device: &GpuDevice, count: usize, dtype: DType) -> Result<Self> {
        let bytes = count.checked_mul(dtype.size_in_bytes());
        let Some(bytes) = bytes.filter(|_| dtype.size_in_bytes() > 0) else {
            crate::bail!("gpu: {count} elements of {dtype} cannot be stored");
        };
        if dtype == DType::F64 && !device.info().has_f64 {
            crate::bail!(
                "{}: the device has no f64; cast with to_dtype",
                device.info().name
            );
        }
        // A launch's range may name no bytes, but a buffer has some.
        let buffer = device.buffer(bytes.max(1))?;
        Ok(Self {
            buffer: Box::new(buffer),
            count,
            dtype,
        })
    }

    /// The elements of main memory.
    pub fn from_cpu(device: &GpuDevice, from: &CpuStorage) -> Result<Self> {
        let storage = Self::new(device, from.len(), from.dtype())?;
        device.write(&storage.buffer, 0, bytes_of(from)?)?;
        Ok(storage)
    }

    /// So many elements from an offset on, in main memory. Waits for all that was recorded.
    pub fn to_cpu(&self, offset: usize, count: usize) -> Result<CpuStorage> {
        let mut storage = CpuStorage::for_output(self.dtype, count, "to_device")?;
        let size = self.dtype.size_in_bytes();
        self.device()
            .read(&self.buffer, offset * size, bytes_of_mut(&mut storage)?)?;
        Ok(storage)
    }

    /// The dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// How many elements there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Where the buffer is.
    pub fn device(&self) -> &GpuDevice {
        self.buffer.device()
    }

    /// The buffer.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// A copy of the whole buffer.
    pub fn try_clone(&self) -> Result<Self> {
        let copy = Self::new(self.device(), self.count, self.dtype)?;
        let bytes = self.count * self.dtype.size_in_bytes();
        self.device()
            .copy((&self.buffer, 0..bytes), (&copy.buffer, 0))?;
        Ok(copy)
    }

    /// The whole of it as an operand of one dimension, for kernels that write results.
    pub(crate) fn whole(&self) -> (&Buffer, std::ops::Range<usize>) {
        (&self.buffer, 0..self.count * self.dtype.size_in_bytes())
    }
}

impl<'a> GpuView<'a> {
    /// A view of a storage; an error if the layout reaches past the storage's end.
    pub fn new(storage: &'a GpuStorage, layout: &'a Layout) -> Result<Self> {
        if layout.span_end() > storage.count {
            crate::bail!(
                "view: layout {} at offset {} reaches past the storage: {} elements",
                layout.describe(),
                layout.start_offset(),
                storage.count
            );
        }
        Ok(Self { storage, layout })
    }

    /// The dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.storage.dtype
    }

    /// The whole storage; the layout says which elements are the view's.
    pub fn storage(&self) -> &'a GpuStorage {
        self.storage
    }

    /// Shape, strides and offset, in elements.
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// The sizes.
    pub fn dims(&self) -> &'a [usize] {
        self.layout.dims()
    }
}

/// What an operation without a kernel says.
pub(crate) fn no_kernel(op: &'static str, device: &GpuDevice) -> Error {
    Error::Msg(format!(
        "{op}: no kernel for {}; move the operands to the processor with to_device",
        device.info().api
    ))
}

impl From<GpuError> for Error {
    fn from(error: GpuError) -> Self {
        Self::Gpu(Box::new(error))
    }
}

fn bytes_of(storage: &CpuStorage) -> Result<&[u8]> {
    Ok(match storage {
        CpuStorage::U8(data) => data,
        CpuStorage::U32(data) => bytemuck::cast_slice(data),
        CpuStorage::I16(data) => bytemuck::cast_slice(data),
        CpuStorage::I32(data) => bytemuck::cast_slice(data),
        CpuStorage::I64(data) => bytemuck::cast_slice(data),
        CpuStorage::BF16(data) => bytemuck::cast_slice::<bf16, _>(data),
        CpuStorage::F16(data) => bytemuck::cast_slice::<f16, _>(data),
        CpuStorage::F32(data) => bytemuck::cast_slice(data),
        CpuStorage::F64(data) => bytemuck::cast_slice(data),
        CpuStorage::F8E4M3(data) => bytemuck::cast_slice::<F8E4M3, _>(data),
        other => crate::bail!("gpu: {} is not taken; cast with to_dtype", other.dtype()),
    })
}

fn bytes_of_mut(storage: &mut CpuStorage) -> Result<&mut [u8]> {
    Ok(match storage {
        CpuStorage::U8(data) => data,
        CpuStorage::U32(data) => bytemuck::cast_slice_mut(data),
        CpuStorage::I16(data) => bytemuck::cast_slice_mut(data),
        CpuStorage::I32(data) => bytemuck::cast_slice_mut(data),
        CpuStorage::I64(data) => bytemuck::cast_slice_mut(data),
        CpuStorage::BF16(data) => bytemuck::cast_slice_mut::<bf16, _>(data),
        CpuStorage::F16(data) => bytemuck::cast_slice_mut::<f16, _>(data),
        CpuStorage::F32(data) => bytemuck::cast_slice_mut(data),
        CpuStorage::F64(data) => bytemuck::cast_slice_mut(data),
        CpuStorage::F8E4M3(data) => bytemuck::cast_slice_mut::<F8E4M3, _>(data),
        other => crate::bail!("gpu: {} is not taken; cast with to_dtype", other.dtype()),
    })
}
