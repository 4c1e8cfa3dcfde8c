//! Where NVRTC is. It is no part of NVIDIA's driver, so it is looked for when something has to be
//! compiled, once in a process.
//!
//! In this order: the file that `TALLOW_NVRTC` names, and no other if it is set; the system's
//! library folders; the CUDA toolkit (`CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`); the pip package
//! nvidia-cuda-nvrtc of the virtual environment or conda environment at hand.

use super::API;
use crate::{GpuError, Result};
use cudarc::nvrtc::sys::{nvrtcProgram, nvrtcResult};
use libloading::Library;
use std::ffi::{OsString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Names of the library, the newest first.
const NAMES: [&str; 4] = [
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so",
    "nvrtc64_130_0.dll",
];
/// Where the pip packages for CUDA 13 and 12 put it, below `site-packages`.
const PIP_FOLDERS: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];

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
    OPENED.get_or_init(find).as_ref().map_err(Clone::clone)
}

fn find() -> Result<Nvrtc> {
    if let Some(path) = std::env::var_os("TALLOW_NVRTC") {
        return open(&path).ok_or_else(|| GpuError::Setting {
            variable: "TALLOW_NVRTC",
            value: path.to_string_lossy().into_owned(),
            want: "the path of an NVRTC library that can be opened",
        });
    }
    let system = NAMES.iter().map(|name| OsString::from(*name));
    let folders = toolkits()
        .into_iter()
        .chain(environments().into_iter().flat_map(|at| pip(&at)));
    let files = folders.flat_map(|folder| NAMES.map(|name| folder.join(name).into_os_string()));
    system
        .chain(files)
        .find_map(|name| open(&name))
        .ok_or(GpuError::Missing {
            api: API,
            library: "libnvrtc.so",
            hint: "it comes with the CUDA toolkit and with the pip package nvidia-cuda-nvrtc; \
               TALLOW_NVRTC names its path",
        })
}

/// The folders that these variables name.
fn named(variables: &[&str]) -> Vec<PathBuf> {
    variables
        .iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from)
        .collect()
}

fn toolkits() -> Vec<PathBuf> {
    let mut roots = named(&["CUDA_HOME", "CUDA_PATH"]);
    roots.push("/usr/local/cuda".into());
    roots
        .iter()
        .flat_map(|root| ["lib64", "lib", "bin"].map(|folder| root.join(folder)))
        .collect()
}

fn environments() -> Vec<PathBuf> {
    named(&["VIRTUAL_ENV", "CONDA_PREFIX"])
}

/// The folders of the pip package in a Python environment.
fn pip(environment: &Path) -> Vec<PathBuf> {
    let Ok(versions) = std::fs::read_dir(environment.join("lib")) else {
        return Vec::new();
    };
    let packages = versions
        .flatten()
        .map(|version| version.path().join("site-packages"));
    packages
        .flat_map(|packages| PIP_FOLDERS.map(|folder| packages.join(folder)))
        .collect()
}

/// A library with all of NVRTC's calls; `None` if it is not there, or is another.
fn open(name: &std::ffi::OsStr) -> Option<Nvrtc> {
    // SAFETY: NVRTC's initialisers do nothing but set the library up.
    let library = unsafe { Library::new(name) }.ok()?;
    Some(Nvrtc {
        create_program: call(&library, c"nvrtcCreateProgram")?,
        compile_program: call(&library, c"nvrtcCompileProgram")?,
        destroy_program: call(&library, c"nvrtcDestroyProgram")?,
        cubin_size: call(&library, c"nvrtcGetCUBINSize")?,
        cubin: call(&library, c"nvrtcGetCUBIN")?,
        log_size: call(&library, c"nvrtcGetProgramLogSize")?,
        log: call(&library, c"nvrtcGetProgramLog")?,
        _library: library,
    })
}

fn call<F: Copy>(library: &Library, name: &std::ffi::CStr) -> Option<F> {
    // SAFETY: the fields of `Nvrtc` have the types that NVRTC's header gives its functions.
    unsafe { library.get::<F>(name.to_bytes_with_nul()) }
        .ok()
        .map(|function| *function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;
    use crate::drivers::cuda::compile::cubin;

    #[test]
    fn a_python_environment_is_searched_in_both_layouts() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("lib/python3.12")).expect("a folder");
        let packages = folder.path().join("lib/python3.12/site-packages/nvidia");
        let want = ["cu13/lib", "cuda_nvrtc/lib"].map(|below| packages.join(below));
        assert_eq!(pip(folder.path()), want);
        assert!(pip(&folder.path().join("none")).is_empty());
    }

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
