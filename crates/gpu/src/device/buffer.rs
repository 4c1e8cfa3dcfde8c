//! A buffer: memory of a device with a size in bytes, given back when it is dropped.

use super::{GpuDevice, touch};
use crate::command::{Access, Use};
use crate::driver::Memory;
use crate::{GpuError, Result};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A buffer on a device. Dropping it lets the next one of its size have the memory.
pub struct Buffer {
    pub(super) memory: Arc<Memory>,
    pub(super) bytes: usize,
    pub(super) device: GpuDevice,
    /// The memory is the device's own, and stays when this handle of it goes.
    pub(super) is_register: bool,
}

impl Buffer {
    /// Its size, as asked for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The device that it lies on.
    pub fn device(&self) -> &GpuDevice {
        &self.device
    }

    pub(super) fn touch(&self, range: Range<usize>, access: Access) -> Use {
        touch(&self.memory, range, access)
    }

    pub(crate) fn checked(
        &self,
        range: Range<usize>,
        access: Access,
        call: &'static str,
    ) -> Result<Use> {
        if range.end > self.bytes || range.start > range.end {
            let what = format!("bytes {range:?} of a buffer of {}", self.bytes);
            return Err(GpuError::Launch {
                kernel: call.into(),
                what,
            });
        }
        Ok(self.touch(range, access))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.is_register {
            return;
        }
        self.device.give(Arc::clone(&self.memory));
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer of {} bytes on {:?}", self.bytes, self.device)
    }
}
