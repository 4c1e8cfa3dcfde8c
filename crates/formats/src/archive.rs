//! Zip archives as named slices: what `.npz` and `.pth` files are.
//!
//! An entry that is stored as it is comes as a slice of the file. One that is compressed is
//! inflated when it is asked for, into memory that grows with the bytes that really come out; its
//! declared size is first compared with what deflate can make of the compressed bytes. Checksums
//! of compressed entries are verified; those of slices are not, so that a large file is not read
//! twice.

use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use zip::{CompressionMethod, ZipArchive};

use crate::error::{Error, Quoted, Result, printable};
use crate::name_index::NameIndex;
use crate::source::{SharedBytes, Source};

/// Deflate codes 258 bytes in 2 bits at best: 1032 times, and a few bytes for an empty block.
const MAX_INFLATION: u64 = 1032;

/// An open archive.
#[derive(Debug, Clone)]
pub(crate) struct Archive {
    format: &'static str,
    file: SharedBytes,
    zip: ZipArchive<Cursor<SharedBytes>>,
    entries: Arc<[Entry]>,
    index: Arc<NameIndex>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    /// Position in the archive's directory.
    position: usize,
    byte_len: u64,
    compressed_len: u64,
    /// Where the data begin, if they are stored as they are.
    stored_at: Option<u64>,
}

impl Archive {
    /// Maps the archive at `path`; `format` begins its messages.
    pub(crate) fn open(format: &'static str, path: &Path) -> Result<Self> {
        Self::from_source(format, Source::map(format, path)?)
    }

    /// Reads an archive that is in memory already.
    pub(crate) fn from_bytes(format: &'static str, bytes: Vec<u8>) -> Result<Self> {
        Self::from_source(format, Source::Owned(bytes))
    }

    fn from_source(format: &'static str, source: Source) -> Result<Self> {
        let fail = |problem: String| Error::Malformed { format, problem };
        let len = source.as_slice().len();
        // Looked at first: the search for the directory would read all of a file of another kind.
        if !source.as_slice().starts_with(b"PK") {
            return Err(fail(
                "not a zip archive: it does not begin with \"PK\"".to_string(),
            ));
        }
        let file = SharedBytes::new(Arc::new(source), 0..len);
        let broken =
            |error: zip::result::ZipError| fail(format!("zip archive: {}", printable(&error)));
        let mut zip = ZipArchive::new(Cursor::new(file.clone())).map_err(broken)?;
        let mut entries = Vec::new();
        for position in 0..zip.len() {
            let entry = zip.by_index_raw(position).map_err(broken)?;
            if entry.is_dir() {
                continue;
            }
            let stored = entry.compression() == CompressionMethod::Stored && !entry.encrypted();
            entries.push(Entry {
                name: entry.name().map_err(broken)?.into_owned(),
                position,
                byte_len: entry.size(),
                compressed_len: entry.compressed_size(),
                stored_at: if stored { entry.data_start() } else { None },
            });
        }
        let index =
            NameIndex::build(entries.len(), |i| entries[i].name.as_str()).map_err(|twin| {
                fail(format!(
                    "entry {} is there twice",
                    Quoted(&entries[twin].name)
                ))
            })?;
        Ok(Archive {
            format,
            file,
            zip,
            entries: entries.into(),
            index: Arc::new(index),
        })
    }

    /// The names of all entries, in the order of the archive's directory.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// True if there is an entry of this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The declared number of bytes of an entry.
    pub(crate) fn byte_len(&self, name: &str) -> Option<u64> {
        Some(self.entries[self.find(name)?].byte_len)
    }

    /// All bytes of an entry.
    pub(crate) fn bytes(&self, name: &str) -> Result<SharedBytes> {
        self.first_bytes(name, u64::MAX)
    }

    /// At most the first `limit` bytes of an entry.
    pub(crate) fn first_bytes(&self, name: &str, limit: u64) -> Result<SharedBytes> {
        let position = self.find(name).ok_or_else(|| Error::MissingTensor {
            format: self.format,
            name: name.to_string(),
        })?;
        let entry = &self.entries[position];
        let wanted = entry.byte_len.min(limit);
        let Some(start) = entry.stored_at else {
            return self.inflate(entry, wanted);
        };
        let range = start
            .checked_add(wanted)
            .filter(|&end| end <= self.file.len() as u64)
            // The file is in memory, so what lies in it fits a usize.
            .map(|end| start as usize..end as usize);
        match range {
            Some(range) => Ok(self.file.part(range)),
            None => Err(self.problem(
                entry,
                format!(
                    "{wanted} bytes from byte {start:#x}; the file has {} (is it cut short?)",
                    self.file.len()
                ),
            )),
        }
    }

    fn inflate(&self, entry: &Entry, wanted: u64) -> Result<SharedBytes> {
        let Entry {
            byte_len,
            compressed_len,
            ..
        } = *entry;
        let most = compressed_len
            .saturating_mul(MAX_INFLATION)
            .saturating_add(MAX_INFLATION);
        if byte_len > most {
            return Err(self.problem(
                entry,
                format!("{compressed_len} compressed bytes cannot hold {byte_len}"),
            ));
        }
        let mut zip = self.zip.clone();
        let mut reader = zip
            .by_index(entry.position)
            .map_err(|error| self.problem(entry, printable(&error)))?;
        const FIRST_RESERVE: u64 = 1 << 20;
        let mut bytes = Vec::with_capacity(wanted.min(FIRST_RESERVE) as usize);
        // A byte more than declared is asked for, so that an entry that has more is noticed.
        let more = u64::from(wanted == byte_len);
        reader
            .by_ref()
            .take(wanted + more)
            .read_to_end(&mut bytes)
            .map_err(|error| self.problem(entry, printable(&error)))?;
        let got = bytes.len() as u64;
        if got != wanted {
            return Err(self.problem(
                entry,
                format!("{got} bytes come out; {wanted} are declared"),
            ));
        }
        Ok(SharedBytes::owned(bytes))
    }

    fn problem(&self, entry: &Entry, problem: String) -> Error {
        Error::Malformed {
            format: self.format,
            problem: format!("entry {}: {problem}", Quoted(&entry.name)),
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.index.find(name, |i| self.entries[i].name.as_str())
    }
}
