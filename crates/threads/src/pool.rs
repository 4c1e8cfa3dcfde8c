//! The workers: how they find regions, spin, sleep and are woken.
//!
//! A worker looks for a slot with a free seat, helps there, and looks again; after `SPIN` without
//! one it goes to the list of sleepers and parks. A caller that opens a region wakes two sleepers,
//! and every worker that joins wakes two more while seats are left: a tree, so that the caller
//! pays for two wake-ups, not for all.
//!
//! No wake-up is lost: a caller stores seats and then reads the number of sleepers, a worker
//! raises that number and then reads the seats, all sequentially consistent, so one of them sees
//! the other.
//!
//! Spinning is bounded, and is left out where the pool has more threads than the machine runs at
//! once: there a spinning thread takes the core from the one it waits for.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use crate::slot::{MAX_HELPERS, Region, Slot};
use crate::spread;

/// Regions that have helpers at the same time; further ones run on their callers alone. One word
/// of `open` bits.
const SLOTS: usize = 64;

/// How long a worker looks for work before it parks, and a caller for its helpers' end: about what
/// a wake-up by the kernel costs (10 to 50 µs), so waiting costs at most twice the best choice.
const SPIN: Duration = Duration::from_micros(30);

/// Pauses between two readings of the clock while spinning: a pause takes 40 to 140 cycles, a
/// reading some 25 ns, so the clock is a small part of it.
const PAUSES_PER_LOOK: usize = 8;

/// A set of workers and the slots that they serve.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    slots: [Slot; SLOTS],
    /// Bit i: slot i is open. A hint where to look; `Slot::help` decides.
    open: AtomicU64,
    sleepers: Mutex<Vec<Arc<Sleeper>>>,
    /// Length of `sleepers`, readable without the lock.
    sleeping: AtomicUsize,
    workers: AtomicUsize,
    /// Threads that the machine runs at once.
    parallelism: usize,
    stop: AtomicBool,
}

/// A worker as those see it who wake it.
struct Sleeper {
    thread: OnceLock<Thread>,
    asleep: AtomicBool,
    /// The processor of who woke it; see `spread`.
    waker: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds one of these locks, and each guards a value that is whole
    // between statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    pub(crate) fn new() -> Self {
        let shared = Shared {
            slots: [const { Slot::new() }; SLOTS],
            open: AtomicU64::new(0),
            sleepers: Mutex::new(Vec::new()),
            sleeping: AtomicUsize::new(0),
            workers: AtomicUsize::new(0),
            parallelism: thread::available_parallelism().map_or(1, |count| count.get()),
            stop: AtomicBool::new(false),
        };
        Self {
            shared: Arc::new(shared),
            handles: Mutex::new(Vec::new()),
        }
    }

    /// The pool of this process. Its workers live as long as the process.
    pub(crate) fn global() -> &'static Self {
        static POOL: OnceLock<Pool> = OnceLock::new();
        POOL.get_or_init(Self::new)
    }

    /// Runs a region on the calling thread and at most `helpers` workers.
    pub(crate) fn run(&self, helpers: usize, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        let helpers = self.grow(helpers.min(MAX_HELPERS));
        let region = Region::new(tasks, task);
        match (0..SLOTS).find(|index| helpers > 0 && self.shared.slots[*index].take()) {
            Some(index) => self.run_in_slot(index, helpers, &region),
            None => region.work(),
        }
        if let Some(payload) = region.into_panic() {
            std::panic::resume_unwind(payload);
        }
    }

    fn run_in_slot(&self, index: usize, helpers: usize, region: &Region<'_>) {
        let shared = &*self.shared;
        let (slot, bit) = (&shared.slots[index], 1 << index);
        // SAFETY: `run` took the slot. Nothing between here and `close` unwinds: `work` catches
        // panics of tasks, and the rest are atomic operations and locks.
        unsafe { slot.open(region, helpers) };
        shared.open.fetch_or(bit, Ordering::SeqCst);
        shared.wake_two();
        region.work();
        shared.open.fetch_and(!bit, Ordering::Relaxed);
        let mut spin = Spin::new(shared);
        if let Some(waker) = slot.close(|| spin.again()) {
            shared.keep_apart(waker);
        }
    }

    /// Starts workers until there are `count`, as far as the system allows; how many of `count`
    /// there are.
    fn grow(&self, count: usize) -> usize {
        let now = self.shared.workers.load(Ordering::Relaxed);
        // WebAssembly without threads has no way to start one.
        if now >= count || cfg!(target_family = "wasm") {
            return now.min(count);
        }
        let mut handles = lock(&self.handles);
        while handles.len() < count {
            let shared = Arc::clone(&self.shared);
            let name = format!("tallow-{}", handles.len());
            let index = handles.len();
            match thread::Builder::new()
                .name(name)
                .spawn(move || work(&shared, index))
            {
                Ok(handle) => handles.push(handle),
                Err(_) => break,
            }
        }
        self.shared.workers.store(handles.len(), Ordering::Relaxed);
        handles.len().min(count)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        while self.shared.sleeping.load(Ordering::SeqCst) > 0 {
            self.shared.wake_two();
        }
        for handle in lock(&self.handles).drain(..) {
            // A worker catches the panics of tasks and has none of its own.
            let _ = handle.join();
        }
    }
}

impl Shared {
    /// Helps in one region; false when none has a seat. Looking starts at another slot for each
    /// worker, so that several regions at once share the workers.
    fn help(&self, worker: usize) -> bool {
        let start = (worker % SLOTS) as u32;
        let mut open = self.open.load(Ordering::Acquire).rotate_right(start);
        while open != 0 {
            let index = (open.trailing_zeros() + start) as usize % SLOTS;
            let wake_more = |seats_left| {
                if seats_left {
                    self.wake_two();
                }
            };
            if self.slots[index].help(wake_more) {
                return true;
            }
            open &= open - 1;
        }
        false
    }

    fn has_work(&self) -> bool {
        let mut open = self.open.load(Ordering::SeqCst);
        while open != 0 {
            if self.slots[open.trailing_zeros() as usize].has_seat() {
                return true;
            }
            open &= open - 1;
        }
        self.stop.load(Ordering::SeqCst)
    }

    fn wake_two(&self) {
        if self.sleeping.load(Ordering::SeqCst) == 0 {
            return;
        }
        let woken = {
            let mut sleepers = lock(&self.sleepers);
            let woken = [sleepers.pop(), sleepers.pop()];
            self.sleeping.store(sleepers.len(), Ordering::SeqCst);
            woken
        };
        let processor = spread::current().unwrap_or(spread::NOWHERE);
        for sleeper in woken.into_iter().flatten() {
            sleeper.waker.store(processor, Ordering::Relaxed);
            sleeper.asleep.store(false, Ordering::Release);
            if let Some(thread) = sleeper.thread.get() {
                thread.unpark();
            }
        }
    }

    fn sleep(&self, me: &Arc<Sleeper>) {
        {
            let mut sleepers = lock(&self.sleepers);
            me.asleep.store(true, Ordering::Relaxed);
            sleepers.push(Arc::clone(me));
            self.sleeping.store(sleepers.len(), Ordering::SeqCst);
        }
        if self.has_work() {
            let mut sleepers = lock(&self.sleepers);
            sleepers.retain(|sleeper| !Arc::ptr_eq(sleeper, me));
            self.sleeping.store(sleepers.len(), Ordering::SeqCst);
            return;
        }
        while me.asleep.load(Ordering::Acquire) {
            thread::park();
        }
        self.keep_apart(me.waker.load(Ordering::Relaxed));
    }

    /// Moves the calling thread off the processor of who woke it and goes on to work there. Where
    /// threads outnumber processors, some have to share.
    fn keep_apart(&self, waker: usize) {
        if spread::current() == Some(waker) && !self.is_crowded() {
            spread::leave(waker);
        }
    }

    /// Whether there are more threads than the machine runs at once. The callers' threads come on
    /// top of the workers; one is assumed.
    fn is_crowded(&self) -> bool {
        self.workers.load(Ordering::Relaxed) >= self.parallelism
    }
}

/// The life of a worker.
fn work(shared: &Shared, index: usize) {
    #[cfg(target_os = "macos")]
    crate::macos::prefer_performance_cores();
    crate::region::mark_worker();
    let me = Arc::new(Sleeper {
        thread: OnceLock::new(),
        asleep: AtomicBool::new(false),
        waker: AtomicUsize::new(spread::NOWHERE),
    });
    me.thread.get_or_init(thread::current);
    while !shared.stop.load(Ordering::Relaxed) {
        if shared.help(index) {
            continue;
        }
        let mut spin = Spin::new(shared);
        while !shared.has_work() {
            if !spin.again() {
                shared.sleep(&me);
                break;
            }
        }
    }
}

/// A bounded wait: spins for [`SPIN`], or yields a few times where threads outnumber cores.
struct Spin {
    end: Option<Instant>,
    yields_left: usize,
}

impl Spin {
    fn new(shared: &Shared) -> Self {
        Self {
            end: (!shared.is_crowded()).then(|| Instant::now() + SPIN),
            yields_left: 2,
        }
    }

    /// Waits a moment; false when the time for it is over.
    fn again(&mut self) -> bool {
        match self.end {
            Some(end) => {
                (0..PAUSES_PER_LOOK).for_each(|_| std::hint::spin_loop());
                Instant::now() < end
            }
            None => {
                thread::yield_now();
                self.yields_left = self.yields_left.saturating_sub(1);
                self.yields_left > 0
            }
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
