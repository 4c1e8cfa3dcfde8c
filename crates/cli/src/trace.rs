//! `TALLOW_TRACE`: what the libraries say about their work, as lines on standard error.
//!
//! ```text
//! not set        warnings
//! info           and what happens once: warm-ups
//! kernels        and each kernel compiled or loaded, with its time, and each batch of commands
//! ```

use std::io;

use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::error::{Error, Result};

const VARIABLE: &str = "TALLOW_TRACE";

/// Begins to write, from now until the program ends. Errors if the variable means nothing.
pub(crate) fn start() -> Result<()> {
    let value = std::env::var_os(VARIABLE).unwrap_or_default();
    let lines = fmt::layer()
        .with_writer(io::stderr)
        .with_timer(fmt::time::uptime())
        .with_ansi(false);
    let subscriber =
        tracing_subscriber::registry().with(lines.with_filter(filter(&value.to_string_lossy())?));
    // There is one start, so nothing can be in the way.
    tracing::subscriber::set_global_default(subscriber).map_err(Error::text)
}

fn filter(value: &str) -> Result<Targets> {
    let warnings = Targets::new().with_default(Level::WARN);
    match value.trim() {
        "" => Ok(warnings),
        "info" => Ok(warnings.with_target("tallow", Level::INFO)),
        "kernels" => Ok(warnings
            .with_target("tallow", Level::INFO)
            .with_target("tallow::kernels", Level::DEBUG)
            .with_target("tallow::batches", Level::TRACE)),
        other => Err(Error::Text(format!(
            "{VARIABLE}: {other:?} is not info or kernels"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_shows_what_it_says() {
        let shows = |value: &str| {
            let filter = filter(value).unwrap();
            [
                filter.would_enable("tallow::gpu", &Level::WARN),
                filter.would_enable("tallow::warm_up", &Level::INFO),
                filter.would_enable("tallow::kernels", &Level::DEBUG),
                filter.would_enable("tallow::batches", &Level::TRACE),
                filter.would_enable("ureq", &Level::INFO),
            ]
        };
        assert_eq!(shows(""), [true, false, false, false, false]);
        assert_eq!(shows("info"), [true, true, false, false, false]);
        assert_eq!(shows("kernels"), [true, true, true, true, false]);
        assert!(filter("everything").is_err());
    }
}
