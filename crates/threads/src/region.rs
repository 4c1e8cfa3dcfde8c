//! What callers use: [`parallel_for`], and how many threads it may take.

use std::cell::Cell;

use crate::pool::Pool;

thread_local! {
    /// Whether this thread is running a task, so that a region started here runs inline.
    static IN_TASK: Cell<bool> = const { Cell::new(false) };
    /// The count set by `with_num_threads`; 0 when none is.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Sets a thread-local value and puts the old one back when dropped, also by a panic.
struct Restore<T: Copy + 'static> {
    key: &'static std::thread::LocalKey<Cell<T>>,
    old: T,
}

impl<T: Copy> Restore<T> {
    fn set(key: &'static std::thread::LocalKey<Cell<T>>, value: T) -> Self {
        Self {
            key,
            old: key.replace(value),
        }
    }
}

impl<T: Copy> Drop for Restore<T> {
    fn drop(&mut self) {
        self.key.set(self.old);
    }
}

/// Says that the calling thread is a worker: all it ever runs is tasks.
pub(crate) fn mark_worker() {
    IN_TASK.set(true);
}

/// The number of threads, at least 1, that a region started here would use at most.
///
/// 1 inside a task; else the count of [`with_num_threads`]; else
/// [`configured_threads`](crate::configured_threads), or 1 when that is an error (a program shows
/// the error by calling it at its start).
pub fn num_threads() -> usize {
    if IN_TASK.get() {
        return 1;
    }
    match COUNT.get() {
        0 => crate::configured_threads().unwrap_or(1),
        count => count,
    }
}

/// Runs `f` with `count` threads for every region that this thread starts inside it.
///
/// `count` may exceed the configured number (the pool grows); 0 counts as 1.
///
/// ```
/// use tallow_threads::{num_threads, with_num_threads};
/// assert_eq!(with_num_threads(3, num_threads), 3);
/// ```
pub fn with_num_threads<R>(count: usize, f: impl FnOnce() -> R) -> R {
    let _restore = Restore::set(&COUNT, count.clamp(1, crate::MAX_THREADS));
    f()
}

/// Runs `f(0)`, `f(1)`, … `f(tasks - 1)`, each once, on up to [`num_threads`] threads.
///
/// Indexes are handed out in order to whoever is free, the calling thread included. Returns when
/// all have run. Inside a task it runs inline.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// tallow_threads::parallel_for(10, |index| {
///     sum.fetch_add(index, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 45);
/// ```
///
/// # Panics
/// With the panic of a task, after every running task has ended; tasks not yet begun are left out.
pub fn parallel_for(tasks: usize, f: impl Fn(usize) + Sync) {
    run_in(Pool::global, tasks, &f);
}

/// [`parallel_for`] on any pool, asked for only when one is needed.
pub(crate) fn run_in<'a>(
    pool: impl FnOnce() -> &'a Pool,
    tasks: usize,
    task: &(dyn Fn(usize) + Sync),
) {
    let helpers = match tasks {
        // A single task runs as plain code, so that regions inside it can have the threads.
        0 | 1 => 0,
        _ => num_threads().min(tasks) - 1,
    };
    if helpers == 0 {
        (0..tasks).for_each(task);
        return;
    }
    let _restore = Restore::set(&IN_TASK, true);
    pool().run(helpers, tasks, task);
}
