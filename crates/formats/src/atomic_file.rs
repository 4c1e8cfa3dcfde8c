//! A file that appears whole or not at all.
//!
//! Bytes go to a temporary file in the target's own folder (a rename cannot cross file systems).
//! [`AtomicFile::finish`] brings them to the disk and renames the file over the target; until
//! then a file that stood there stays as it is, and whoever has it mapped keeps it even after.
//! Dropped without `finish`, the temporary file is removed.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file through a temporary one beside it.
///
/// ```
/// use std::io::Write;
/// # let folder = std::env::temp_dir();
/// # let path = folder.join(format!("tallow-doc-{}.txt", std::process::id()));
/// let mut file = tallow_formats::AtomicFile::create(&path)?;
/// file.write_all(b"all of it")?;
/// file.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    temporary: PathBuf,
    /// None once the temporary file is renamed or removed.
    file: Option<fs::File>,
}

impl AtomicFile {
    /// Begins a file that will stand at `target`, in a folder that exists.
    pub fn create(target: impl AsRef<Path>) -> io::Result<Self> {
        let target = target.as_ref().to_path_buf();
        if target.is_dir() {
            let problem = "this is a directory; a file name is needed";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let temporary = temporary_beside(&target)?;
        let file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)?;
        Ok(AtomicFile {
            target,
            temporary,
            file: Some(file),
        })
    }

    /// The path at which the file will stand.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Brings all bytes to the disk and puts the file in its place.
    pub fn finish(mut self) -> io::Result<()> {
        let file = self.file.as_ref().ok_or_else(discarded)?;
        file.sync_all()?;
        // Closed before the rename: Windows would refuse to rename an open file.
        self.file = None;
        if let Err(error) = fs::rename(&self.temporary, &self.target) {
            remove(&self.temporary);
            return Err(error);
        }
        // The name itself is safe once the folder is synced; some systems cannot open a folder,
        // and there the rename is as safe as it can be.
        if let Ok(folder) = fs::File::open(folder_of(&self.target)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Removes what was written so far; later writes fail.
    pub fn discard(&mut self) {
        if self.file.take().is_some() {
            remove(&self.temporary);
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().ok_or_else(discarded)?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.as_mut().ok_or_else(discarded)?.seek(to)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        self.discard();
    }
}

/// `.NAME.PID-COUNTER.part` beside `target`: no two writers share one.
fn temporary_beside(target: &Path) -> io::Result<PathBuf> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let Some(file_name) = target.file_name() else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a file name is needed",
        ));
    };
    let mut name = OsString::from(".");
    name.push(file_name);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{count}.part", process::id()));
    Ok(folder_of(target).join(name))
}

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Removes a temporary file; there is nobody to tell if that fails.
fn remove(temporary: &Path) {
    let _ = fs::remove_file(temporary);
}

fn discarded() -> io::Error {
    io::Error::other("an earlier write failed, and the file was removed")
}
