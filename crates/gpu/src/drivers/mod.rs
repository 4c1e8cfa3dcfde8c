//! The drivers, a folder or file each. A new one is a line in each of the two functions here.

#[cfg(not(target_arch = "wasm32"))]
mod cuda;
mod metal;
#[cfg(not(target_arch = "wasm32"))]
mod opencl;
#[cfg(not(target_arch = "wasm32"))]
mod paper;
pub mod sim;
pub(crate) mod watch;

use crate::{Api, Driver, Result};
use std::sync::Arc;

/// Opens the driver of a device.
pub fn open(api: Api, ordinal: usize) -> Result<Arc<dyn Driver>> {
    match api {
        #[cfg(not(target_arch = "wasm32"))]
        Api::OpenCl => opencl::open(ordinal),
        #[cfg(not(target_arch = "wasm32"))]
        Api::Cuda => cuda::open(ordinal),
        Api::Metal => metal::open(ordinal),
        #[cfg(target_arch = "wasm32")]
        Api::OpenCl | Api::Cuda => Err(no_libraries(api)),
    }
}

/// A CUDA device of an architecture (`sm_90a`) on paper: it compiles every kernel by NVRTC and runs
/// none. Errors where there is no NVRTC.
#[cfg(not(target_arch = "wasm32"))]
pub fn cuda_on_paper(architecture: &str) -> Result<Arc<dyn Driver>> {
    cuda::compile::library()?;
    let target = architecture.to_string();
    let compile =
        move |program: &crate::Program<'_>| cuda::compile::cubin(&target, program).map(|_| ());
    Ok(paper::paper(Api::Cuda, architecture, Box::new(compile)))
}

/// How many devices an interface has.
pub fn count(api: Api) -> Result<usize> {
    match api {
        #[cfg(not(target_arch = "wasm32"))]
        Api::OpenCl => opencl::count(),
        #[cfg(not(target_arch = "wasm32"))]
        Api::Cuda => cuda::count(),
        Api::Metal => metal::count(),
        #[cfg(target_arch = "wasm32")]
        Api::OpenCl | Api::Cuda => Err(no_libraries(api)),
    }
}

/// WebAssembly opens no libraries.
#[cfg(target_arch = "wasm32")]
fn no_libraries(api: Api) -> crate::GpuError {
    crate::GpuError::Missing {
        api,
        library: "its library",
        hint: "WebAssembly opens none",
    }
}
