//! A launch: its arguments laid out as the driver takes them, without a heap allocation.

use super::compile::Module;
use super::memory::pointer;
use super::{API, failed};
use crate::command::Launch;
use crate::{GpuError, Result};
use cudarc::driver::sys;
use std::ffi::c_void;

/// Buffers of a kernel at most.
pub(super) const BUFFERS_MAX: usize = 16;
/// Bytes of a parameter struct at most, in words of the alignment that any struct may want.
const PARAM_WORDS: usize = 64;

/// The values of a kernel's arguments, and where each lies.
pub(super) struct Arguments {
    pub(super) buffers: [u64; BUFFERS_MAX],
    params: [u128; PARAM_WORDS],
    places: [*mut c_void; BUFFERS_MAX + 1],
}

impl Arguments {
    pub(super) fn new() -> Self {
        let places = [std::ptr::null_mut(); BUFFERS_MAX + 1];
        Self {
            buffers: [0; BUFFERS_MAX],
            params: [0; PARAM_WORDS],
            places,
        }
    }

    /// Takes a launch's values, and points at them.
    pub(super) fn set(&mut self, launch: &Launch) -> Result<*mut *mut c_void> {
        let (count, bytes) = (launch.buffers.len(), launch.params.len());
        if count > BUFFERS_MAX || bytes > size_of_val(&self.params) {
            return Err(GpuError::Launch {
                kernel: launch.kernel.name().into(),
                what: format!("{count} buffers and {bytes} bytes of parameters are too many"),
            });
        }
        for (at, used) in launch.buffers.iter().enumerate() {
            self.buffers[at] = pointer(&used.memory);
            self.places[at] = (&raw mut self.buffers[at]).cast();
        }
        bytemuck::cast_slice_mut(&mut self.params)[..bytes].copy_from_slice(&launch.params);
        self.places[count] = self.params.as_mut_ptr().cast();
        Ok(self.places.as_mut_ptr())
    }
}

pub(super) fn function(launch: &Launch) -> sys::CUfunction {
    launch.kernel.handle::<Module>().function()
}

/// Puts a launch on a stream. With `overlap` it may start while its forerunner ends, if the kernel
/// waits itself.
pub(super) fn launch(launch: &Launch, stream: sys::CUstream, overlap: bool) -> Result<()> {
    let mut arguments = Arguments::new();
    let places = arguments.set(launch)?;
    let [x, y, z] = launch.groups;
    let mut attribute = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue {
            programmaticStreamSerializationAllowed: 1,
        },
    };
    let config = sys::CUlaunchConfig {
        gridDimX: x,
        gridDimY: y,
        gridDimZ: z,
        blockDimX: launch.kernel.group(),
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: stream,
        attrs: &raw mut attribute,
        numAttrs: u32::from(overlap && launch.kernel.overlaps_start()),
    };
    let none = std::ptr::null_mut();
    // SAFETY: the arguments are those of the kernel's text, in its order and sizes, and the memory
    // that they name is held until the batch is done.
    let code = unsafe { sys::cuLaunchKernelEx(&raw const config, function(launch), places, none) };
    code.result().map_err(|error| match error.0 {
        sys::CUresult::CUDA_ERROR_INVALID_VALUE => GpuError::Launch {
            kernel: launch.kernel.name().into(),
            what: format!("{} refuses a grid of {:?} groups", API, launch.groups),
        },
        _ => failed("cuLaunchKernelEx")(error),
    })
}
