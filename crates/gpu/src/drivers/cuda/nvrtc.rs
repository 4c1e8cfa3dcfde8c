//! NVRTC. It is no part of NVIDIA's driver, so it is looked for (`find`) when something has to be
//! compiled, once in a process: the file that `TALLOW_NVRTC` names, and no other if it is set; else
//! what the system, the toolkit or the pip package nvidia-cuda-nvrtc has.

use super::{API, find};
use crate::{GpuError, Result};
use cudarc::nvrtc::sys::{nvrtcProgram, nvrtcResult};
use libloading::Library;
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

/// Names of the library, the newest first.
const NAMES: &[&str] = &[
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so",
    "nvrtc64_130_0.dll",
];
/// Where the pip packages for CUDA 13 and 12 put it, below `site-packages`.
const PIP_FOLDERS: &[&str] = &["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];

type Names = *const *const c_char;

/// The calls of NVRTC, of one library that stays open until the process ends.
pub(super) struct Nvrtc {
    pub(super) create_program: unsafe extern "C" fn(
        *mut nvrtcProgram,
        *const c_char,
        *const c_char,
        c_int,
        Names,
        Names,
    ) -> nvrtcResult,
    pub(super) compile_program: unsafe extern "C" fn(nvrtcProgram, c_int, Names) -> nvrtcResult,
    pub(super) destroy_program: unsafe extern "C" fn(*mut nvrtcProgram) -> nvrtcResult,
    pub(super) cubin_size: unsafe extern "C" fn(nvrtcProgram, *mut usize) -> nvrtcResult,
    pub(super) cubin: unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> nvrtcResult,
    pub(super) log_size: unsafe extern "C" fn(nvrtcProgram, *mut usize) -> nvrtcResult,
    pub(super) log: unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> nvrtcResult,
    _library: Library,
}

/// NVRTC, opened at the first call.
pub(super) fn nvrtc() -> Result<&'static Nvrtc> {
    static OPENED: OnceLock<Result<Nvrtc>> = OnceLock::new();
    OPENED.get_or_init(look).as_ref().map_err(Clone::clone)
}

fn look() -> Result<Nvrtc> {
    if let Some(path) = std::env::var_os("TALLOW_NVRTC") {
        return open(&path).ok_or_else(|| GpuError::Setting {
            variable: "TALLOW_NVRTC",
            value: path.to_string_lossy().into_owned(),
            want: "the path of an NVRTC library that can be opened",
        });
    }
    find::places(NAMES, PIP_FOLDERS)
        .find_map(|name| open(&name))
        .ok_or(GpuError::Missing {
            api: API,
            library: "libnvrtc.so",
            hint: "it comes with the CUDA toolkit and with the pip package nvidia-cuda-nvrtc; \
               TALLOW_NVRTC names its path",
        })
}

/// A library with all of NVRTC's calls; `None` if it is not there, or is another.
fn open(name: &std::ffi::OsStr) -> Option<Nvrtc> {
    // SAFETY: NVRTC's initialisers do nothing but set the library up.
    let library = unsafe { Library::new(name) }.ok()?;
    Some(Nvrtc {
        create_program: find::call(&library, c"nvrtcCreateProgram")?,
        compile_program: find::call(&library, c"nvrtcCompileProgram")?,
        destroy_program: find::call(&library, c"nvrtcDestroyProgram")?,
        cubin_size: find::call(&library, c"nvrtcGetCUBINSize")?,
        cubin: find::call(&library, c"nvrtcGetCUBIN")?,
        log_size: find::call(&library, c"nvrtcGetProgramLogSize")?,
        log: find::call(&library, c"nvrtcGetProgramLog")?,
        _library: library,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;
    use crate::drivers::cuda::compile::cubin;

    #[test]
    #[allow(clippy::print_stdout)] // a skipped test says so
    fn kernels_compile_for_both_architectures_and_faults_are_told() {
        if let Err(error) = nvrtc() {
            println!("skipped: {error}");
            return;
        }
        let text = "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2.0f; }";
        let program = Program {
            entry: "twice",
            text,
            group: 32,
            fast_math: false,
        };
        for architecture in ["sm_80", "sm_90a"] {
            let made = cubin(architecture, &program).expect("it compiles");
            assert!(made.starts_with(b"\x7fELF"), "{architecture}");
        }
        let wrong = Program {
            text: "extern \"C\" __global__ void twice() { nothing; }",
            ..program
        };
        match cubin("sm_80", &wrong) {
            Err(GpuError::Compile { log, .. }) => assert!(log.contains("nothing"), "{log}"),
            other => panic!("{other:?}"),
        }
    }
}
