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
use std::io::{Read, Write};
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
        let (kept_key, sum, blob) = parse(&bytes)?;
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

/// A kernel in the folder of compiled kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptKernel {
    /// Its function.
    pub kernel: String,
    /// The interface that it is for, as its name is written.
    pub api: String,
    /// Device, driver and compiler that it is for.
    pub device: String,
    /// The size of its file.
    pub bytes: u64,
}

/// The kernels in a folder; what is no kernel of this version has an empty name. A folder that is
/// not there has none.
pub fn kept(folder: &Path) -> std::io::Result<Vec<KeptKernel>> {
    let mut all = Vec::new();
    for path in files(folder)? {
        let Ok((start, bytes)) = start_of(&path) else {
            continue;
        };
        let rest = start.strip_prefix(MAGIC);
        let key = rest
            .and_then(<[u8]>::split_first_chunk::<8>)
            .map(|(length, rest)| {
                let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
                String::from_utf8_lossy(&rest[..length.min(rest.len())])
            });
        let mut parts = key.as_deref().unwrap_or("").split('\0');
        let mut part = || parts.next().unwrap_or("").to_string();
        let (api, device, kernel) = (part(), part(), part());
        all.push(KeptKernel {
            kernel,
            api,
            device,
            bytes,
        });
    }
    Ok(all)
}

/// The first bytes of a file, in which a key names its kernel, and the size of the file.
fn start_of(path: &Path) -> std::io::Result<(Vec<u8>, u64)> {
    let file = std::fs::File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut start = Vec::new();
    file.take(1024).read_to_end(&mut start)?;
    Ok((start, bytes))
}

/// Removes the kernels of a folder, and nothing else that is in it. Gives how many.
pub fn clear_kept(folder: &Path) -> std::io::Result<usize> {
    let all = files(folder)?;
    for path in &all {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(all.len())
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let is_ours = |path: &PathBuf| path.extension().is_some_and(|end| end == "kernel");
    let mut all: Vec<_> = paths.filter(is_ours).collect();
    all.sort();
    Ok(all)
}

/// Key, checksum and blob of a file.
fn parse(bytes: &[u8]) -> Option<(&[u8], &[u8; 32], &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (key, rest) = rest.split_at_checked(length)?;
    let (sum, blob) = rest.split_first_chunk::<32>()?;
    Some((key, sum, blob))
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
        let keys = [&b"opencl\0pocl 3\0k\0\x32"[..], b"key"];
        keys.iter().for_each(|key| disk.write("k", key, b"blob"));
        let mut names: Vec<_> = kept(&disk.folder).unwrap();
        names.sort_by(|lhs, rhs| rhs.kernel.cmp(&lhs.kernel));
        assert_eq!((&*names[0].kernel, &*names[0].device), ("k", "pocl 3"));
        assert_eq!(
            (names.len(), &*names[0].api, &*names[1].kernel),
            (2, "opencl", "")
        );
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
    fn clearing_takes_kernels_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path().to_path_buf());
        disk.write("k", b"key", b"blob");
        std::fs::write(folder.path().join("other.txt"), "").unwrap();
        assert_eq!(clear_kept(folder.path()).unwrap(), 1);
        assert_eq!(disk.read("k", b"key"), None);
        assert!(folder.path().join("other.txt").exists());
        let nowhere = folder.path().join("none");
        assert_eq!(clear_kept(&nowhere).unwrap(), 0);
        assert!(kept(&nowhere).unwrap().is_empty());
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
