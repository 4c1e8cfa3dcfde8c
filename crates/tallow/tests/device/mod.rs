//! The GPU that tests run on. `TALLOW_TEST_DEVICE` names it: `opencl:0`, which is also the default,
//! `cuda:0`, `metal:0`.

use tallow::{Device, Error, Result};

/// The device; `None` on a machine without one, which is then said.
#[allow(clippy::print_stdout)] // says why nothing is compared
pub(crate) fn device() -> Result<Option<Device>> {
    let name = std::env::var("TALLOW_TEST_DEVICE");
    let opened = match name.as_deref() {
        Ok("cuda:0") => Device::new_cuda(0),
        Ok("metal:0") => Device::new_metal(0),
        _ => Device::new_opencl(0),
    };
    match opened {
        Ok(device) => Ok(Some(device)),
        // A device that was asked for by name has to be there.
        Err(Error::Gpu(error)) if name.is_err() => {
            println!("skipped: {error}");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
