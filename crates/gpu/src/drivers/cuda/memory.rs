//! Memory: the device's, and the host's that the device reaches.

use super::{API, failed};
use crate::driver::{Memory, MemoryKind};
use crate::{GpuError, Result};
use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use std::ffi::c_void;
use std::sync::Arc;

/// Device buffers that are taken by `cuMemAlloc`: the first call of `cuMemAllocAsync` sets up a
/// pool, which takes 8 ms, where this takes 0.3 ms.
const PLAIN_BUFFERS: usize = 8;

/// Memory that CUDA gave out.
pub(super) struct Block {
    address: sys::CUdeviceptr,
    bytes: usize,
    kind: Kind,
    stream: Arc<CudaStream>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// By `cuMemAlloc`.
    Plain,
    /// By `cuMemAllocAsync`, in the stream's order.
    Ordered,
    /// Host memory, pinned.
    Host,
}

/// Where memory starts, for the device.
pub(super) fn pointer(memory: &Memory) -> sys::CUdeviceptr {
    memory.handle::<Block>().address
}

/// Lets the driver's pool keep what is freed: by default it goes back to the system at every wait,
/// and the next allocation takes 50 µs instead of 0.8.
pub(super) fn keep_freed(context: &CudaContext) -> Result<()> {
    let (mut pool, mut keep) = (std::ptr::null_mut(), u64::MAX);
    // SAFETY: writes one handle.
    unsafe { sys::cuDeviceGetDefaultMemPool(&mut pool, context.cu_device()) }
        .result()
        .map_err(failed("cuDeviceGetDefaultMemPool"))?;
    let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the attribute is a u64, which the call reads.
    unsafe { sys::cuMemPoolSetAttribute(pool, threshold, (&raw mut keep).cast()) }
        .result()
        .map_err(failed("cuMemPoolSetAttribute"))
}

impl Block {
    /// Takes memory; `count` buffers were taken before.
    pub(super) fn new(
        bytes: usize,
        kind: MemoryKind,
        count: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<Self> {
        let kind = match kind {
            MemoryKind::Host => Kind::Host,
            MemoryKind::Device if count < PLAIN_BUFFERS => Kind::Plain,
            MemoryKind::Device => Kind::Ordered,
        };
        let taken = match kind {
            // SAFETY: the context is bound; the size is not 0.
            Kind::Plain => unsafe { result::malloc_sync(bytes) },
            // SAFETY: as above, and the stream is of this context.
            Kind::Ordered => unsafe { result::malloc_async(stream.cu_stream(), bytes) },
            // SAFETY: as for `Plain`. Pinned memory has one address for host and device.
            Kind::Host => unsafe { result::malloc_host(bytes, 0) }.map(|at| at as u64),
        };
        let address = taken.map_err(|error: DriverError| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => GpuError::OutOfMemory {
                api: API,
                bytes,
                used: 0,
            },
            _ => failed("cuMemAlloc")(error),
        })?;
        let stream = Arc::clone(stream);
        Ok(Self {
            address,
            bytes,
            kind,
            stream,
        })
    }

    fn host(&self, offset: usize, bytes: usize) -> Result<*mut u8> {
        let fits = offset
            .checked_add(bytes)
            .is_some_and(|end| end <= self.bytes);
        if self.kind != Kind::Host || !fits {
            return Err(GpuError::Driver {
                api: API,
                call: "host memory",
                what: format!(
                    "{bytes} bytes at {offset} of {} that are the host's",
                    self.bytes
                ),
            });
        }
        Ok((self.address as usize + offset) as *mut u8)
    }

    pub(super) fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        let to = self.host(offset, bytes.len())?;
        // SAFETY: `host` checked the range, which no command in flight touches.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    pub(super) fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let from = self.host(offset, bytes.len())?;
        // SAFETY: `host` checked the range, whose writer is done.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // On a thread that never touched the context a free would fail without a word.
        if self.stream.context().bind_to_thread().is_err() {
            return;
        }
        // An error here is an earlier one of the device's, which the next call reports.
        let _ = match self.kind {
            // SAFETY: allocated by `malloc_sync`, freed once.
            Kind::Plain => unsafe { result::free_sync(self.address) },
            // SAFETY: allocated by `malloc_async` on this stream, freed once, in its order.
            Kind::Ordered => unsafe { result::free_async(self.address, self.stream.cu_stream()) },
            // SAFETY: allocated by `malloc_host`, freed once.
            Kind::Host => unsafe { result::free_host(self.address as *mut c_void) },
        };
    }
}
