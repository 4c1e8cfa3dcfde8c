//! `--device`: where a model runs.

use std::str::FromStr;

use tallow::Device;

use crate::error::Result;

/// The argument of the commands that run a model.
#[derive(Debug, clap::Args)]
pub(crate) struct DeviceArgument {
    /// Where the model runs: auto, cpu, or cuda:0, metal:0, opencl:0 and the like.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: DeviceName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeviceName {
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

impl DeviceArgument {
    /// Opens the device.
    pub(crate) fn open(&self) -> Result<Device> {
        Ok(match self.device {
            DeviceName::Auto => match Device::cuda_if_available(0)? {
                Device::Cpu => Device::metal_if_available(0)?,
                device => device,
            },
            DeviceName::Cpu => Device::Cpu,
            DeviceName::Cuda(number) => Device::new_cuda(number)?,
            DeviceName::Metal(number) => Device::new_metal(number)?,
            DeviceName::OpenCl(number) => Device::new_opencl(number)?,
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
