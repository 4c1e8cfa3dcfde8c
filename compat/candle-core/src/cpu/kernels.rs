//! Operations on slices, and loops on several threads.

pub use tallow_simd::VecOps;

/// `func` of every number below `n_threads`, on as many threads at most.
pub fn par_for_each(n_threads: usize, func: impl Fn(usize) + Send + Sync) {
    par_range(0, n_threads, n_threads, func);
}

/// `func` of every number from `lo` to below `up`, on `n_threads` threads at most.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// candle_core::cpu::kernels::par_range(3, 6, 2, |at| {
///     sum.fetch_add(at, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 3 + 4 + 5);
/// ```
pub fn par_range(lo: usize, up: usize, n_threads: usize, func: impl Fn(usize) + Send + Sync) {
    tallow_threads::with_num_threads(n_threads.max(1), || {
        tallow_threads::parallel_for(up.saturating_sub(lo), |at| func(lo + at));
    });
}
