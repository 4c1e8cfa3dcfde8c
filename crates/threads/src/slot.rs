//! One region, and the slot through which workers join it.
//!
//! A slot's whole state is one word, so that joining is a single compare-and-swap:
//!
//! ```text
//! bit 31 TAKEN   a caller owns the slot
//! bit 30 WAITS   the caller sleeps until the last helper wakes it
//! 12..24 seats   helpers that may still join
//!  0..12 active  helpers inside the region
//! ```
//!
//! The region lives on the caller's stack. It may be touched only between a successful join, which
//! raises `active`, and the matching leave, because its caller returns only once seats and `active`
//! are both 0. A join that meets the next region in the same slot is no mistake: the swap proves
//! that *some* region offers a seat now, and its address is read after it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;

use crate::spread;

const TAKEN: u32 = 1 << 31;
const WAITS: u32 = 1 << 30;
const SEAT: u32 = 1 << 12;
const SEATS: u32 = 0xfff * SEAT;
const ACTIVE: u32 = 0xfff;

/// Most helpers of one region, so that `seats` and `active` fit their 12 bits.
pub(crate) const MAX_HELPERS: usize = 0xfff;

/// The counter that every participant writes, on cache lines of its own (two, because processors
/// fetch neighbours in pairs).
#[repr(align(128))]
struct Counter(AtomicUsize);

/// One call of `parallel_for`.
pub(crate) struct Region<'a> {
    next: Counter,
    tasks: usize,
    task: &'a (dyn Fn(usize) + Sync),
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'a> Region<'a> {
    pub(crate) fn new(tasks: usize, task: &'a (dyn Fn(usize) + Sync)) -> Self {
        Self {
            next: Counter(AtomicUsize::new(0)),
            tasks,
            task,
            panic: Mutex::new(None),
        }
    }

    /// Runs tasks until none is left. A panic ends the hand-out, and the first one is kept.
    pub(crate) fn work(&self) {
        let result = catch_unwind(AssertUnwindSafe(|| {
            loop {
                // The slot's state orders memory; the counter only has to give each index once.
                let index = self.next.0.fetch_add(1, Ordering::Relaxed);
                if index >= self.tasks {
                    break;
                }
                (self.task)(index);
            }
        }));
        if let Err(payload) = result {
            self.next.0.store(self.tasks, Ordering::Relaxed);
            self.panic
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert(payload);
        }
    }

    /// The panic of a task, if there was one.
    pub(crate) fn into_panic(self) -> Option<Box<dyn Any + Send>> {
        self.panic
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place where a caller offers seats in its region.
#[repr(align(128))]
pub(crate) struct Slot {
    state: AtomicU32,
    region: AtomicPtr<Region<'static>>,
    caller: Mutex<Option<Thread>>,
    /// The processor of the helper that woke the caller; see `spread`.
    waker: AtomicUsize,
}

impl Slot {
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            region: AtomicPtr::new(std::ptr::null_mut()),
            caller: Mutex::new(None),
            waker: AtomicUsize::new(spread::NOWHERE),
        }
    }

    /// Takes the slot when it is free.
    pub(crate) fn take(&self) -> bool {
        self.state.load(Ordering::Relaxed) == 0
            && self
                .state
                .compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Offers `seats` seats in `region`, to whose end of life [`Slot::close`] must be called.
    ///
    /// # Safety
    /// The caller took this slot, and calls `close` before `region` is moved, dropped or borrowed
    /// mutably.
    pub(crate) unsafe fn open(&self, region: &Region<'_>, seats: usize) {
        let region: *const Region<'_> = region;
        self.region
            .store(region.cast_mut().cast(), Ordering::Relaxed);
        // A number of helpers is at most MAX_HELPERS, which fits.
        let seats = seats.min(MAX_HELPERS) as u32 * SEAT;
        // Sequentially consistent: see `Pool::sleep`.
        self.state.store(TAKEN | seats, Ordering::SeqCst);
    }

    /// Whether a worker could join now.
    pub(crate) fn has_seat(&self) -> bool {
        self.state.load(Ordering::SeqCst) & SEATS != 0
    }

    /// Joins the region, works in it and leaves; false when no seat is free. `joined` is called
    /// with whether seats are left, before the work.
    pub(crate) fn help(&self, joined: impl FnOnce(bool)) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & SEATS == 0 {
                return false;
            }
            let next = state - SEAT + 1;
            match self.state.compare_exchange_weak(
                state,
                next,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    joined(next & SEATS != 0);
                    break;
                }
                Err(now) => state = now,
            }
        }
        let region = self.region.load(Ordering::Relaxed);
        // SAFETY: the swap above found a free seat, so an open region was stored before (acquire
        // against the release of `open`), and raised `active`, so its caller stays in `close`,
        // which the contract of `open` demands, until `leave` below.
        let region = unsafe { &*region };
        region.work();
        self.leave();
        true
    }

    /// Gives up a place among the active helpers; the last one wakes a sleeping caller.
    fn leave(&self) {
        let before = self.state.fetch_sub(1, Ordering::Release);
        if before & WAITS != 0 && before & ACTIVE == 1 {
            let caller = self
                .caller
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            let processor = spread::current().unwrap_or(spread::NOWHERE);
            self.waker.store(processor, Ordering::Relaxed);
            // Until this store the caller sleeps on, so the slot is not yet anyone else's.
            self.state.fetch_and(!WAITS, Ordering::Release);
            if let Some(caller) = caller {
                caller.unpark();
            }
        }
    }

    /// Ends the offer, waits until every helper has left, and frees the slot. `spin` is asked
    /// between looks whether to go on looking before the thread sleeps. Gives the processor of who
    /// woke it then.
    pub(crate) fn close(&self, mut spin: impl FnMut() -> bool) -> Option<usize> {
        let mut state = self.state.fetch_and(!SEATS, Ordering::Acquire);
        while state & ACTIVE != 0 && spin() {
            state = self.state.load(Ordering::Acquire);
        }
        let slept = state & ACTIVE != 0 && self.sleep_until_left();
        let waker = slept.then(|| self.waker.load(Ordering::Relaxed));
        self.state.store(0, Ordering::Release);
        waker
    }

    /// False when there was no reason to sleep any more.
    fn sleep_until_left(&self) -> bool {
        let caller = std::thread::current();
        *self.caller.lock().unwrap_or_else(PoisonError::into_inner) = Some(caller);
        let wait = |state: u32| (state & ACTIVE != 0).then_some(state | WAITS);
        if self
            .state
            .fetch_update(Ordering::Acquire, Ordering::Acquire, wait)
            .is_err()
        {
            // The last helper left meanwhile without seeing WAITS, and wakes nobody.
            return false;
        }
        while self.state.load(Ordering::Acquire) & WAITS != 0 {
            std::thread::park();
        }
        true
    }
}
