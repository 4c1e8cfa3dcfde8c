//! The crate's error: one line that names the format, the thing and the values.
//!
//! Names come from files that nobody has vetted, so messages show them through [`Quoted`]:
//! control characters escaped, long names shortened.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a model file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused: opening, mapping, writing or renaming a file.
    #[error("{format}: {action} {}: {source}", path.display())]
    Io {
        /// The format that was being read or written.
        format: &'static str,
        /// What was tried, a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The system refused to read a stream that was handed in.
    #[error("{format}: read: {source}")]
    Stream {
        /// The format that was being read.
        format: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The file as a whole is not what its format asks for.
    #[error("{format}: {problem}")]
    Malformed {
        /// The format that was being read or written.
        format: &'static str,
        /// What is wrong, with the values and the byte where it stands.
        problem: String,
    },
    /// A metadata key that was asked for is not in the file.
    #[error("gguf: no metadata key {}", Quoted(key))]
    MissingKey {
        /// The key asked for.
        key: String,
    },
    /// A metadata value is of another type than was asked for, or does not fit it.
    #[error("gguf: key {}: found {found}; want {wanted}", Quoted(key))]
    KeyType {
        /// The key asked for.
        key: String,
        /// Type and value in the file.
        found: String,
        /// What would have done.
        wanted: &'static str,
    },
    /// A tensor that was asked for is not in the file.
    #[error("{format}: no tensor {}", Quoted(name))]
    MissingTensor {
        /// The format of the file.
        format: &'static str,
        /// The name asked for.
        name: String,
    },
    /// One tensor cannot be used; the others of the file can.
    #[error("{format}: tensor {}: {problem}", Quoted(name))]
    Tensor {
        /// The format of the file.
        format: &'static str,
        /// The tensor's name.
        name: String,
        /// What is wrong, with the values.
        problem: String,
    },
}

impl Error {
    pub(crate) fn io(
        format: &'static str,
        action: &'static str,
        path: &Path,
        source: io::Error,
    ) -> Self {
        Error::Io {
            format,
            action,
            path: path.to_path_buf(),
            source,
        }
    }
}

/// Shows a name in quotes, escaped, and cut after [`Quoted::MAX_CHARS`] characters.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Quoted<'_> {
    /// Longer than any tensor name in use, short enough for one line.
    const MAX_CHARS: usize = 100;
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(Self::MAX_CHARS) {
            None => write!(out, "{:?}", self.0),
            Some((cut, _)) => {
                let rest_bytes = self.0.len() - cut;
                write!(out, "{:?}… ({rest_bytes} bytes more)", &self.0[..cut])
            }
        }
    }
}

/// The message of another library, which can quote a file: without control characters, and cut.
pub(crate) fn printable(message: &impl fmt::Display) -> String {
    const MAX_CHARS: usize = 300;
    let message = message.to_string();
    let shown = message.chars().take(MAX_CHARS);
    shown
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Quoted;

    #[test]
    fn quoted_escapes_control_characters_and_cuts_long_names() {
        assert_eq!(Quoted("a\u{1b}[2J\n").to_string(), "\"a\\u{1b}[2J\\n\"");
        let shown = Quoted(&"é".repeat(1000)).to_string();
        assert!(shown.ends_with("… (1800 bytes more)"), "{shown}");
        assert!(shown.len() < 300, "{shown}");
    }
}
