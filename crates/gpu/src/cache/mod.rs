//! Compiled kernels: in memory, on disk, else from the compiler, one variant at a time.
//!
//! A variant is compiled by one thread while others that want the same wait for it and nobody else
//! does. [`prepare`](KernelCache::prepare) makes many at once, in parallel. A kernel is known by
//! its whole text, its options, and the device, driver and compiler it was made for.

mod disk;

use crate::command::Kernel;
use crate::driver::{Driver, Program};
use crate::settings::Settings;
use crate::source::Variant;
use crate::{Result, device_lib};
use disk::Disk;
use hashbrown::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

type Slot = Arc<OnceLock<Result<Arc<Kernel>>>>;

pub(crate) struct KernelCache {
    slots: Mutex<HashMap<Variant, Slot>>,
    disk: Option<Disk>,
    fast_math: bool,
    nonce: Option<String>,
    compiled: AtomicU64,
    loaded: AtomicU64,
}

/// Where kernels came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounts {
    /// Compiled from their text.
    pub compiled: u64,
    /// Loaded from the folder of compiled kernels.
    pub loaded: u64,
}

impl KernelCache {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            slots: Mutex::default(),
            disk: settings.cache.clone().map(Disk::new),
            fast_math: settings.fast_math,
            nonce: settings.nonce.clone(),
            compiled: AtomicU64::new(0),
            loaded: AtomicU64::new(0),
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

    pub(crate) fn counts(&self) -> KernelCounts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        KernelCounts {
            compiled: load(&self.compiled),
            loaded: load(&self.loaded),
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
        let key = disk::key(info, &program);
        let kept = self.disk.as_ref().and_then(|disk| disk.read(entry, &key));
        if let Some(blob) = kept {
            match driver.load(&program, &blob) {
                Ok(handle) => {
                    trace("loaded", blob.len());
                    self.loaded.fetch_add(1, Ordering::Relaxed);
                    return Ok(kernel(handle));
                }
                Err(error) => {
                    tracing::debug!(target: "tallow::kernels", kernel = entry, %error, "unfit");
                }
            }
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
