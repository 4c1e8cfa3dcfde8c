//! The kernel pack: compiled kernels for chosen targets in one file, which ships with the program.
//!
//! ```text
//! "tallow kernel pack 1\n" | entries, u64 | entry × n | SHA-256 of the entries | blobs
//! entry: key, 32 bytes | start of the blob in the file, u64 | its bytes, u64 | its SHA-256
//! ```
//!
//! A key is the SHA-256 of target, options and the kernel's whole text, so that a pack of another
//! version of the program is as good as none. Only CUDA has a pack: its machine code is for an
//! architecture, whatever the driver. Numbers are little-endian.

use crate::driver::{Api, Program};
use crate::source::Variant;
use crate::{GpuError, Result, device_lib, drivers};
use hashbrown::HashMap;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

const MAGIC: &[u8] = b"tallow kernel pack 1\n";
const ENTRY_BYTES: usize = 32 + 8 + 8 + 32;
/// A count beyond this is no pack's: it would be gigabytes of kernels.
const ENTRIES_MAX: u64 = 1 << 20;
const BLOB_BYTES_MAX: u64 = 1 << 28;

type Digest32 = [u8; 32];

/// A pack, opened: its entries are read, its blobs when they are asked for.
pub(super) struct Pack {
    file: Mutex<File>,
    entries: HashMap<Digest32, Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    bytes: u64,
    sum: Digest32,
}

/// What a kernel in a pack is known by.
pub(super) fn key(target: &str, program: &Program<'_>) -> Digest32 {
    let Program {
        entry,
        text,
        group,
        fast_math,
    } = program;
    let mut sum = Sha256::new();
    sum.update(format!("{target}\0{entry}\0{group}\0{fast_math}\0"));
    sum.update(text);
    sum.finalize().into()
}

impl Pack {
    /// Opens a pack. An error of another kind than "not found" says that the file is none.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
        let mut file = File::open(path)?;
        let mut head = [0; MAGIC.len() + 8];
        file.read_exact(&mut head)?;
        let count = head
            .strip_prefix(MAGIC)
            .and_then(|count| count.try_into().ok())
            .map(u64::from_le_bytes)
            .filter(|&count| count <= ENTRIES_MAX)
            .ok_or_else(|| wrong("no kernel pack of this version"))?;
        let mut table = vec![0; count as usize * ENTRY_BYTES];
        file.read_exact(&mut table)?;
        let mut sum: Digest32 = [0; 32];
        file.read_exact(&mut sum)?;
        if <Digest32>::from(Sha256::digest(&table)) != sum {
            return Err(wrong("its table is damaged"));
        }
        let (entries, _) = table.as_chunks::<ENTRY_BYTES>();
        let entries = entries.iter().filter_map(|entry| {
            let (key, rest) = entry.split_first_chunk::<32>()?;
            let (start, rest) = rest.split_first_chunk::<8>()?;
            let (bytes, sum) = rest.split_first_chunk::<8>()?;
            let entry = Entry {
                start: u64::from_le_bytes(*start),
                bytes: u64::from_le_bytes(*bytes),
                sum: sum.try_into().ok()?,
            };
            Some((*key, entry))
        });
        Ok(Self {
            entries: entries.collect(),
            file: Mutex::new(file),
        })
    }

    /// How many kernels it has.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The blob of a key, if it is there and whole.
    pub(super) fn read(&self, key: &Digest32) -> Option<Vec<u8>> {
        let entry = self.entries.get(key)?;
        if entry.bytes > BLOB_BYTES_MAX {
            return None;
        }
        let mut blob = vec![0; entry.bytes as usize];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(entry.start)).ok()?;
            file.read_exact(&mut blob).ok()?;
        }
        (<Digest32>::from(Sha256::digest(&blob)) == entry.sum).then_some(blob)
    }
}

/// A kernel compiled for a pack.
#[derive(Clone, Debug)]
pub struct PackedKernel {
    key: Digest32,
    blob: Vec<u8>,
}

/// Compiles variants for a CUDA architecture (`sm_90a`) by NVRTC, in parallel; no GPU is needed.
/// Errors where there is no NVRTC, and on the first text that does not compile.
pub fn compile_for_pack(architecture: &str, variants: &[Variant]) -> Result<Vec<PackedKernel>> {
    let driver = drivers::cuda_on_paper(architecture)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let compile = |variant: &Variant| -> Result<PackedKernel> {
        variant.source.signature()?;
        let text = device_lib::program(driver.info(), variant, None);
        let program = Program {
            entry: variant.source.name(),
            text: &text,
            group: variant.source.group(),
            fast_math: false,
        };
        let (_, blob) = driver.compile(&program)?;
        let blob = blob.ok_or_else(|| GpuError::Compile {
            api: Api::Cuda,
            kernel: program.entry.into(),
            log: "the compiler gave no machine code".into(),
        })?;
        let key = key(architecture, &program);
        Ok(PackedKernel { key, blob })
    };
    let parts = std::thread::scope(|scope| {
        let work = || -> Result<Vec<PackedKernel>> {
            let mut made = Vec::new();
            while let Some(variant) = variants.get(next.fetch_add(1, Ordering::Relaxed)) {
                made.push(compile(variant)?);
            }
            Ok(made)
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Result<Vec<PackedKernel>>>| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    Ok(parts.into_iter().flatten().collect())
}

/// Writes a pack; the file appears whole. Kernels that are there twice are written once. Gives the
/// number of kernels and the bytes of the file.
pub fn write_pack(path: &Path, kernels: &[PackedKernel]) -> io::Result<(usize, u64)> {
    let mut kernels: Vec<_> = kernels.iter().collect();
    kernels.sort_by_key(|kernel| kernel.key);
    kernels.dedup_by_key(|kernel| kernel.key);
    let table_bytes = kernels.len() * ENTRY_BYTES;
    let mut start = (MAGIC.len() + 8 + table_bytes + 32) as u64;
    let mut table = Vec::with_capacity(table_bytes);
    for kernel in &kernels {
        table.extend(kernel.key);
        table.extend(start.to_le_bytes());
        table.extend((kernel.blob.len() as u64).to_le_bytes());
        table.extend(Sha256::digest(&kernel.blob));
        start += kernel.blob.len() as u64;
    }
    // A file that others may read as well, which temporary ones are not.
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = io::BufWriter::new(File::create(&partial)?);
        file.write_all(MAGIC)?;
        file.write_all(&(kernels.len() as u64).to_le_bytes())?;
        file.write_all(&table)?;
        file.write_all(&Sha256::digest(&table))?;
        for kernel in &kernels {
            file.write_all(&kernel.blob)?;
        }
        file.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()?;
        std::fs::rename(&partial, path)
    };
    write().inspect_err(|_| {
        // The error says more than a file that stays would.
        let _ = std::fs::remove_file(&partial);
    })?;
    Ok((kernels.len(), start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(text: &str) -> Program<'_> {
        Program {
            entry: "k",
            text,
            group: 32,
            fast_math: false,
        }
    }

    fn kernels() -> Vec<PackedKernel> {
        let kernel = |target, text, blob: &[u8]| PackedKernel {
            key: key(target, &program(text)),
            blob: blob.to_vec(),
        };
        vec![
            kernel("sm_80", "one", b"first"),
            kernel("sm_90a", "one", b"second"),
            kernel("sm_80", "two", b""),
            kernel("sm_80", "one", b"first"),
        ]
    }

    #[test]
    fn a_pack_gives_what_was_put_in_for_its_target_and_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernels.pack");
        let (count, bytes) = write_pack(&path, &kernels()).unwrap();
        assert_eq!((count, bytes), (3, std::fs::metadata(&path).unwrap().len()));
        let pack = Pack::open(&path).unwrap();
        let read = |target, text| pack.read(&key(target, &program(text)));
        assert_eq!(read("sm_80", "one").as_deref(), Some(&b"first"[..]));
        assert_eq!(read("sm_90a", "one").as_deref(), Some(&b"second"[..]));
        assert_eq!(read("sm_80", "two").as_deref(), Some(&b""[..]));
        assert_eq!(read("sm_90a", "two"), None);
        let fast = Program {
            fast_math: true,
            ..program("one")
        };
        assert_eq!(pack.read(&key("sm_80", &fast)), None);
    }

    #[test]
    fn a_damaged_pack_gives_nothing_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernels.pack");
        write_pack(&path, &kernels()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let first = key("sm_80", &program("one"));
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            for bytes in [&damaged[..], &whole[..at]] {
                std::fs::write(&path, bytes).unwrap();
                let found = Pack::open(&path).ok().and_then(|pack| pack.read(&first));
                assert!(found.is_none_or(|blob| blob == b"first"), "byte {at}");
            }
        }
        assert!(Pack::open(&folder.path().join("none")).is_err());
    }
}
