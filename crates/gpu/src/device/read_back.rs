//! Values on their way back to the host.

use super::{AskedErrors, Buffer, GpuDevice, STAGING_BYTES, touch};
use crate::command::{Access, Command};
use crate::driver::{Memory, Ticket};
use crate::{GpuError, Result};
use std::sync::Arc;

/// Bytes that the device copies into host memory after all that was recorded before; what is
/// recorded after them does not hold them up.
#[must_use = "the bytes come by `finish`"]
pub struct ReadBack {
    staging: Option<Arc<Memory>>,
    errors: Option<AskedErrors>,
    ticket: Ticket,
    bytes: usize,
    device: GpuDevice,
}

impl GpuDevice {
    /// Reads bytes of a buffer, and waits for all that was recorded before. Errors of kernels since
    /// the last read-back come out here.
    pub fn read(&self, source: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()> {
        for (at, part) in bytes.chunks_mut(STAGING_BYTES).enumerate() {
            let from = offset + at * STAGING_BYTES;
            self.start_read(source, from, part.len())?.finish(part)?;
        }
        Ok(())
    }

    /// Sends out what was recorded, and after it a copy of bytes of a buffer to host memory; of at
    /// most 32 MiB.
    pub fn start_read(&self, source: &Buffer, offset: usize, bytes: usize) -> Result<ReadBack> {
        self.refuse_while_recording()?;
        let source = source.checked(offset..offset.saturating_add(bytes), Access::Read, "read")?;
        if bytes > STAGING_BYTES {
            return Err(GpuError::Launch {
                kernel: "read".into(),
                what: format!("{bytes} bytes at once; at most {STAGING_BYTES}"),
            });
        }
        let staging = self.staging(bytes)?;
        let target = touch(&staging, 0..bytes, Access::Write);
        self.record(Command::Copy { source, target })?;
        let errors = self.ask_for_errors()?;
        let ticket = self.submit()?;
        Ok(ReadBack {
            staging: Some(staging),
            errors,
            ticket,
            bytes,
            device: self.clone(),
        })
    }
}

impl ReadBack {
    /// Waits for the bytes, and gives as many as were asked for.
    pub fn finish(mut self, bytes: &mut [u8]) -> Result<()> {
        if bytes.len() != self.bytes {
            return Err(GpuError::Launch {
                kernel: "read".into(),
                what: format!("room for {} bytes; {} are read", bytes.len(), self.bytes),
            });
        }
        self.device.0.driver.wait(self.ticket)?;
        if let Some(staging) = self.staging.take() {
            self.device.0.driver.read(&staging, 0, bytes)?;
            self.device.give(staging);
        }
        self.device.look_at_errors(self.errors.take())
    }
}

impl Drop for ReadBack {
    /// Bytes that nobody waits for; the copy may be under way.
    fn drop(&mut self) {
        if let Some(staging) = self.staging.take() {
            self.device.give(staging);
        }
        if let Some(asked) = self.errors.take() {
            self.device.ask_again(asked);
        }
    }
}

impl std::fmt::Debug for ReadBack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReadBack of {} bytes", self.bytes)
    }
}
