//! Metal, on macOS; elsewhere a driver that is not there.
//!
//! **It has never run on a Mac.** Its Rust is checked for `aarch64-apple-darwin`, and that is all.
//!
//! A batch becomes one command buffer (`encode`): launches in a concurrent compute encoder with a
//! memory barrier where a step asks for one, copies and fills in blit encoders, a fence between
//! encoders, since buffers are untracked (`memory`). Command buffers are single-use, so nothing is
//! recorded: a recording's commands are encoded again. Metal gives no compiled form of a kernel
//! that could be kept; what is kept between processes is the system's own cache. Binary archives
//! are not used.

#[cfg(target_os = "macos")]
mod compile;
#[cfg(target_os = "macos")]
mod device;
#[cfg(target_os = "macos")]
mod encode;
#[cfg(target_os = "macos")]
mod memory;

#[cfg(target_os = "macos")]
pub(super) use device::{count, open};

#[cfg(not(target_os = "macos"))]
pub(super) fn open(_ordinal: usize) -> crate::Result<std::sync::Arc<dyn crate::Driver>> {
    Err(crate::GpuError::Missing {
        api: crate::Api::Metal,
        library: "Metal",
        hint: "it is part of macOS",
    })
}

#[cfg(not(target_os = "macos"))]
pub(super) fn count() -> crate::Result<usize> {
    Ok(0)
}
