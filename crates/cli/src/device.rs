//! `--device`: where a model runs.

use std::str::FromStr;

use tallow::{Device, GpuDevice};

use crate::error::{Error, Result};

/// The argument of the commands that run a model.
#[derive(Debug, clap::Args)]
pub(crate) struct DeviceArgument {
    /// Where the model runs: auto, cpu, or cuda:0, metal:0, opencl:0 and the like.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: DeviceName,
}

/// A device's name in an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceName {
    Auto,
    Cpu,
    Cuda(usize),
    Metal(usize),
    OpenCl(usize),
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once(':').unwrap_or((text, "0"));
        let wrong = || format!("want auto, cpu, cuda:N, metal:N or opencl:N, not {text:?}");
        let number: usize = number.parse().map_err(|_| wrong())?;
        match name {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(number)),
            "metal" => Ok(Self::Metal(number)),
            "opencl" => Ok(Self::OpenCl(number)),
            _ => Err(wrong()),
        }
    }
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
        self.device.open()
    }
}

impl DeviceName {
    /// Opens the device.
    pub(crate) fn open(self) -> Result<Device> {
        Ok(match self {
            Self::Auto => match Device::cuda_if_available(0)? {
                Device::Cpu => Device::metal_if_available(0)?,
                device => device,
            },
            Self::Cpu => Device::Cpu,
            Self::Cuda(number) => Device::new_cuda(number)?,
            Self::Metal(number) => Device::new_metal(number)?,
            Self::OpenCl(number) => Device::new_opencl(number)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_numbers_and_junk_is_refused() {
        assert_eq!("cuda:1".parse(), Ok(DeviceName::Cuda(1)));
        assert_eq!("opencl".parse(), Ok(DeviceName::OpenCl(0)));
        for junk in ["", "gpu", "cuda:", "cuda:x", "cuda:-1"] {
            assert!(junk.parse::<DeviceName>().is_err(), "{junk}");
        }
    }
}
