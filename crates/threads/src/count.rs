//! The thread count: what the user's environment says, else what the machine offers.
//!
//! The first variable of [`VARIABLES`] that is set decides. A value that is no whole number from 1
//! to [`MAX_THREADS`] is an error which names the variable, because a typing error that silently
//! becomes "all cores" is found only by measuring. Without a variable `machine.rs` counts cores.

use std::ffi::OsString;
use std::fmt;
use std::sync::OnceLock;

/// The largest thread count that a variable may ask for.
pub const MAX_THREADS: usize = 1024;

/// The variables that are looked up, the first one that is set wins. The last two are honoured so
/// that programs moving here keep the settings that they run with.
const VARIABLES: [&str; 3] = [
    "TALLOW_NUM_THREADS",
    "CANDLE_NUM_THREADS",
    "RAYON_NUM_THREADS",
];

/// A thread-count variable that holds no usable count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadCountError {
    /// Name of the environment variable.
    pub variable: &'static str,
    /// What it holds, with bytes that are not Unicode replaced.
    pub value: String,
}

impl fmt::Display for ThreadCountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variable, value } = self;
        write!(
            f,
            "threads: {variable} is {value:?}; set it to a whole number from 1 to {MAX_THREADS}, \
             or unset it to use the physical cores"
        )
    }
}

impl std::error::Error for ThreadCountError {}

/// The number of threads configured for this process, at least 1.
///
/// `TALLOW_NUM_THREADS`, else `CANDLE_NUM_THREADS`, else `RAYON_NUM_THREADS`, else the physical
/// cores that this process may run on, limited by its cgroup's CPU quota (on macOS the performance
/// cores). Looked up once; later changes of the environment have no effect.
///
/// # Errors
/// When the variable that decides is not a whole number from 1 to [`MAX_THREADS`].
pub fn configured_threads() -> Result<usize, ThreadCountError> {
    static COUNT: OnceLock<Result<usize, ThreadCountError>> = OnceLock::new();
    COUNT
        .get_or_init(|| count(|name| std::env::var_os(name), crate::machine::usable_cores))
        .clone()
}

/// [`configured_threads`] over any environment (`lookup`) and any machine (`cores`).
fn count(
    lookup: impl Fn(&str) -> Option<OsString>,
    cores: impl FnOnce() -> usize,
) -> Result<usize, ThreadCountError> {
    for variable in VARIABLES {
        let Some(value) = lookup(variable) else {
            continue;
        };
        let value = value.to_string_lossy();
        return match value.trim().parse::<usize>() {
            Ok(threads) if (1..=MAX_THREADS).contains(&threads) => Ok(threads),
            _ => Err(ThreadCountError {
                variable,
                value: value.into_owned(),
            }),
        };
    }
    Ok(cores().clamp(1, MAX_THREADS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_with(variables: &[(&str, &str)]) -> Result<usize, ThreadCountError> {
        let lookup = |name: &str| {
            variables
                .iter()
                .find(|(variable, _)| *variable == name)
                .map(|(_, v)| v.into())
        };
        count(lookup, || 6)
    }

    #[test]
    fn without_variables_the_cores_count() {
        assert_eq!(count_with(&[]), Ok(6));
        assert_eq!(count(|_| None, || 0), Ok(1));
        assert_eq!(count(|_| None, || 1_000_000), Ok(MAX_THREADS));
    }

    #[test]
    fn the_first_variable_that_is_set_wins() {
        let (tallow, candle, rayon) = (
            ("TALLOW_NUM_THREADS", "3"),
            ("CANDLE_NUM_THREADS", "4"),
            ("RAYON_NUM_THREADS", " 5 "),
        );
        assert_eq!(count_with(&[rayon, candle, tallow]), Ok(3));
        assert_eq!(count_with(&[rayon, candle]), Ok(4));
        assert_eq!(count_with(&[rayon]), Ok(5));
        assert_eq!(count_with(&[("TALLOW_NUM_THREADS", "1024")]), Ok(1024));
    }

    #[test]
    fn zero_and_junk_are_errors_that_name_variable_and_value() {
        for variable in VARIABLES {
            for value in [
                "0",
                "",
                "-1",
                "2.5",
                "all",
                "1025",
                "99999999999999999999999",
            ] {
                let error = count_with(&[(variable, value)]).unwrap_err();
                assert_eq!(
                    error,
                    ThreadCountError {
                        variable,
                        value: value.into()
                    }
                );
                let text = error.to_string();
                assert!(text.contains(variable), "{text}");
                assert!(text.contains(&format!("{value:?}")), "{text}");
            }
        }
    }

    #[test]
    fn junk_in_the_deciding_variable_is_not_skipped() {
        let error = count_with(&[("TALLOW_NUM_THREADS", "x"), ("RAYON_NUM_THREADS", "2")]);
        assert_eq!(error.unwrap_err().variable, "TALLOW_NUM_THREADS");
    }
}
