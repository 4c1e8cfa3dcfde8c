//! The drivers, a folder or file each. A new one is a line in each of the two functions here.

mod cuda;
mod metal;
mod opencl;
mod paper;
pub mod sim;
pub(crate) mod watch;

use crate::{Api, Driver, Result};
use std::sync::Arc;

/// Opens the driver of a device.
pub fn open(api: Api, ordinal: usize) -> Result<Arc<dyn Driver>> {
    match api {
        Api::OpenCl => opencl::open(ordinal),
        Api::Cuda => cuda::open(ordinal),
        Api::Metal => metal::open(ordinal),
    }
}

/// A CUDA device of an architecture (`sm_90a`) on paper: it compiles every kernel by NVRTC and runs
/// none. Errors where there is no NVRTC.
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
        Api::OpenCl => opencl::count(),
        Api::Cuda => cuda::count(),
        Api::Metal => metal::count(),
    }
}
