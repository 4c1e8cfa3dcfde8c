//! One worker pool and one thread count for everything that runs on the CPU.
//!
//! A **region** is one call of [`parallel_for`]: `tasks` indexes are handed out by an atomic
//! counter to the caller and to at most `num_threads() - 1` workers, and the call returns when
//! every task has run.
//!
//! ```text
//! parallel_for ─► a free slot ─► seats for helpers ─► counter 0, 1, 2, … ─► close, wait, return
//!                                    ▲
//!                    workers: spin some 30 µs, then park until a region wakes them
//! ```
//!
//! Invariants:
//! - A region started from inside a task runs inline, on the thread that starts it.
//! - Any number of threads may start regions at the same time; workers go where seats are free.
//! - A panic in a task stops the hand-out and reaches the caller once all tasks have stopped.
//! - A region in steady state allocates nothing.
//! - Nothing here decides how work is split, so results cannot depend on who runs a task.
//!
//! Read on in `region.rs` (the calls), `slot.rs` and `pool.rs` (how workers join and sleep),
//! `spread.rs` (on which processor), `count.rs` (how many threads). `pages.rs` stands here because
//! memory that threads share is the system's as well as they are.

mod chunks;
mod count;
mod disjoint;
mod machine;
#[cfg(target_os = "macos")]
mod macos;
mod pages;
mod pool;
mod region;
mod slot;
mod spread;

pub use chunks::{chunk_len, parallel_chunks_mut};
pub use count::{MAX_THREADS, ThreadCountError, configured_threads};
pub use disjoint::DisjointMut;
pub use pages::prefer_huge_pages;
pub use region::{num_threads, parallel_for, with_num_threads};
