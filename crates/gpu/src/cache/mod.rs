//! Compiled kernels: in memory, in the pack, on disk, else from the compiler; a variant at a time.
//!
//! A variant is compiled by one thread while others that want the same wait for it and nobody else
//! does. [`prepare`](KernelCache::prepare) makes many at once, in parallel. A kernel is known by
//! its whole text, its options, and the device, driver and compiler it was made for.

mod disk;
mod pack;

use crate::command::Kernel;
use crate::driver::{Driver, Program};
use crate::settings::Settings;
use crate::source::Variant;
use crate::{Result, device_lib};
use disk::Disk;
pub use disk::{KeptKernel, clear_kept, kept};
use hashbrown::HashMap;
pub use pack::{PackedKernel, compile_for_pack, write_pack};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

type Slot = Arc<OnceLock<Result<Arc<Kernel>>>>;

pub(crate) struct KernelCache {
    slots: Mutex<HashMap<Variant, Slot>>,
    pack: PackFile,
    disk: Option<Disk>,
    fast_math: bool,
    nonce: Option<String>,
    compiled: AtomicU64,
    loaded: AtomicU64,
    packed: AtomicU64,
}

/// Where kernels came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounts {
    /// Compiled from their text.
    pub compiled: u64,
    /// Loaded from the folder of compiled kernels.
    pub loaded: u64,
    /// Loaded from the kernel pack.
    pub packed: u64,
}

impl KernelCache {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            slots: Mutex::default(),
            pack: PackFile::new(settings.pack.clone()),
            disk: settings.cache.clone().map(Disk::new),
            fast_math: settings.fast_math,
            nonce: settings.nonce.clone(),
            compiled: AtomicU64::new(0),
            loaded: AtomicU64::new(0),
            packed: AtomicU64::new(0),
        }
    }

    /// The kernel of a variant, made if need be.
    pub(crate) fn get(&self, driver: &dyn Driver, variant: &Variant) -> Result<Arc<Kernel>> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            match slots.get(variant) {
                Some(slot) => Arc::clone(slot),
                None => Arc::clone(slots.entry(variant.clone()).or_default()),
            }
        };
        slot.get_or_init(|| self.make(driver, variant).map(Arc::new))
            .clone()
    }

    /// Makes kernels in parallel; the first error, if there is one, after all were tried.
    pub(crate) fn prepare(&self, driver: &dyn Driver, variants: &[Variant]) -> Result<()> {
        // Compilers are the system's, and use a thread each.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (next, failed) = (AtomicUsize::new(0), OnceLock::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.min(variants.len()) {
                scope.spawn(|| {
                    while let Some(variant) = variants.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let Err(error) = self.get(driver, variant) {
                            // Only the first is kept.
                            let _ = failed.set(error);
                        }
                    }
                });
            }
        });
        failed.into_inner().map_or(Ok(()), Err)
    }

    /// Every variant that was asked for so far.
    pub(crate) fn asked(&self) -> Vec<Variant> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.keys().cloned().collect()
    }

    pub(crate) fn counts(&self) -> KernelCounts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        KernelCounts {
            compiled: load(&self.compiled),
            loaded: load(&self.loaded),
            packed: load(&self.packed),
        }
    }

    fn make(&self, driver: &dyn Driver, variant: &Variant) -> Result<Kernel> {
        let (source, info) = (variant.source, driver.info());
        let signature = source.signature()?;
        let text = device_lib::program(info, variant, self.nonce.as_deref());
        let (entry, group) = (source.name(), source.group());
        let program = Program {
            entry,
            text: &text,
            group,
            fast_math: self.fast_math,
        };
        let kernel = |handle| Kernel::new(entry.into(), group, signature.overlaps_start, handle);
        let started = Instant::now();
        let trace = |how: &str, bytes: usize| {
            let ms = started.elapsed().as_secs_f64() * 1e3;
            tracing::debug!(target: "tallow::kernels", kernel = entry, ms, bytes, "{how}");
        };
        let load = |blob: &[u8], how: &str, count: &AtomicU64| match driver.load(&program, blob) {
            Ok(handle) => {
                trace(how, blob.len());
                count.fetch_add(1, Ordering::Relaxed);
                Some(handle)
            }
            Err(error) => {
                tracing::debug!(target: "tallow::kernels", kernel = entry, %error, "unfit");
                None
            }
        };
        if let Some(blob) = self.pack.read(&driver.targets(), &program)
            && let Some(handle) = load(&blob, "loaded from the pack", &self.packed)
        {
            return Ok(kernel(handle));
        }
        let key = disk::key(info, &program);
        if let Some(blob) = self.disk.as_ref().and_then(|disk| disk.read(entry, &key))
            && let Some(handle) = load(&blob, "loaded", &self.loaded)
        {
            return Ok(kernel(handle));
        }
        let (handle, blob) = driver.compile(&program)?;
        self.compiled.fetch_add(1, Ordering::Relaxed);
        trace("compiled", blob.as_ref().map_or(0, Vec::len));
        if let (Some(disk), Some(blob)) = (&self.disk, blob) {
            disk.write(entry, &key, &blob);
        }
        Ok(kernel(handle))
    }
}

/// The kernel pack, opened when the first kernel is asked for.
struct PackFile {
    path: Option<PathBuf>,
    opened: OnceLock<Option<pack::Pack>>,
}

impl PackFile {
    fn new(path: Option<PathBuf>) -> Self {
        let opened = OnceLock::new();
        Self { path, opened }
    }

    /// The kernel for the first of these targets that has it.
    fn read(&self, targets: &[String], program: &Program<'_>) -> Option<Vec<u8>> {
        if targets.is_empty() {
            return None;
        }
        let pack = self.opened.get_or_init(|| self.open()).as_ref()?;
        let mut keys = targets.iter().map(|target| pack::key(target, program));
        keys.find_map(|key| pack.read(&key))
    }

    fn open(&self) -> Option<pack::Pack> {
        let path = self.path.as_ref()?;
        match pack::Pack::open(path) {
            Ok(pack) => {
                let (path, kernels) = (path.display(), pack.len());
                tracing::debug!(target: "tallow::kernels", %path, kernels, "opened the pack");
                Some(pack)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                let path = path.display();
                tracing::warn!(target: "tallow::kernels", "the kernel pack {path}: {error}");
                None
            }
        }
    }
}
