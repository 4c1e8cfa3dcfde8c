//! The folder of compiled kernels: a file each, with its whole key and a checksum.
//!
//! ```text
//! "tallow kernel 1\n" | length of the key, u64 | key | SHA-256 of key and blob | blob
//! ```
//!
//! A file of another key, or a damaged one, is as good as none. Files come to be by a rename, so a
//! reader never sees half of one. A folder that cannot be written costs compile time, and nothing
//! else.

use crate::driver::{DeviceInfo, Program};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;

const MAGIC: &[u8] = b"tallow kernel 1\n";
/// The most bytes that the folder holds: some ten thousand kernels.
const BYTES_MAX: u64 = 256 << 20;

pub(super) struct Disk {
    folder: PathBuf,
    complained: Once,
    swept: Once,
}

/// All that a compiled kernel depends on.
pub(super) fn key(info: &DeviceInfo, program: &Program<'_>) -> Vec<u8> {
    let Program {
        entry,
        text,
        group,
        fast_math,
    } = program;
    let (api, device) = (info.api, &info.fingerprint);
    format!("{api}\0{device}\0{entry}\0{group}\0{fast_math}\0{text}").into_bytes()
}

impl Disk {
    pub(super) fn new(folder: PathBuf) -> Self {
        let (complained, swept) = (Once::new(), Once::new());
        Self {
            folder,
            complained,
            swept,
        }
    }

    fn path(&self, entry: &str, key: &[u8]) -> PathBuf {
        let name: String = Sha256::digest(key)[..12]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        self.folder.join(format!("{entry}-{name}.kernel"))
    }

    /// The blob kept under a key.
    pub(super) fn read(&self, entry: &str, key: &[u8]) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.path(entry, key)).ok()?;
        let rest = bytes.strip_prefix(MAGIC)?;
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (kept_key, rest) = rest.split_at_checked(length)?;
        let (sum, blob) = rest.split_first_chunk::<32>()?;
        let whole = kept_key == key && checksum(key, blob) == *sum;
        whole.then(|| blob.to_vec())
    }

    /// Keeps a blob, if it can be kept.
    pub(super) fn write(&self, entry: &str, key: &[u8], blob: &[u8]) {
        self.swept.call_once(|| sweep(&self.folder, BYTES_MAX));
        if let Err(error) = self.try_write(&self.path(entry, key), key, blob) {
            self.complained.call_once(|| {
                let folder = self.folder.display();
                tracing::warn!(
                    target: "tallow::kernels",
                    "compiled kernels are not kept: {folder}: {error}"
                );
            });
        }
    }

    fn try_write(&self, path: &Path, key: &[u8], blob: &[u8]) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(MAGIC)?;
        file.write_all(&(key.len() as u64).to_le_bytes())?;
        file.write_all(key)?;
        file.write_all(&checksum(key, blob))?;
        file.write_all(blob)?;
        file.persist(path)?;
        Ok(())
    }
}

fn checksum(key: &[u8], blob: &[u8]) -> [u8; 32] {
    let mut sum = Sha256::new();
    sum.update(key);
    sum.update(blob);
    sum.finalize().into()
}

/// Removes the oldest files until the folder holds half of what it may; a file that is gone
/// meanwhile, or cannot be removed, is left out.
fn sweep(folder: &Path, bytes_max: u64) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let about = entry.metadata().ok()?;
            let ours = entry.path().extension().is_some_and(|end| end == "kernel");
            ours.then(|| (about.modified().ok(), about.len(), entry.path()))
        })
        .collect();
    let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    if total <= bytes_max {
        return;
    }
    files.sort();
    for (_, bytes, path) in files {
        if total <= bytes_max / 2 {
            break;
        }
        if std::fs::remove_file(path).is_ok() {
            total -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_is_damaged_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path().join("kernels"));
        assert_eq!(disk.read("k", b"key"), None);
        disk.write("k", b"key", b"blob");
        assert_eq!(disk.read("k", b"key").as_deref(), Some(&b"blob"[..]));
        assert_eq!(disk.read("k", b"other"), None);
        let path = disk.path("k", b"key");
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(disk.read("k", b"key"), None, "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(disk.read("k", b"key"), None, "cut at {at}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let disk = Disk::new(file.join("kernels"));
        disk.write("k", b"key", b"blob");
        assert_eq!(disk.read("k", b"key"), None);
    }

    #[test]
    fn a_full_folder_loses_its_oldest() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.kernel", "b.kernel", "c.kernel", "other.txt"] {
            let path = folder.path().join(name);
            std::fs::write(&path, [0; 100]).unwrap();
            let after = std::time::Duration::from_secs(u64::from(name.as_bytes()[0]));
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + after).unwrap();
        }
        sweep(folder.path(), 250);
        let left = |name: &str| folder.path().join(name).exists();
        assert!(!left("a.kernel") && !left("b.kernel") && left("c.kernel") && left("other.txt"));
    }
}
