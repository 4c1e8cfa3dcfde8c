//! The drivers, a folder or file each. A new one is a line in each of the two functions here.

#[cfg(not(target_arch = "wasm32"))]
mod cuda;
mod metal;
#[cfg(not(target_arch = "wasm32"))]
mod opencl;
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
        move |program: &crate::Program<'_>| cuda::compile::cubin(&target, program).map(Some);
    Ok(paper::paper(Api::Cuda, architecture, Box::new(compile)))
}

/// There is no NVRTC.
#[cfg(target_arch = "wasm32")]
pub fn cuda_on_paper(_: &str) -> Result<Arc<dyn Driver>> {
    Err(no_libraries(Api::Cuda))
}

/// The same, without a compiler: a plan for a CUDA architecture.
pub fn cuda_plan(architecture: &str) -> Arc<dyn Driver> {
    paper::paper(Api::Cuda, architecture, Box::new(|_| Ok(None)))
}

/// A device on paper whose kernels go through a check of one's own.
pub fn checked_on_paper(
    api: Api,
    target: &str,
    check: impl Fn(&crate::Program<'_>) -> Result<()> + Send + Sync + 'static,
) -> Arc<dyn Driver> {
    paper::paper(
        api,
        target,
        Box::new(move |program| check(program).map(|()| None)),
    )
}

/// A device with the properties of another, on paper: it notes which kernels it is asked for
/// ([`GpuDevice::asked`](crate::GpuDevice::asked)), and neither compiles nor runs any.
pub fn plan(info: crate::DeviceInfo) -> Arc<dyn Driver> {
    paper::plan(info)
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
