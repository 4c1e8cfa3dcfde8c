//! What ends the program: an error of a library below, or one in words.

use std::io;
use std::path::Path;

/// Shorthand for a result of this program.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A problem in words.
    #[error("{0}")]
    Text(String),
    /// Standard output does not take more.
    #[error("write to standard output: {0}{hint}", hint = disk_hint(.0))]
    Output(io::Error),
    /// A file could not be read or written.
    #[error("{0}{hint}", hint = format_hint(.0))]
    Format(#[from] tallow_formats::Error),
    /// The model refused.
    #[error("{0}{hint}", hint = llm_hint(.0))]
    Llm(#[from] tallow_llm::Error),
    /// A tensor operation failed.
    #[error(transparent)]
    Tensor(#[from] tallow::Error),
    /// Packing or unpacking blocks failed.
    #[error(transparent)]
    Quant(#[from] tallow_quant::QuantError),
}

impl Error {
    /// An error of the words of another.
    pub(crate) fn text(error: impl std::fmt::Display) -> Self {
        Self::Text(error.to_string())
    }

    /// An error about a file.
    pub(crate) fn file(action: &str, path: &Path, source: &io::Error) -> Self {
        Self::Text(format!(
            "{action} {}: {source}{}",
            path.display(),
            disk_hint(source)
        ))
    }

    /// Whether the reader of standard output has gone, which is its right.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The text on one line, whatever a library put into it.
    pub(crate) fn one_line(&self) -> String {
        let text = self.to_string();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("; ")
    }
}

fn disk_hint(error: &io::Error) -> &'static str {
    use io::ErrorKind::{FileTooLarge, PermissionDenied, QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded => "; free some space, or write to another disk",
        FileTooLarge => "; raise the limit on file sizes (ulimit -f), or write a smaller type",
        PermissionDenied => "; choose a place that you may use",
        _ => "",
    }
}

fn format_hint(error: &tallow_formats::Error) -> &'static str {
    match error {
        tallow_formats::Error::Io { source, .. } => disk_hint(source),
        _ => "",
    }
}

fn llm_hint(error: &tallow_llm::Error) -> &'static str {
    match error {
        tallow_llm::Error::Format(error) => format_hint(error),
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line() {
        let error = Error::text("first\n  second\n\n");
        assert_eq!(error.one_line(), "first; second");
    }

    #[test]
    fn only_a_broken_standard_output_is_a_closed_pipe() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(Error::Output(closed()).is_closed_pipe());
        assert!(!Error::file("write", Path::new("a"), &closed()).is_closed_pipe());
    }
}
