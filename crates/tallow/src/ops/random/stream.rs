//! Where a device stands in its random numbers.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A seed and the number of the next block.
#[derive(Debug)]
pub(crate) struct Stream {
    seed: u64,
    next_block: u64,
}

impl Stream {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            next_block: 0,
        }
    }

    /// The processor's stream, locked.
    pub(crate) fn of_cpu() -> MutexGuard<'static, Self> {
        static CPU: OnceLock<Mutex<Stream>> = OnceLock::new();
        let cell = CPU.get_or_init(|| Mutex::new(Self::new(fresh()))).lock();
        cell.unwrap_or_else(PoisonError::into_inner)
    }

    /// The seed.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Starts anew.
    pub(crate) fn restart(&mut self, seed: u64) {
        *self = Self::new(seed);
    }

    /// The seed and the first of so many blocks, which nobody else gets.
    pub(crate) fn reserve(&mut self, blocks: u64) -> (u64, u64) {
        let first = self.next_block;
        self.next_block = first.wrapping_add(blocks);
        (self.seed, first)
    }
}

/// A seed that no other process has.
fn fresh() -> u64 {
    // The standard library's hash maps are keyed by the system's random numbers.
    RandomState::new().hash_one(0)
}

/// The seed of a GPU, by its number. Where its stream stands is in its own memory.
pub(super) fn gpu_seed(id: u64) -> u64 {
    let mut seeds = gpu_seeds();
    if let Some((_, seed)) = seeds.iter().find(|(known, _)| *known == id) {
        return *seed;
    }
    let seed = fresh();
    seeds.push((id, seed));
    seed
}

pub(super) fn set_gpu_seed(id: u64, seed: u64) {
    let mut seeds = gpu_seeds();
    seeds.retain(|(known, _)| *known != id);
    seeds.push((id, seed));
}

/// Number and seed of each GPU that was asked for one.
fn gpu_seeds() -> MutexGuard<'static, Vec<(u64, u64)>> {
    static SEEDS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());
    SEEDS.lock().unwrap_or_else(PoisonError::into_inner)
}
