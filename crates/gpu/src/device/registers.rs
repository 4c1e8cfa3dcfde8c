//! Small memory of the device's own, by name: state that commands find and leave, so that recorded
//! ones go on from where the last run of them stopped.

use super::{Buffer, GpuDevice, touch};
use crate::command::{Access, Command, Step};
use crate::driver::{Memory, MemoryKind};
use crate::{GpuError, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name, memory and size.
type Register = (&'static str, Arc<Memory>, usize);

#[derive(Default)]
pub(super) struct Registers(Mutex<Vec<Register>>);

impl GpuDevice {
    /// The register of a name, with the bytes that `initial` gives when it is first asked for. It
    /// lives as long as the device. Asked for while commands are recorded, it is the same one, and
    /// its first bytes are no part of the recording.
    pub fn register(
        &self,
        name: &'static str,
        initial: impl FnOnce() -> Vec<u8>,
    ) -> Result<Buffer> {
        let (memory, bytes) = match self.registered(name) {
            Some(known) => known,
            None => {
                // No lock is held meanwhile: another thread's recording may be in the way of this
                // one's copy, and ask for a register itself. The first one that is there counts.
                let initial = initial();
                let memory = self.filled(&initial)?;
                let mut registers = self.registers();
                match registers.iter().find(|(known, ..)| *known == name) {
                    Some((_, memory, bytes)) => (Arc::clone(memory), *bytes),
                    None => {
                        registers.push((name, Arc::clone(&memory), initial.len()));
                        (memory, initial.len())
                    }
                }
            }
        };
        Ok(Buffer {
            memory,
            bytes,
            device: self.clone(),
            is_register: true,
        })
    }

    fn registers(&self) -> MutexGuard<'_, Vec<Register>> {
        let registers = self.0.registers.0.lock();
        registers.unwrap_or_else(PoisonError::into_inner)
    }

    fn registered(&self, name: &str) -> Option<(Arc<Memory>, usize)> {
        let registers = self.registers();
        let mut known = registers.iter().filter(|(known, ..)| *known == name);
        known
            .next()
            .map(|(_, memory, bytes)| (Arc::clone(memory), *bytes))
    }

    /// New memory with these bytes, which are on their way before any later command.
    fn filled(&self, bytes: &[u8]) -> Result<Arc<Memory>> {
        self.alive()?;
        let size = bytes.len().max(1);
        let new = |kind| -> Result<Arc<Memory>> {
            let handle = self
                .0
                .driver
                .allocate(size, kind)
                .map_err(|error| match error {
                    GpuError::OutOfMemory { .. } => self.out_of_memory(size),
                    other => other,
                })?;
            Ok(Arc::new(Memory::new(size, kind, handle)))
        };
        let (memory, staging) = (new(MemoryKind::Device)?, new(MemoryKind::Host)?);
        self.0.driver.write(&staging, 0, bytes)?;
        let source = touch(&staging, 0..bytes.len(), Access::Read);
        let target = touch(&memory, 0..bytes.len(), Access::Write);
        let step = Step {
            barrier: false,
            command: Command::Copy { source, target },
        };
        // Not through the open batch, which may be a recording.
        let ticket = {
            let mut stream = self.own_stream();
            let ticket = self.0.driver.submit(&[step])?;
            stream.submitted_elsewhere(ticket);
            ticket
        };
        self.0.driver.wait(ticket)?;
        Ok(memory)
    }
}
