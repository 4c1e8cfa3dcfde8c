//! From text to machine code: NVRTC, which is loaded when something has to be compiled.

use super::nvrtc::{Nvrtc, nvrtc};
use super::{API, failed};
use crate::driver::Program;
use crate::{GpuError, Result};
use cudarc::driver::{CudaContext, result, sys};
use cudarc::nvrtc::sys::{nvrtcProgram, nvrtcResult};
use std::ffi::{CString, c_char};
use std::sync::Arc;

/// A loaded kernel.
pub(super) struct Module {
    module: sys::CUmodule,
    function: sys::CUfunction,
    context: Arc<CudaContext>,
}

// SAFETY: CUDA's modules and functions may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    pub(super) fn new(entry: &str, blob: &[u8], context: &Arc<CudaContext>) -> Result<Self> {
        // SAFETY: the blob is what NVRTC gave, whose checksum was right; the driver checks it.
        let module = unsafe { result::module::load_data(blob.as_ptr().cast()) }
            .map_err(failed("cuModuleLoadData"))?;
        let context = Arc::clone(context);
        let mut made = Self {
            module,
            function: std::ptr::null_mut(),
            context,
        };
        // SAFETY: the module was loaded above.
        made.function = unsafe { result::module::get_function(module, zero_ended(entry)?) }
            .map_err(failed("cuModuleGetFunction"))?;
        Ok(made)
    }

    pub(super) fn function(&self) -> sys::CUfunction {
        self.function
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: the module was loaded once, and is unloaded once.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

fn zero_ended(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| GpuError::Compile {
        api: API,
        kernel: text.chars().take(40).collect(),
        log: "a zero byte in the text".into(),
    })
}

/// Whether there is an NVRTC.
pub(in super::super) fn library() -> Result<()> {
    nvrtc().map(|_| ())
}

/// An NVRTC program, destroyed when dropped.
struct Text {
    program: nvrtcProgram,
    library: &'static Nvrtc,
}

impl Drop for Text {
    fn drop(&mut self) {
        // SAFETY: the program was created once, and is destroyed once.
        let _ = unsafe { (self.library.destroy_program)(&mut self.program) };
    }
}

/// Compiles for one architecture.
pub(in super::super) fn cubin(architecture: &str, program: &Program<'_>) -> Result<Vec<u8>> {
    let library = nvrtc()?;
    let wrong = |log: String| GpuError::Compile {
        api: API,
        kernel: program.entry.into(),
        log,
    };
    let check = |code: nvrtcResult, call: &str| match code {
        nvrtcResult::NVRTC_SUCCESS => Ok(()),
        code => Err(wrong(format!("{call}: {code:?}"))),
    };
    let text = zero_ended(program.text)?;
    let mut made = Text {
        program: std::ptr::null_mut(),
        library,
    };
    let (none, no_names) = (std::ptr::null(), std::ptr::null());
    let name = c"kernel.cu".as_ptr();
    // SAFETY: the text ends in a zero; there are no headers.
    let code = unsafe {
        (library.create_program)(&mut made.program, text.as_ptr(), name, 0, none, no_names)
    };
    check(code, "nvrtcCreateProgram")?;
    let mut options = vec![
        zero_ended(&format!("--gpu-architecture={architecture}"))?,
        zero_ended("--std=c++17")?,
        zero_ended("-default-device")?,
    ];
    if program.fast_math {
        options.push(zero_ended("--use_fast_math")?);
    }
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: as many options as are said, each ending in a zero.
    let code = unsafe {
        (library.compile_program)(made.program, pointers.len() as i32, pointers.as_ptr())
    };
    if code != nvrtcResult::NVRTC_SUCCESS {
        return Err(wrong(log(&made).unwrap_or_else(|| format!("{code:?}"))));
    }
    let mut bytes = 0;
    // SAFETY: writes one number.
    let code = unsafe { (library.cubin_size)(made.program, &mut bytes) };
    check(code, "nvrtcGetCUBINSize")?;
    let mut cubin = vec![0u8; bytes];
    // SAFETY: the buffer is as long as was asked for.
    let code = unsafe { (library.cubin)(made.program, cubin.as_mut_ptr().cast()) };
    check(code, "nvrtcGetCUBIN")?;
    Ok(cubin)
}

fn log(program: &Text) -> Option<String> {
    let mut bytes = 0;
    // SAFETY: writes one number.
    let code = unsafe { (program.library.log_size)(program.program, &mut bytes) };
    if code != nvrtcResult::NVRTC_SUCCESS {
        return None;
    }
    let mut log = vec![0u8; bytes];
    // SAFETY: the buffer is as long as was asked for.
    let code = unsafe { (program.library.log)(program.program, log.as_mut_ptr().cast()) };
    let text = String::from_utf8_lossy(&log);
    (code == nvrtcResult::NVRTC_SUCCESS).then(|| text.trim_end_matches(['\0', '\n']).to_string())
}
