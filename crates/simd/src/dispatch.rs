//! Finds out once what the CPU has, and runs kernels at the best level.
//!
//! The level in use is, from strong to weak: what [`force_level`] set, what `TALLOW_ISA` names,
//! the best that the CPU has. It is one byte, read with a relaxed load by every [`dispatch`].
//!
//! This is the only file that asks the CPU for its features. A token (`arch/*.rs`) can be made
//! only through [`supports`], so that holding one proves that its instructions exist.

use std::env;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::arch;
use crate::level::{Level, LevelError};
use crate::simd::Simd;

/// Work that is compiled once per level.
///
/// Mark `run` and everything generic that it calls with `#[inline(always)]`: only code that ends
/// up inside the level's entry function is compiled with its features.
pub trait Kernel {
    /// What the kernel returns.
    type Output;
    /// The work, over the operations of one level.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Runs `kernel` at [`level`], inside [`Simd::vectorize`].
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    arch::run_at(level(), kernel)
}

/// Runs `kernel` at `at`, whatever the level in use is; for tests that compare levels.
///
/// # Errors
/// [`LevelError::Unsupported`] when the CPU lacks `at`.
pub fn dispatch_at<K: Kernel>(at: Level, kernel: K) -> Result<K::Output, LevelError> {
    check_supported("dispatch_at", at)?;
    Ok(arch::run_at(at, kernel))
}

/// Whether this CPU (and operating system) can run `level`. Under Miri only the scalar level.
#[inline]
pub fn supports(level: Level) -> bool {
    // One bool for each of `Level::ALL`: asking std for nine features at every dispatch would cost
    // more than a small kernel.
    static SUPPORTED: OnceLock<[bool; Level::ALL.len()]> = OnceLock::new();
    SUPPORTED.get_or_init(|| Level::ALL.map(detect))[level as usize]
}

fn detect(level: Level) -> bool {
    if cfg!(miri) {
        return level == Level::Scalar;
    }
    match level {
        Level::Scalar => true,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            detect(Level::Avx2)
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
        }
        #[cfg(target_arch = "aarch64")]
        Level::Neon => std::arch::is_aarch64_feature_detected!("neon"),
        #[allow(unreachable_patterns)] // which levels are left depends on the target
        _ => false,
    }
}

/// The levels that this CPU can run, worst first.
pub fn supported_levels() -> Vec<Level> {
    Level::ALL
        .into_iter()
        .filter(|&level| supports(level))
        .collect()
}

/// Whether int8 dot products (AVX512-VNNI, with AVX512-VL) can be used with [`Level::Avx512`].
pub fn has_vnni() -> bool {
    feature(|| {
        #[cfg(target_arch = "x86_64")]
        return supports(Level::Avx512) && is_x86_feature_detected!("avx512vnni");
        #[cfg(not(target_arch = "x86_64"))]
        false
    })
}

/// Whether bf16 dot products (AVX512-BF16) can be used with [`Level::Avx512`].
pub fn has_avx512_bf16() -> bool {
    feature(|| {
        #[cfg(target_arch = "x86_64")]
        return supports(Level::Avx512) && is_x86_feature_detected!("avx512bf16");
        #[cfg(not(target_arch = "x86_64"))]
        false
    })
}

/// Whether 256-bit int8 dot products (AVX-VNNI) can be used with [`Level::Avx2`].
pub fn has_avx_vnni() -> bool {
    feature(|| {
        #[cfg(target_arch = "x86_64")]
        return supports(Level::Avx2) && is_x86_feature_detected!("avxvnni");
        #[cfg(not(target_arch = "x86_64"))]
        false
    })
}

/// Whether Arm's int8 dot products (`sdot`, `udot`) can be used with [`Level::Neon`].
pub fn has_dotprod() -> bool {
    feature(|| {
        #[cfg(target_arch = "aarch64")]
        return std::arch::is_aarch64_feature_detected!("dotprod");
        #[cfg(not(target_arch = "aarch64"))]
        false
    })
}

/// Whether Arm's int8 matrix multiply (`smmla`) can be used with [`Level::Neon`].
pub fn has_i8mm() -> bool {
    feature(|| {
        #[cfg(target_arch = "aarch64")]
        return std::arch::is_aarch64_feature_detected!("i8mm");
        #[cfg(not(target_arch = "aarch64"))]
        false
    })
}

fn feature(detect: impl FnOnce() -> bool) -> bool {
    !cfg!(miri) && detect()
}

/// The level that `TALLOW_ISA` names, else the best that this CPU has. Read once.
///
/// # Errors
/// When the variable holds no level's name, or one that this CPU lacks.
pub fn configured_level() -> Result<Level, LevelError> {
    static CONFIGURED: OnceLock<Result<Level, LevelError>> = OnceLock::new();
    CONFIGURED
        .get_or_init(|| parse_level(env::var_os("TALLOW_ISA").as_deref()))
        .clone()
}

fn parse_level(value: Option<&std::ffi::OsStr>) -> Result<Level, LevelError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(best_level());
    };
    let text = value.to_string_lossy();
    let Ok(level) = text.parse() else {
        let supported = supported_levels();
        return Err(LevelError::Unknown {
            value: text.into_owned(),
            supported,
        });
    };
    check_supported("TALLOW_ISA", level)?;
    Ok(level)
}

fn best_level() -> Level {
    Level::ALL
        .into_iter()
        .rfind(|&level| supports(level))
        .unwrap_or(Level::Scalar)
}

fn check_supported(source_name: &'static str, level: Level) -> Result<(), LevelError> {
    if supports(level) {
        return Ok(());
    }
    Err(LevelError::Unsupported {
        source_name,
        level,
        supported: supported_levels(),
    })
}

/// The level in use as its place in [`Level::ALL`]; `UNKNOWN` until first asked for.
static IN_USE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = u8::MAX;

/// The level in use: forced, else configured, else the best that this CPU has.
///
/// When `TALLOW_ISA` is wrong this is the best level; [`configured_level`] tells the error.
#[inline]
pub fn level() -> Level {
    match IN_USE.load(Ordering::Relaxed) {
        0 => Level::Scalar,
        1 => Level::Avx2,
        2 => Level::Avx512,
        3 => Level::Neon,
        _ => init_level(),
    }
}

#[cold]
fn init_level() -> Level {
    let level = configured_level().unwrap_or_else(|_| best_level());
    // A level forced meanwhile by another thread must win.
    let init = IN_USE.compare_exchange(UNKNOWN, level as u8, Ordering::Relaxed, Ordering::Relaxed);
    match init {
        Ok(_) => level,
        Err(_) => self::level(),
    }
}

/// Makes the whole process use `forced`; `None` goes back to the configured level.
///
/// For tests and benches. Kernels that are running keep their level.
///
/// # Errors
/// [`LevelError::Unsupported`] when the CPU lacks the level; nothing changes then.
pub fn force_level(forced: Option<Level>) -> Result<(), LevelError> {
    let level = match forced {
        Some(level) => {
            check_supported("force_level", level)?;
            level
        }
        None => configured_level().unwrap_or_else(|_| best_level()),
    };
    IN_USE.store(level as u8, Ordering::Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_numbers_are_places_in_all() {
        for (place, level) in Level::ALL.into_iter().enumerate() {
            assert_eq!(level as usize, place);
        }
    }

    #[test]
    fn forced_level_is_in_use_until_released() {
        for level in supported_levels() {
            force_level(Some(level)).unwrap();
            assert_eq!(self::level(), level);
        }
        force_level(None).unwrap();
        assert_eq!(self::level(), configured_level().unwrap());
    }

    #[test]
    fn a_level_that_the_cpu_lacks_is_refused() {
        let lacking = Level::ALL
            .into_iter()
            .find(|&level| !supports(level))
            .unwrap();
        let error = force_level(Some(lacking)).unwrap_err();
        assert!(matches!(
            error,
            LevelError::Unsupported {
                source_name: "force_level",
                ..
            }
        ));
        let error = parse_level(Some(lacking.name().as_ref())).unwrap_err();
        assert!(matches!(
            error,
            LevelError::Unsupported {
                source_name: "TALLOW_ISA",
                ..
            }
        ));
    }

    #[test]
    fn junk_is_refused_and_empty_is_the_best_level() {
        let error = parse_level(Some("fast".as_ref())).unwrap_err();
        assert!(matches!(error, LevelError::Unknown { value, .. } if value == "fast"));
        assert_eq!(parse_level(Some("".as_ref())), Ok(best_level()));
        assert_eq!(parse_level(Some("Scalar".as_ref())), Ok(Level::Scalar));
    }
}
