//! A thread that wakes up on its waker's processor moves to another.
//!
//! Linux looks for an idle processor near the waker's only where that neighbourhood is large or
//! idle enough. On two cores it is neither: a worker that once slept on the caller's core is woken
//! there again, waits for the caller to be preempted, and goes back to sleep on the same core. The
//! two share it for seconds while the other is idle. One move ends that: from then on the thread's
//! last processor is idle when it is woken, and Linux prefers that one.
//!
//! A thread moves by forbidding itself the processor and allowing it again at once. Elsewhere
//! nothing is done: `current` knows no processor.

/// A number that no processor has.
pub(crate) const NOWHERE: usize = usize::MAX;

/// The processor that the calling thread is on.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn current() -> Option<usize> {
    // SAFETY: the call takes nothing and reads a number.
    usize::try_from(unsafe { linux::sched_getcpu() }).ok()
}

/// The processor that the calling thread is on.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn current() -> Option<usize> {
    None
}

/// Moves the calling thread to another processor, if it may use one.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn leave(processor: usize) {
    let Some(allowed) = linux::allowed() else {
        return;
    };
    let mut others = allowed;
    if let Some(word) = others.get_mut(processor / 64) {
        *word &= !(1 << (processor % 64));
    }
    if others != [0; linux::WORDS] && others != allowed && linux::allow(&others) {
        linux::allow(&allowed);
    }
}

/// Moves the calling thread to another processor, if it may use one.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn leave(_processor: usize) {}

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use std::ffi::c_int;

    /// Words of a set of 1,024 processors; a kernel of more refuses it, and nothing moves.
    pub(super) const WORDS: usize = 16;

    unsafe extern "C" {
        pub(super) fn sched_getcpu() -> c_int;
        fn sched_getaffinity(thread: c_int, bytes: usize, set: *mut u64) -> c_int;
        fn sched_setaffinity(thread: c_int, bytes: usize, set: *const u64) -> c_int;
    }

    /// The processors that the calling thread may use.
    pub(super) fn allowed() -> Option<[u64; WORDS]> {
        let mut set = [0; WORDS];
        // SAFETY: `set` is live and as long as is said; thread 0 is the calling one.
        let status = unsafe { sched_getaffinity(0, size_of_val(&set), set.as_mut_ptr()) };
        (status == 0).then_some(set)
    }

    /// Sets the processors that the calling thread may use; whether that was granted.
    pub(super) fn allow(set: &[u64; WORDS]) -> bool {
        // SAFETY: `set` is live and as long as is said; thread 0 is the calling one.
        unsafe { sched_setaffinity(0, size_of_val(set), set.as_ptr()) == 0 }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_moves_may_use_what_it_could_before() {
        std::thread::spawn(|| {
            let allowed = linux::allowed();
            let processor = current().expect("Linux knows the processor");
            leave(processor);
            assert_eq!(linux::allowed(), allowed);
            leave(usize::MAX);
            assert_eq!(linux::allowed(), allowed);
        })
        .join()
        .expect("nothing panics");
    }

    #[test]
    fn the_only_processor_is_not_left() {
        std::thread::spawn(|| {
            let processor = current().expect("Linux knows the processor");
            let mut only = [0; linux::WORDS];
            only[processor / 64] = 1 << (processor % 64);
            assert!(linux::allow(&only));
            leave(processor);
            assert_eq!((linux::allowed(), current()), (Some(only), Some(processor)));
        })
        .join()
        .expect("nothing panics");
    }
}
