//! A batch as one command buffer.
//!
//! At most one encoder is open. Buffers are untracked, so each encoder first waits for the fence
//! that the one before it updates at its end: all of an encoder comes after all of the last. Within
//! a compute encoder launches overlap up to a memory barrier. Within a blit encoder nothing is said
//! to be ordered, so a step with a barrier opens a new one.
//!
//! Blits want multiples of 4 bytes; other copies and fills go through kernels of their own.

use super::compile::Pipeline;
use super::device::{API, Id, failed};
use super::memory::buffer;
use crate::command::{Command, Launch, Step, Use};
use crate::{GpuError, Result};
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSRange;
use objc2_metal::{
    MTLBarrierScope, MTLBlitCommandEncoder, MTLCommandBuffer, MTLCommandEncoder,
    MTLComputeCommandEncoder, MTLDispatchType, MTLFence, MTLSize,
};
use std::ptr::NonNull;

/// Places for buffers in a kernel's list of arguments.
const PLACES: usize = 31;
/// What may be passed by value.
const PARAM_BYTES_MAX: usize = 4096;
/// What stands for the parameters of a kernel that has none.
const NO_PARAMS: [u8; 16] = [0; 16];
/// Threads in a group of the kernels for bytes, and groups at most.
const BYTES_GROUP: usize = 256;
const BYTES_GROUPS_MAX: usize = 1024;

/// Copies and fills of any bytes.
pub(super) const BYTES_TEXT: &str = "
#include <metal_stdlib>
using namespace metal;
struct Bytes { ulong from; ulong to; ulong count; ulong value; };
kernel void tallow_copy_bytes(device const uchar *x [[buffer(0)]], device uchar *y [[buffer(1)]],
    constant Bytes &p [[buffer(2)]], uint at [[thread_position_in_grid]],
    uint all [[threads_per_grid]]) {
    for (ulong i = at; i < p.count; i += all) y[p.to + i] = x[p.from + i];
}
kernel void tallow_fill_bytes(device uchar *y [[buffer(0)]], constant Bytes &p [[buffer(1)]],
    uint at [[thread_position_in_grid]], uint all [[threads_per_grid]]) {
    for (ulong i = at; i < p.count; i += all) y[p.to + i] = (uchar)p.value;
}
";

/// The kernels of [`BYTES_TEXT`].
pub(super) struct BytesKernels {
    pub(super) copy: Pipeline,
    pub(super) fill: Pipeline,
}

enum Open {
    Nothing,
    Compute(Id<dyn MTLComputeCommandEncoder>),
    Blit(Id<dyn MTLBlitCommandEncoder>),
}

pub(super) struct Encoder<'a> {
    commands: &'a ProtocolObject<dyn MTLCommandBuffer>,
    fence: &'a ProtocolObject<dyn MTLFence>,
    /// Gives the kernels for bytes, compiled when they are first needed.
    bytes: &'a dyn Fn() -> Result<&'a BytesKernels>,
    open: Open,
}

fn length(used: &Use) -> usize {
    (used.range.end - used.range.start) as usize
}

/// Whether a blit takes it.
fn is_aligned(used: &Use) -> bool {
    (used.range.start | used.range.end).is_multiple_of(4)
}

fn size(width: usize, height: usize, depth: usize) -> MTLSize {
    MTLSize {
        width,
        height,
        depth,
    }
}

impl<'a> Encoder<'a> {
    pub(super) fn new(
        commands: &'a ProtocolObject<dyn MTLCommandBuffer>,
        fence: &'a ProtocolObject<dyn MTLFence>,
        bytes: &'a dyn Fn() -> Result<&'a BytesKernels>,
    ) -> Self {
        Self {
            commands,
            fence,
            bytes,
            open: Open::Nothing,
        }
    }

    pub(super) fn step(&mut self, step: &Step) -> Result<()> {
        match &step.command {
            Command::Launch(launch) => self.launch(launch, step.barrier),
            Command::Copy { source, target } if is_aligned(source) && is_aligned(target) => {
                let (from, to) = (source.range.start as usize, target.range.start as usize);
                let blit = self.blit(step.barrier)?;
                let (x, y) = (buffer(&source.memory), buffer(&target.memory));
                let bytes = length(source);
                // SAFETY: the runtime checked that both ranges lie in their buffers.
                unsafe {
                    blit.copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size(
                        x, from, y, to, bytes,
                    );
                }
                Ok(())
            }
            Command::Fill { target, value } if is_aligned(target) => {
                let range = NSRange::new(target.range.start as usize, length(target));
                let blit = self.blit(step.barrier)?;
                blit.fillBuffer_range_value(buffer(&target.memory), range, *value);
                Ok(())
            }
            Command::Copy { source, target } => {
                let words = [
                    source.range.start,
                    target.range.start,
                    length(source) as u64,
                    0,
                ];
                let pipeline = &(self.bytes)()?.copy;
                self.any_bytes(pipeline, &[source, target], words, step.barrier)
            }
            Command::Fill { target, value } => {
                let words = [
                    0,
                    target.range.start,
                    length(target) as u64,
                    u64::from(*value),
                ];
                let pipeline = &(self.bytes)()?.fill;
                self.any_bytes(pipeline, &[target], words, step.barrier)
            }
        }
    }

    fn launch(&mut self, launch: &Launch, barrier: bool) -> Result<()> {
        let pipeline = launch.kernel.handle::<Pipeline>();
        let wrong = |what: String| GpuError::Launch {
            kernel: launch.kernel.name().into(),
            what,
        };
        let (count, bytes) = (launch.buffers.len(), launch.params.len());
        if count >= PLACES || bytes > PARAM_BYTES_MAX {
            return Err(wrong(format!(
                "{count} buffers and {bytes} bytes of parameters are too many"
            )));
        }
        let params = if bytes == 0 {
            &NO_PARAMS[..]
        } else {
            &launch.params[..]
        };
        let uses: smallvec::SmallVec<[&Use; 4]> = launch.buffers.iter().collect();
        let groups = launch.groups.map(|groups| groups as usize);
        let group = launch.kernel.group() as usize;
        self.dispatch(pipeline, &uses, params, (groups, group), barrier)
    }

    fn any_bytes(
        &mut self,
        pipeline: &Pipeline,
        uses: &[&Use],
        words: [u64; 4],
        barrier: bool,
    ) -> Result<()> {
        let count = usize::try_from(words[2]).unwrap_or(usize::MAX);
        let groups = count.div_ceil(BYTES_GROUP).clamp(1, BYTES_GROUPS_MAX);
        let grid = ([groups, 1, 1], BYTES_GROUP);
        self.dispatch(pipeline, uses, bytemuck::bytes_of(&words), grid, barrier)
    }

    /// Encodes a launch: groups along three dimensions, and threads in a group.
    fn dispatch(
        &mut self,
        pipeline: &Pipeline,
        uses: &[&Use],
        params: &[u8],
        (groups, group): ([usize; 3], usize),
        barrier: bool,
    ) -> Result<()> {
        if groups.contains(&0) {
            return Ok(());
        }
        let compute = self.compute(barrier)?;
        compute.setComputePipelineState(&pipeline.0);
        for (at, used) in uses.iter().enumerate() {
            // SAFETY: the place is below the limit, which `launch` checked; offsets are in params.
            unsafe { compute.setBuffer_offset_atIndex(Some(buffer(&used.memory)), 0, at) };
        }
        let at = NonNull::from(params).cast();
        // SAFETY: as many bytes as are said, which the call copies.
        unsafe { compute.setBytes_length_atIndex(at, params.len(), uses.len()) };
        let groups = size(groups[0], groups[1], groups[2]);
        compute.dispatchThreadgroups_threadsPerThreadgroup(groups, size(group, 1, 1));
        Ok(())
    }

    /// The open compute encoder, behind a barrier if one is asked for.
    fn compute(&mut self, barrier: bool) -> Result<&ProtocolObject<dyn MTLComputeCommandEncoder>> {
        if let Open::Compute(open) = &self.open {
            if barrier {
                open.memoryBarrierWithScope(MTLBarrierScope::Buffers);
            }
        } else {
            self.end();
            let kind = MTLDispatchType::Concurrent;
            let open = self
                .commands
                .computeCommandEncoderWithDispatchType(kind)
                .ok_or_else(|| failed("computeCommandEncoder", "there is none"))?;
            open.waitForFence(self.fence);
            self.open = Open::Compute(open);
        }
        match &self.open {
            Open::Compute(open) => Ok(open),
            Open::Nothing | Open::Blit(_) => Err(failed("computeCommandEncoder", "it is closed")),
        }
    }

    /// The open blit encoder; a new one if a barrier is asked for.
    fn blit(&mut self, barrier: bool) -> Result<&ProtocolObject<dyn MTLBlitCommandEncoder>> {
        if barrier || !matches!(self.open, Open::Blit(_)) {
            self.end();
            let open = self
                .commands
                .blitCommandEncoder()
                .ok_or_else(|| failed("blitCommandEncoder", "there is none"))?;
            open.waitForFence(self.fence);
            self.open = Open::Blit(open);
        }
        match &self.open {
            Open::Blit(open) => Ok(open),
            Open::Nothing | Open::Compute(_) => Err(failed("blitCommandEncoder", "it is closed")),
        }
    }

    fn end(&mut self) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Compute(open) => {
                open.updateFence(self.fence);
                open.endEncoding();
            }
            Open::Blit(open) => {
                open.updateFence(self.fence);
                open.endEncoding();
            }
        }
    }
}

impl Drop for Encoder<'_> {
    fn drop(&mut self) {
        // Metal aborts the process if an encoder is let go of that was not ended.
        self.end();
    }
}

/// Compiles the kernels for bytes.
pub(super) fn bytes_kernels(
    compile: impl Fn(&crate::Program<'_>) -> Result<Pipeline>,
) -> Result<BytesKernels> {
    let made = |entry| {
        let (text, group) = (BYTES_TEXT, BYTES_GROUP as u32);
        compile(&crate::Program {
            entry,
            text,
            group,
            fast_math: false,
        })
    };
    tracing::debug!(target: "tallow::kernels", api = %API, "kernels for odd bytes");
    Ok(BytesKernels {
        copy: made("tallow_copy_bytes")?,
        fill: made("tallow_fill_bytes")?,
    })
}
