//! Memory: private to the device, or shared with the host.

use super::device::{API, Id};
use crate::driver::{Memory, MemoryKind};
use crate::{GpuError, Result};
use objc2::runtime::ProtocolObject;
use objc2_metal::{MTLBuffer, MTLDevice, MTLResidencySet, MTLResourceOptions};
use std::sync::{Arc, Mutex, PoisonError};

/// The buffers that the queue keeps within the device's reach; from macOS 15 on.
pub(super) struct Residency(Mutex<Id<dyn MTLResidencySet>>);

// SAFETY: Metal wants calls of a set to come one at a time, from any thread: the lock sees to it.
unsafe impl Send for Residency {}
// SAFETY: as above.
unsafe impl Sync for Residency {}

impl Residency {
    pub(super) fn new(set: Id<dyn MTLResidencySet>) -> Self {
        Self(Mutex::new(set))
    }

    fn change(&self, change: impl FnOnce(&ProtocolObject<dyn MTLResidencySet>)) {
        let set = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&set);
        set.commit();
    }
}

/// A buffer of Metal's.
pub(super) struct Block {
    buffer: Id<dyn MTLBuffer>,
    bytes: usize,
    kind: MemoryKind,
    residency: Option<Arc<Residency>>,
}

// SAFETY: buffers may be bound, retained and released from any thread; who reads and writes their
// contents when is the caller's business, as `Driver::read` and `Driver::write` say.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

/// The buffer behind memory.
pub(super) fn buffer(memory: &Memory) -> &ProtocolObject<dyn MTLBuffer> {
    &memory.handle::<Block>().buffer
}

impl Block {
    pub(super) fn new(
        device: &ProtocolObject<dyn MTLDevice>,
        bytes: usize,
        kind: MemoryKind,
        residency: Option<&Arc<Residency>>,
    ) -> Result<Self> {
        let mode = match kind {
            MemoryKind::Device => MTLResourceOptions::StorageModePrivate,
            MemoryKind::Host => MTLResourceOptions::StorageModeShared,
        };
        let options = mode | MTLResourceOptions::HazardTrackingModeUntracked;
        let buffer =
            device
                .newBufferWithLength_options(bytes, options)
                .ok_or(GpuError::OutOfMemory {
                    api: API,
                    bytes,
                    used: 0,
                })?;
        if let Some(residency) = residency {
            residency.change(|set| set.addAllocation(ProtocolObject::from_ref(&*buffer)));
        }
        Ok(Self {
            buffer,
            bytes,
            kind,
            residency: residency.cloned(),
        })
    }

    fn host(&self, offset: usize, bytes: usize) -> Result<*mut u8> {
        let fits = offset
            .checked_add(bytes)
            .is_some_and(|end| end <= self.bytes);
        if self.kind != MemoryKind::Host || !fits {
            return Err(GpuError::Driver {
                api: API,
                call: "host memory",
                what: format!(
                    "{bytes} bytes at {offset} of {} that are the host's",
                    self.bytes
                ),
            });
        }
        Ok(self
            .buffer
            .contents()
            .as_ptr()
            .cast::<u8>()
            .wrapping_add(offset))
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
        if let Some(residency) = &self.residency {
            residency.change(|set| set.removeAllocation(ProtocolObject::from_ref(&*self.buffer)));
        }
    }
}
