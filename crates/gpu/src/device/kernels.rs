//! Kernels before they are needed: which a computation asks for, and making them ready.
//!
//! Which variant an operation launches follows from shapes, dtypes and the device's properties. So
//! a computation that runs on a device on paper ([`planned`](GpuDevice::planned)) asks for the same
//! variants as on the device itself, and [`prepare`](GpuDevice::prepare) can make them while
//! something else goes on.

use super::GpuDevice;
use crate::settings::Settings;
use crate::source::Variant;
use crate::{Result, drivers};
use std::time::Instant;

impl GpuDevice {
    /// Makes kernels ready, in parallel; the first error, if there is one, after all were tried.
    pub fn prepare(&self, variants: &[Variant]) -> Result<()> {
        let start = Instant::now();
        self.0.kernels.prepare(&*self.0.driver, variants)?;
        tracing::info!(
            target: "tallow::kernels",
            kernels = variants.len(),
            ms = start.elapsed().as_secs_f64() * 1e3,
            "prepared"
        );
        Ok(())
    }

    /// A device of the same properties on paper: what runs on it costs no memory, compiles nothing
    /// and gives zeros, and leaves behind the list of its kernels ([`asked`](Self::asked)).
    pub fn planned(&self) -> Self {
        Self::with_driver(drivers::plan(self.info().clone()), &Settings::plain())
    }

    /// Every variant that was asked for since the device was opened, sorted by name and defines.
    pub fn asked(&self) -> Vec<Variant> {
        let mut asked = self.0.kernels.asked();
        asked.sort_by_cached_key(|variant| format!("{variant:?}"));
        asked
    }

    /// The device is one on paper: its values mean nothing, so nobody need make any for it.
    pub fn runs_nothing(&self) -> bool {
        self.0.driver.runs_nothing()
    }
}
