//! candle's pool of threads, over the one that every operation uses.

use std::ops::Range;

/// The pool: a name for the threads that every operation uses.
pub struct BarrierPool(());

/// The pool.
pub fn barrier_pool() -> &'static BarrierPool {
    static POOL: BarrierPool = BarrierPool(());
    &POOL
}

impl BarrierPool {
    /// The number of threads.
    pub fn n_workers(&self) -> usize {
        tallow_threads::num_threads()
    }

    /// `f` of every number below [`n_workers`](Self::n_workers), at the same time.
    pub fn execute<F: Fn(usize) + Sync>(&self, f: F) {
        tallow_threads::parallel_for(self.n_workers(), f);
    }

    /// `f` of ranges that make up `0..n_items`, about one for each thread, at the same time.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let sum = AtomicUsize::new(0);
    /// candle_core::utils::barrier_pool().execute_chunked(10, |items| {
    ///     sum.fetch_add(items.sum(), Ordering::Relaxed);
    /// });
    /// assert_eq!(sum.into_inner(), 45);
    /// ```
    pub fn execute_chunked<F: Fn(Range<usize>) + Sync>(&self, n_items: usize, f: F) {
        let len = n_items.div_ceil(self.n_workers()).max(1);
        tallow_threads::parallel_for(n_items.div_ceil(len), |chunk| {
            f(chunk * len..((chunk + 1) * len).min(n_items));
        });
    }
}
