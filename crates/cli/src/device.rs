//! `--device`: where a model runs.

use tallow::{Device, DeviceName, GpuDevice};

use crate::error::{Error, Result};

/// The argument of the commands that run a model.
#[derive(Debug, clap::Args)]
pub(crate) struct DeviceArgument {
    /// Where the model runs: auto, cpu, or cuda:0, metal:0, opencl:0 and the like.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: DeviceName,
}

/// The argument of the commands that measure a GPU.
#[derive(Debug, clap::Args)]
pub(crate) struct GpuArgument {
    /// Which GPU: auto, or cuda:0, metal:0, opencl:0 and the like.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceName,
}

impl GpuArgument {
    /// Opens the GPU; `auto` is the first of CUDA, Metal and OpenCL that is there.
    pub(crate) fn open(&self) -> Result<GpuDevice> {
        let device = match self.device {
            DeviceName::Auto => match self.device.open()? {
                Device::Cpu => Device::new_opencl(0)?,
                device => device,
            },
            name => name.open()?,
        };
        match device.gpu() {
            Some(gpu) => Ok(gpu.clone()),
            None => Err(Error::text(
                "--device: wants a GPU; `tallow devices` lists them",
            )),
        }
    }
}

impl DeviceArgument {
    /// Opens the device.
    pub(crate) fn open(&self) -> Result<Device> {
        Ok(self.device.open()?)
    }
}
