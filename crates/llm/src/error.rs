//! The crate's one error type: lower case, one line, what is wrong and what would be right.

use std::path::{Path, PathBuf};

/// Shorthand for a result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong between a model's name and its answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The vocabulary of a file cannot be used, or text cannot be encoded with it.
    #[error("tokenizer: {0}")]
    Tokenizer(String),
    /// A chat template does not parse, or refuses the messages.
    #[error("chat template: {0}")]
    ChatTemplate(String),
    /// A sampling setting is out of range, or logits cannot be sampled from.
    #[error("sampling: {0}")]
    Sampling(String),
    /// A model argument names nothing that can be loaded.
    #[error("model: {0}")]
    Model(String),
    /// A model could not be fetched.
    #[error("fetch: {0}")]
    Fetch(String),
    /// The caller cancelled the work.
    #[error("cancelled")]
    Cancelled,
    /// A model file cannot be read.
    #[error(transparent)]
    Format(#[from] tallow_formats::Error),
    /// A tensor operation failed.
    #[error(transparent)]
    Tensor(#[from] tallow::Error),
    /// Reading or writing a file failed.
    #[error("{action} {path}: {source}{}", hint(source))]
    Io {
        /// What was tried, as a verb (`read`, `write`).
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl From<tallow::gpu::GpuError> for Error {
    fn from(error: tallow::gpu::GpuError) -> Self {
        Self::Tensor(error.into())
    }
}

impl Error {
    /// Wraps an I/O error with what was tried on which path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_path_buf(),
            source,
        }
    }
}

/// What to do about the I/O errors that users meet most.
fn hint(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded => {
            "; the disk is full: free some space, or set TALLOW_CACHE to a folder on another disk"
        }
        PermissionDenied | ReadOnlyFilesystem => {
            "; choose a folder that you may write to with TALLOW_CACHE"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_says_what_to_do() {
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let text = Error::io("write", Path::new("a.gguf"))(source).to_string();
        assert!(text.starts_with("write a.gguf: "), "{text}");
        assert!(text.contains("TALLOW_CACHE"), "{text}");
    }
}
