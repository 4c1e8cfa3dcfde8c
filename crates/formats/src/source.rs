//! Where a reader's bytes live: a mapped file, or a vector that the caller gave.

use std::fmt;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::mmap::Mapping;

/// All bytes of one file.
pub(crate) enum Source {
    /// The pages of a file.
    Mapped(Mapping),
    /// Memory of our own.
    Owned(Vec<u8>),
}

impl Source {
    /// Maps the file at `path`; `format` begins the message if that fails.
    pub(crate) fn map(format: &'static str, path: &Path) -> Result<Self> {
        match Mapping::open(path) {
            Ok(mapping) => Ok(Source::Mapped(mapping)),
            Err(source) => Err(Error::io(format, "open", path, source)),
        }
    }

    /// All bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Source::Mapped(mapping) => mapping.as_slice(),
            Source::Owned(bytes) => bytes,
        }
    }

    /// See [`SharedBytes::advise_will_need`]; what lies outside the file is left out.
    pub(crate) fn advise_will_need(&self, range: Range<usize>) {
        if let Source::Mapped(mapping) = self {
            mapping.advise_will_need(clamp(range, mapping.as_slice().len()));
        }
    }

    /// See [`SharedBytes::advise_dont_need`]; what lies outside the file is left out.
    pub(crate) fn advise_dont_need(&self, range: Range<usize>) {
        if let Source::Mapped(mapping) = self {
            mapping.advise_dont_need(clamp(range, mapping.as_slice().len()));
        }
    }
}

fn clamp(range: Range<usize>, len: usize) -> Range<usize> {
    let end = range.end.min(len);
    range.start.min(end)..end
}

impl fmt::Debug for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Source::Mapped(_) => "mapped",
            Source::Owned(_) => "owned",
        };
        write!(out, "{} bytes, {kind}", self.as_slice().len())
    }
}

/// The bytes of one tensor, which keep their file open: cheap to clone, and free of lifetimes.
///
/// The first byte of a mapped tensor is aligned as its file says (32 bytes in most GGUF files);
/// nothing is promised beyond that.
#[derive(Clone)]
pub struct SharedBytes {
    source: Arc<Source>,
    range: Range<usize>,
}

impl SharedBytes {
    /// The bytes `range` of `source`, in which it must lie.
    pub(crate) fn new(source: Arc<Source>, range: Range<usize>) -> Self {
        let len = source.as_slice().len();
        assert!(
            range.start <= range.end && range.end <= len,
            "bytes: {range:?} outside {len}"
        );
        SharedBytes { source, range }
    }

    /// Maps all of the file at `path`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let source = Source::map("file", path.as_ref())?;
        let range = 0..source.as_slice().len();
        Ok(Self::new(Arc::new(source), range))
    }

    /// Memory of our own.
    pub(crate) fn owned(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self::new(Arc::new(Source::Owned(bytes)), range)
    }

    /// A range of these bytes, in which it must lie.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        let start = self.range.start;
        assert!(
            range.start <= range.end && range.end <= self.range.len(),
            "bytes: {range:?} outside {:?}",
            self.range
        );
        let range = start + range.start..start + range.end;
        Self::new(Arc::clone(&self.source), range)
    }

    /// Asks the system to start reading these bytes from the disk. Advice: it never fails, and
    /// does nothing for bytes that are not mapped.
    pub fn advise_will_need(&self) {
        self.source.advise_will_need(self.range.clone());
    }

    /// Lets the system take the memory of these bytes back, for instance after they were copied
    /// to a better layout. Reading them again is fine and reads the file. Whole pages are given
    /// back, so the first and last page of a neighbour can go along.
    pub fn advise_dont_need(&self) {
        self.source.advise_dont_need(self.range.clone());
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.source.as_slice()[self.range.clone()]
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SharedBytes({:?} of {:?})", self.range, self.source)
    }
}
