//! GGUF, the file format of ggml and llama.cpp: one file with settings, vocabulary and weights.
//!
//! [`File`] reads versions 1 to 3, little-endian, from a mapping or from memory:
//!
//! ```text
//! types.rs ──► tensor.rs ─┐
//!   cursor.rs ─► decode.rs┼─► Header ─► File: metadata(), tensor(name), bytes(name)
//! value.rs ─► metadata.rs ┘
//!   convert.rs: lossless getters        write.rs: Contents ─► Writer, version 3
//! ```
//!
//! What makes the whole file unreadable fails [`File::open`]: magic, version, a header that ends
//! early, keys or names that come twice, text that is not UTF-8, a bad alignment. What concerns
//! one tensor fails that tensor when it is asked for; [`File::validate`] asks for all.
//!
//! Read next: `decode.rs` for the layout of the file, `tensor.rs` for where data may lie.

mod convert;
mod decode;
mod header;
mod metadata;
mod tensor;
mod types;
mod value;
mod write;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

pub use convert::FromValue;
pub use decode::Header;
pub use metadata::Metadata;
pub use tensor::TensorInfo;
pub use types::BlockType;
pub use value::{Array, Strings, Value};
pub use write::{Contents, Progress, Writer};

use crate::error::{Error, Result};
use crate::source::{SharedBytes, Source};
use decode::decode;

/// An open GGUF file; clones share it.
///
/// ```
/// use tallow_formats::gguf::{Contents, File, Metadata, Writer};
/// # let path = std::env::temp_dir().join(format!("tallow-doc-{}.gguf", std::process::id()));
/// let mut metadata = Metadata::new();
/// metadata.set("general.architecture", "llama");
/// let mut contents = Contents::new(metadata);
/// contents.push_tensor("scale", &[2], 0)?;
/// let mut writer = Writer::create(&path, contents)?;
/// writer.write("scale", &[0; 8])?;
/// writer.finish()?;
///
/// let file = File::open(&path)?;
/// assert_eq!(file.metadata().get_str("general.architecture")?, "llama");
/// assert_eq!(file.tensor("scale")?.shape, [2]);
/// assert_eq!(file.bytes("scale")?, [0; 8]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), tallow_formats::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct File {
    source: Arc<Source>,
    header: Arc<Header>,
}

impl File {
    /// Maps the file at `path` and reads its header.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::map("gguf", path.as_ref())?)
    }

    /// Reads a file that is in memory already.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::from_source(Source::Owned(bytes))
    }

    fn from_source(source: Source) -> Result<Self> {
        let header = Arc::new(decode(source.as_slice())?);
        Ok(File {
            source: Arc::new(source),
            header,
        })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The version of the format: 1, 2 or 3.
    pub fn version(&self) -> u32 {
        self.header.version()
    }

    /// Tensor data begin at multiples of this many bytes.
    pub fn alignment(&self) -> u64 {
        self.header.alignment()
    }

    /// Where tensor data begin, in bytes.
    pub fn data_offset(&self) -> u64 {
        self.header.data_offset()
    }

    /// The length of the file in bytes.
    pub fn len_bytes(&self) -> usize {
        self.source.as_slice().len()
    }

    /// Keys and values, in the order of the file.
    pub fn metadata(&self) -> &Metadata {
        self.header.metadata()
    }

    /// The names of all tensors, in the order of the file, with those that cannot be used.
    pub fn tensor_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.header.tensor_names()
    }

    /// All tensors in the order of the file; `Err` for each that cannot be used.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Result<&TensorInfo>> {
        self.header.tensors()
    }

    /// True if there is a tensor of this name, even one that cannot be used.
    pub fn contains(&self, name: &str) -> bool {
        self.header.contains(name)
    }

    /// The tensor of this name; an error says what is wrong with it, or that there is none.
    pub fn tensor(&self, name: &str) -> Result<&TensorInfo> {
        self.header.tensor(name)
    }

    /// The data of the tensor of this name, as blocks of its type.
    pub fn bytes(&self, name: &str) -> Result<&[u8]> {
        let info = self.tensor(name)?;
        Ok(&self.source.as_slice()[info.byte_offset..info.byte_offset + info.byte_len])
    }

    /// As [`bytes`](File::bytes), in a handle that keeps the file open.
    pub fn shared(&self, name: &str) -> Result<SharedBytes> {
        let info = self.tensor(name)?;
        let range = info.byte_offset..info.byte_offset + info.byte_len;
        Ok(SharedBytes::new(Arc::clone(&self.source), range))
    }

    /// An error if any tensor cannot be used: the first one's.
    pub fn validate(&self) -> Result<()> {
        self.tensors().try_for_each(|tensor| tensor.map(|_| ()))
    }

    /// Asks the system to start reading these bytes of the file; see
    /// [`SharedBytes::advise_will_need`].
    pub fn advise_will_need(&self, byte_range: Range<usize>) {
        self.source.advise_will_need(byte_range);
    }

    /// Lets the system take the memory of these bytes of the file back; see
    /// [`SharedBytes::advise_dont_need`].
    pub fn advise_dont_need(&self, byte_range: Range<usize>) {
        self.source.advise_dont_need(byte_range);
    }
}

fn malformed(problem: String) -> Error {
    Error::Malformed {
        format: "gguf",
        problem,
    }
}
