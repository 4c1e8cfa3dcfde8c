//! A true cold start: no compiled kernel of an earlier run is found, by anybody.
//!
//! Every kernel's text gets a comment that no text had before (`TALLOW_KERNEL_NONCE`), so that the
//! caches of the system's compilers cannot hit, and our own are off. Both are settings of the
//! environment, which is read when a device is opened, so the program starts itself once more.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};

const NONCE: &str = "TALLOW_KERNEL_NONCE";

/// Runs this program again with the same arguments, cold. `false` if this is that run.
pub(super) fn restarted() -> Result<bool> {
    if std::env::var_os(NONCE).is_some_and(|nonce| !nonce.is_empty()) {
        return Ok(false);
    }
    let program = std::env::current_exe().map_err(Error::text)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = now.map_or(0, |since| since.as_nanos());
    let status = Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(NONCE, format!("{nanoseconds}x{}", std::process::id()))
        .env("TALLOW_KERNEL_CACHE", "off")
        .env("TALLOW_KERNEL_PACK", "off")
        .status()
        .map_err(|error| Error::Text(format!("start the program again: {error}")))?;
    match status.success() {
        true => Ok(true),
        false => Err(Error::Text(format!("the cold run failed: {status}"))),
    }
}
