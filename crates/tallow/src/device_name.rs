//! Devices by name, as programs take them from their users.

use crate::{Device, Error, Result};
use std::str::FromStr;

/// A device that is not open yet. Its text is `auto`, `cpu`, `cuda:0`, `metal:0`, `opencl:0` and
/// the like; a number that is left out is 0.
///
/// ```
/// use tallow::{Device, DeviceName};
///
/// let device = "cpu".parse::<DeviceName>()?.open()?;
/// assert_eq!(device, Device::Cpu);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceName {
    /// The first of a GPU through CUDA, one through Metal, and the processor.
    Auto,
    /// The processor.
    Cpu,
    /// The GPU of this number through CUDA.
    Cuda(usize),
    /// The GPU of this number through Metal.
    Metal(usize),
    /// The device of this number through OpenCL.
    OpenCl(usize),
}

impl FromStr for DeviceName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, number) = text.split_once(':').unwrap_or((text, "0"));
        let wrong = || {
            Error::Msg(format!(
                "device: {text:?}; wants auto, cpu, cuda:N, metal:N or opencl:N"
            ))
        };
        let number: usize = number.parse().map_err(|_| wrong())?;
        match (name, text.contains(':')) {
            ("auto", false) => Ok(Self::Auto),
            ("cpu", false) => Ok(Self::Cpu),
            ("cuda", _) => Ok(Self::Cuda(number)),
            ("metal", _) => Ok(Self::Metal(number)),
            ("opencl", _) => Ok(Self::OpenCl(number)),
            _ => Err(wrong()),
        }
    }
}

impl DeviceName {
    /// Opens the device. Errors if it is named and is not there.
    pub fn open(self) -> Result<Device> {
        match self {
            Self::Auto => match Device::cuda_if_available(0)? {
                Device::Cpu => Device::metal_if_available(0),
                device => Ok(device),
            },
            Self::Cpu => Ok(Device::Cpu),
            Self::Cuda(number) => Device::new_cuda(number),
            Self::Metal(number) => Device::new_metal(number),
            Self::OpenCl(number) => Device::new_opencl(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_numbers_and_junk_is_refused() {
        let parsed = |text: &str| text.parse::<DeviceName>().ok();
        assert_eq!(parsed("cuda:1"), Some(DeviceName::Cuda(1)));
        assert_eq!(parsed("opencl"), Some(DeviceName::OpenCl(0)));
        for junk in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:1", "auto:0"] {
            assert_eq!(parsed(junk), None, "{junk}");
        }
    }
}
