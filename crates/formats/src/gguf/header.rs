//! The header on its own: what a file has before the tensor data, read from a stream.

use std::io::{Read, Seek, SeekFrom};

use super::decode::{Header, decode_from};
use super::malformed;
use super::metadata::Metadata;
use super::tensor::TensorInfo;
use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// Enough for the header of most files in one go, vocabulary included.
const FIRST_BYTES: u64 = 4 << 20;

impl Header {
    /// Reads a header from where `reader` stands; the file is what follows. Reads as many bytes as
    /// the header has, and at most a few times as many; never the tensor data of a large file.
    ///
    /// ```
    /// use std::io::Cursor;
    /// use tallow_formats::gguf::{Contents, Header, Metadata};
    /// let (bytes, _) = Contents::new(Metadata::new()).encode()?;
    /// assert_eq!(Header::read(&mut Cursor::new(bytes))?.version(), 3);
    /// # Ok::<(), tallow_formats::Error>(())
    /// ```
    pub fn read<R: Read + Seek>(reader: &mut R) -> Result<Self> {
        let format = "gguf";
        let fail = |source| Error::Stream { format, source };
        let start = reader.stream_position().map_err(fail)?;
        let end = reader.seek(SeekFrom::End(0)).map_err(fail)?;
        reader.seek(SeekFrom::Start(start)).map_err(fail)?;
        let len = end.saturating_sub(start);
        let mut bytes = Vec::new();
        let mut wanted = FIRST_BYTES.min(len);
        loop {
            let missing = wanted - bytes.len() as u64;
            reader
                .by_ref()
                .take(missing)
                .read_to_end(&mut bytes)
                .map_err(fail)?;
            if (bytes.len() as u64) < wanted {
                let got = bytes.len();
                return Err(malformed(format!(
                    "stream ends early: {got} of {len} bytes"
                )));
            }
            let mut cursor = Cursor::new("gguf", &bytes, len);
            let decoded = decode_from(&mut cursor, len);
            if !cursor.is_short() || wanted == len {
                return decoded;
            }
            wanted = wanted.saturating_mul(4).min(len);
        }
    }

    /// The version of the format: 1, 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Tensor data begin at multiples of this many bytes.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Where tensor data begin, in bytes from the beginning of the file.
    pub fn data_offset(&self) -> u64 {
        self.data_offset
    }

    /// Keys and values, in the order of the file.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The names of all tensors, in the order of the file, with those that cannot be used.
    pub fn tensor_names(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.tensors.len()).map(|position| self.tensors.name(position))
    }

    /// All tensors in the order of the file; `Err` for each that cannot be used.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Result<&TensorInfo>> {
        (0..self.tensors.len()).map(|position| self.tensors.get(position))
    }

    /// True if there is a tensor of this name, even one that cannot be used.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.find(name).is_some()
    }

    /// The tensor of this name; an error says what is wrong with it, or that there is none.
    pub fn tensor(&self, name: &str) -> Result<&TensorInfo> {
        match self.tensors.find(name) {
            Some(position) => self.tensors.get(position),
            None => Err(Error::MissingTensor {
                format: "gguf",
                name: name.to_string(),
            }),
        }
    }
}
