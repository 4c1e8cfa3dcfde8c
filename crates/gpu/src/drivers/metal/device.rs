//! The driver: a queue, and the command buffers that are out.

use super::compile::{self, Pipeline};
use super::encode::{self, BytesKernels, Encoder};
use super::memory::{Block, Residency};
use crate::command::Step;
use crate::driver::{Api, DeviceInfo, Driver, Handle, Memory, MemoryKind, Program, Ticket};
use crate::{GpuError, Result};
use objc2::available;
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSProcessInfo;
use objc2_metal::{
    MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandQueue, MTLCopyAllDevices, MTLDevice,
    MTLFence, MTLGPUFamily, MTLResidencySetDescriptor,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub(super) const API: Api = Api::Metal;
/// Command buffers that may be out before the queue makes `submit` wait: more than the stream lets
/// out.
const COMMAND_BUFFERS_MAX: usize = 128;
/// Metal does not tell how many cores there are; the smallest of Apple's has seven.
const UNITS: u32 = 8;

pub(super) type Id<T> = Retained<ProtocolObject<T>>;

// Without this framework Metal shows a command-line program no device.
#[link(name = "CoreGraphics", kind = "framework")]
unsafe extern "C" {}

struct Metal {
    info: DeviceInfo,
    device: Id<dyn MTLDevice>,
    queue: Id<dyn MTLCommandQueue>,
    fence: Id<dyn MTLFence>,
    residency: Option<Arc<Residency>>,
    bytes: OnceLock<Result<BytesKernels>>,
    state: Mutex<State>,
}

/// A command buffer that was committed.
struct Committed(Id<dyn MTLCommandBuffer>);

// SAFETY: after its commit, a command buffer is only asked for its state and waited for, which any
// thread may do.
unsafe impl Send for Committed {}
// SAFETY: as above.
unsafe impl Sync for Committed {}

#[derive(Default)]
struct State {
    next: Ticket,
    done: Ticket,
    pending: VecDeque<(Ticket, Arc<Committed>)>,
    lost: Option<String>,
}

pub(super) fn failed(call: &'static str, what: &str) -> GpuError {
    GpuError::Driver {
        api: API,
        call,
        what: what.into(),
    }
}

pub(in super::super) fn count() -> Result<usize> {
    autoreleasepool(|_| Ok(MTLCopyAllDevices().len()))
}

pub(in super::super) fn open(ordinal: usize) -> Result<Arc<dyn Driver>> {
    autoreleasepool(|_| {
        let devices = MTLCopyAllDevices();
        let count = devices.len();
        if ordinal >= count {
            return Err(GpuError::NoDevice {
                api: API,
                ordinal,
                count,
            });
        }
        let device = devices.objectAtIndex(ordinal);
        let queue = device
            .newCommandQueueWithMaxCommandBufferCount(COMMAND_BUFFERS_MAX)
            .ok_or_else(|| failed("newCommandQueue", "there is none"))?;
        let fence = device
            .newFence()
            .ok_or_else(|| failed("newFence", "there is none"))?;
        let residency = match available!(macos = 15.0) {
            true => {
                let set = device
                    .newResidencySetWithDescriptor_error(&MTLResidencySetDescriptor::new())
                    .map_err(|error| {
                        let what = error.localizedDescription().to_string();
                        failed("newResidencySet", &what)
                    })?;
                queue.addResidencySet(&set);
                Some(Arc::new(Residency::new(set)))
            }
            false => None,
        };
        Ok(Arc::new(Metal {
            info: describe(&device, ordinal),
            device,
            queue,
            fence,
            residency,
            bytes: OnceLock::new(),
            state: Mutex::default(),
        }) as Arc<dyn Driver>)
    })
}

fn describe(device: &ProtocolObject<dyn MTLDevice>, ordinal: usize) -> DeviceInfo {
    let system = NSProcessInfo::processInfo()
        .operatingSystemVersionString()
        .to_string();
    let name = device.name().to_string();
    let small = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    DeviceInfo {
        api: API,
        ordinal,
        fingerprint: format!("{name}|{system}"),
        name,
        compiler: format!("Metal of macOS {system}"),
        defines: String::new(),
        memory_bytes: device.recommendedMaxWorkingSetSize(),
        buffer_bytes_max: device.maxBufferLength() as u64,
        shared_bytes: small(device.maxThreadgroupMemoryLength()),
        group_max: small(device.maxThreadsPerThreadgroup().width),
        units: UNITS,
        unified_memory: device.hasUnifiedMemory(),
        has_f64: false,
        in_order: false,
        tensor_cores: false,
        simdgroup_matrices: device.supportsFamily(MTLGPUFamily::Apple7),
    }
}

impl Metal {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes(&self) -> Result<&BytesKernels> {
        let make = || encode::bytes_kernels(|program| compile::pipeline(&self.device, program));
        self.bytes.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    /// Notes what is done. A command buffer that failed is the end of the device for us: what it
    /// should have written is missing.
    fn poll(&self, state: &mut State) -> Result<()> {
        while let Some((ticket, committed)) = state.pending.front() {
            match committed.0.status() {
                MTLCommandBufferStatus::Completed => {
                    state.done = *ticket;
                    state.pending.pop_front();
                }
                MTLCommandBufferStatus::Error => {
                    let error = committed.0.error();
                    let words = error.map(|error| error.localizedDescription().to_string());
                    state.lost = Some(words.unwrap_or_else(|| "a command buffer failed".into()));
                    state.pending.clear();
                }
                _ => break,
            }
        }
        match &state.lost {
            Some(what) => Err(GpuError::Lost {
                api: API,
                what: what.clone(),
            }),
            None => Ok(()),
        }
    }
}

impl Driver for Metal {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: usize, kind: MemoryKind) -> Result<Handle> {
        autoreleasepool(|_| {
            let block = Block::new(&self.device, bytes, kind, self.residency.as_ref())?;
            Ok(Box::new(block) as Handle)
        })
    }

    fn compile(&self, program: &Program<'_>) -> Result<(Handle, Option<Vec<u8>>)> {
        autoreleasepool(|_| {
            let pipeline: Pipeline = compile::pipeline(&self.device, program)?;
            Ok((Box::new(pipeline) as Handle, None))
        })
    }

    fn load(&self, _program: &Program<'_>, _blob: &[u8]) -> Result<Handle> {
        Err(failed("load", "Metal gives no compiled form of a kernel"))
    }

    fn submit(&self, batch: &[Step]) -> Result<Ticket> {
        autoreleasepool(|_| {
            let commands = self
                .queue
                .commandBuffer()
                .ok_or_else(|| failed("commandBuffer", "there is none"))?;
            let bytes = || self.bytes();
            let mut encoder = Encoder::new(&commands, &self.fence, &bytes);
            batch.iter().try_for_each(|step| encoder.step(step))?;
            drop(encoder);
            commands.commit();
            let mut state = self.state();
            state.next += 1;
            let ticket = state.next;
            state
                .pending
                .push_back((ticket, Arc::new(Committed(commands))));
            Ok(ticket)
        })
    }

    fn completed(&self) -> Result<Ticket> {
        autoreleasepool(|_| {
            let mut state = self.state();
            self.poll(&mut state)?;
            Ok(state.done)
        })
    }

    fn wait(&self, ticket: Ticket) -> Result<()> {
        autoreleasepool(|_| {
            let committed = {
                let state = self.state();
                let at_most = |(at, _): &&(Ticket, Arc<Committed>)| *at <= ticket;
                state
                    .pending
                    .iter()
                    .rev()
                    .find(at_most)
                    .map(|(_, one)| Arc::clone(one))
            };
            if let Some(committed) = committed {
                committed.0.waitUntilCompleted();
            }
            self.poll(&mut self.state())
        })
    }

    fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        memory.handle::<Block>().write(offset, bytes)
    }

    fn read(&self, memory: &Memory, offset: usize, bytes: &mut [u8]) -> Result<()> {
        memory.handle::<Block>().read(offset, bytes)
    }

    fn free_bytes(&self) -> Option<u64> {
        let used = self.device.currentAllocatedSize() as u64;
        Some(self.info.memory_bytes.saturating_sub(used))
    }
}
