//! Settings from the environment; a value that means nothing is an error where a device is opened.

use crate::{GpuError, Result};
use std::path::PathBuf;

/// How a device behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Commands in a batch before it goes out by itself.
    pub batch: usize,
    /// Kernels may break the rules of arithmetic for speed.
    pub fast_math: bool,
    /// A comment put into every kernel's text, so that no cache of the system can hit.
    pub nonce: Option<String>,
    /// The most bytes that the pool keeps unused; by default an eighth of the device's memory.
    pub pool_bytes: Option<u64>,
    /// Where compiled kernels are kept; nowhere if `None`.
    pub cache: Option<PathBuf>,
    /// The kernel pack, which need not be there; none is looked for if `None`.
    pub pack: Option<PathBuf>,
}

/// Enough commands that a submission's cost (some 15 µs on CUDA and Metal) is small beside theirs,
/// few enough that the device does not wait for the first of them.
const BATCH: usize = 50;

impl Settings {
    /// What holds where no variable says otherwise, with compiled kernels kept nowhere.
    pub fn plain() -> Self {
        Self {
            batch: BATCH,
            fast_math: false,
            nonce: None,
            pool_bytes: None,
            cache: None,
            pack: None,
        }
    }

    /// Reads `TALLOW_GPU_BATCH` (else `CANDLE_METAL_COMPUTE_PER_BUFFER`), `TALLOW_FAST_MATH` (else
    /// `CANDLE_METAL_ENABLE_FAST_MATH`), `TALLOW_KERNEL_NONCE`, `TALLOW_GPU_POOL_BYTES`,
    /// `TALLOW_KERNEL_CACHE` (a folder, or `off`) and `TALLOW_KERNEL_PACK` (a file, or `off`; else
    /// `tallow-kernels.pack` beside the program).
    pub fn from_env() -> Result<Self> {
        let batch = first(&["TALLOW_GPU_BATCH", "CANDLE_METAL_COMPUTE_PER_BUFFER"]);
        let fast_math = first(&["TALLOW_FAST_MATH", "CANDLE_METAL_ENABLE_FAST_MATH"]);
        let pool_bytes = first(&["TALLOW_GPU_POOL_BYTES"]);
        Ok(Self {
            batch: batch.map_or(Ok(BATCH), count)?.max(1),
            fast_math: fast_math.map_or(Ok(false), flag)?,
            nonce: first(&["TALLOW_KERNEL_NONCE"]).map(|(_, value)| value),
            pool_bytes: pool_bytes.map(count).transpose()?.map(|bytes| bytes as u64),
            cache: path("TALLOW_KERNEL_CACHE").unwrap_or_else(default_cache),
            pack: path("TALLOW_KERNEL_PACK").unwrap_or_else(default_pack),
        })
    }
}

/// The path that a variable names, if it is set; `off` is none.
fn path(variable: &'static str) -> Option<Option<PathBuf>> {
    let (_, value) = first(&[variable])?;
    Some((value != "off").then(|| value.into()))
}

/// Where the kernel pack is looked for when no variable says: beside the program.
pub fn default_pack() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    Some(program.with_file_name("tallow-kernels.pack"))
}

fn default_cache() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.cache_dir().join("tallow").join("kernels"))
}

fn first(names: &[&'static str]) -> Option<(&'static str, String)> {
    names.iter().find_map(|name| match std::env::var_os(name) {
        Some(value) if !value.is_empty() => Some((*name, value.to_string_lossy().into_owned())),
        _ => None,
    })
}

fn count((variable, value): (&'static str, String)) -> Result<usize> {
    let want = "a whole number";
    value.trim().parse().map_err(|_| GpuError::Setting {
        variable,
        value,
        want,
    })
}

fn flag((variable, value): (&'static str, String)) -> Result<bool> {
    match value.trim() {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(GpuError::Setting {
            variable,
            value,
            want: "0 or 1",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junk_names_its_variable() {
        let junk = ("TALLOW_GPU_BATCH", "fifty".to_string());
        assert_eq!(
            count(junk).unwrap_err().to_string(),
            r#"TALLOW_GPU_BATCH: "fifty" is not a whole number"#
        );
        assert!(flag(("TALLOW_FAST_MATH", "yes".into())).is_err());
        assert_eq!(count(("TALLOW_GPU_BATCH", " 7".into())), Ok(7));
    }
}
