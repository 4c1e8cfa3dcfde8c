//! Maps a file into memory, read only: the crate's only `unsafe`.
//!
//! A mapping is a loan from the file system: other programs can still write to the file, or cut
//! it short. Nothing that was parsed relies on bytes staying as they were: headers are decoded
//! into memory of our own when a file is opened, and no slice reaches past the length that the
//! file had then. What is left is the tensor data itself: if another program overwrites it while
//! it is mapped, the new values are read; if it cuts the file, touching a page past the new end
//! ends the process with SIGBUS on Unix (Windows refuses to cut a mapped file).
//! [`AtomicFile`](crate::AtomicFile) replaces a file by renaming a new one over it, which leaves
//! every mapping of the old one whole.
//!
//! The advice functions tell the system what will be read soon and what not; where it takes no
//! advice they do nothing.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

/// The bytes of one file, mapped.
#[derive(Debug)]
pub(crate) struct Mapping {
    map: Mmap,
}

impl Mapping {
    /// Maps all of the file at `path`, which must be a regular file of at least one byte.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        // Looked at before opening, because opening a named pipe would wait for a writer.
        require_regular(&fs::metadata(path)?)?;
        let file = fs::File::open(path)?;
        let metadata = file.metadata()?;
        require_regular(&metadata)?;
        let len = usize::try_from(metadata.len()).map_err(|_| {
            invalid(format!(
                "{} bytes do not fit this system's address space",
                metadata.len()
            ))
        })?;
        if len == 0 {
            return Err(invalid("the file is empty".to_string()));
        }
        // SAFETY: the length mapped is the length that this open handle reported above, so every
        // page lies in the file as it is now. A file cut short afterwards raises SIGBUS on access
        // (the process ends; no other memory is read), and one overwritten yields other bytes;
        // the module's doc states both, and no reader trusts a byte that it has not just checked.
        let map = unsafe { MmapOptions::new().len(len).map(&file) }?;
        Ok(Mapping { map })
    }

    /// All bytes of the file.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.map
    }

    /// Asks the system to start reading this range, which lies in the file.
    #[cfg(unix)]
    pub(crate) fn advise_will_need(&self, range: Range<usize>) {
        // Advice that is refused changes nothing, so the answer does not matter.
        let _ = self
            .map
            .advise_range(memmap2::Advice::WillNeed, range.start, range.len());
    }

    /// Lets the system take the pages of this range back; reading them again reads the file.
    #[cfg(unix)]
    pub(crate) fn advise_dont_need(&self, range: Range<usize>) {
        let advice = memmap2::UncheckedAdvice::DontNeed;
        // SAFETY: the mapping is shared, read only and backed by a file, so pages that are
        // dropped come back with the file's bytes; only private or anonymous memory would lose
        // its content. `open` makes no mapping of another kind.
        let _ = unsafe {
            self.map
                .unchecked_advise_range(advice, range.start, range.len())
        };
    }

    /// Does nothing: this system takes no advice.
    #[cfg(not(unix))]
    pub(crate) fn advise_will_need(&self, _range: Range<usize>) {}

    /// Does nothing: this system takes no advice.
    #[cfg(not(unix))]
    pub(crate) fn advise_dont_need(&self, _range: Range<usize>) {}
}

fn require_regular(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(invalid("this is a directory; a file is needed".to_string()));
    }
    if !metadata.is_file() {
        return Err(invalid(
            "this is a pipe or a device; a regular file is needed".to_string(),
        ));
    }
    Ok(())
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}
