//! Recycled buffers: a vector that a tensor gives up serves the next one of its size.
//!
//! A fresh large vector costs a page fault for every 4 KiB that is written to it, which is more
//! than many an operation on it. So the vectors of dropped tensors wait in a pool per element type,
//! keyed by capacity, under one byte budget; when it is passed, the pool that gives is emptied,
//! smallest gain first lost. A taken vector is initialised but its values mean nothing: the memory
//! is either recycled or comes zeroed from the system, where untouched pages cost nothing. Kernels
//! therefore write into plain `&mut [T]`, and no code of this crate is unsafe.

use crate::{F8E4M3, bf16, f16};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Below this many bytes the allocator itself is as quick, and does not return pages.
const POOLED_BYTES_MIN: usize = 4096;
/// Bytes that may wait: two operands and a result of 8192 × 4096 f32.
const POOLED_BYTES_MAX: usize = 384 << 20;

static POOLED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Waiting vectors of one element type, by capacity.
#[derive(Debug)]
pub struct Pool<T>(Mutex<BTreeMap<usize, Vec<Vec<T>>>>);

impl<T> Pool<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }
}

/// An element type that has a pool.
pub trait Recycle: Copy + Send + 'static {
    /// The pool of this type.
    fn pool() -> &'static Pool<Self>;
    /// The element of zero bytes.
    fn blank() -> Self;
    /// A fresh vector of them.
    fn blanks(count: usize) -> Vec<Self>;
}

macro_rules! pools {
    ($($ty:ty),+) => {
        $(impl Recycle for $ty {
            fn pool() -> &'static Pool<Self> {
                static POOL: Pool<$ty> = Pool::new();
                &POOL
            }
            fn blank() -> Self {
                bytemuck::Zeroable::zeroed()
            }
            fn blanks(count: usize) -> Vec<Self> {
                bytemuck::zeroed_vec(count)
            }
        })+
    };
}
pools!(u8, u32, i16, i32, i64, bf16, f16, f32, f64, F8E4M3);

/// A vector of `count` elements whose values mean nothing.
pub fn take<T: Recycle>(count: usize) -> Vec<T> {
    let bytes = count * size_of::<T>();
    if bytes < POOLED_BYTES_MIN {
        // The allocator has small pieces at hand, but not zeroed ones.
        let mut small = Vec::with_capacity(count);
        small.resize(count, T::blank());
        return small;
    }
    if let Some(mut found) = take_waiting::<T>(count) {
        // Growing stays within the capacity, so it never allocates.
        found.resize(count, T::blank());
        return found;
    }
    let mut fresh = T::blanks(count);
    tallow_threads::prefer_huge_pages(&mut fresh);
    fresh
}

/// The smallest waiting vector that fits and wastes at most an eighth.
fn take_waiting<T: Recycle>(count: usize) -> Option<Vec<T>> {
    let mut waiting = T::pool().0.lock().unwrap_or_else(PoisonError::into_inner);
    let (&capacity, same) = waiting.range_mut(count..=count + count / 8).next()?;
    let found = same.pop()?;
    if same.is_empty() {
        waiting.remove(&capacity);
    }
    drop(waiting);
    POOLED_BYTES.fetch_sub(capacity * size_of::<T>(), Ordering::Relaxed);
    Some(found)
}

/// True if the pool takes vectors of this one's size.
#[inline]
pub fn takes<T: Recycle>(vector: &Vec<T>) -> bool {
    (POOLED_BYTES_MIN..=POOLED_BYTES_MAX).contains(&(vector.capacity() * size_of::<T>()))
}

/// Gives a vector back.
pub fn give<T: Recycle>(vector: Vec<T>) {
    if !takes(&vector) {
        return;
    }
    let capacity = vector.capacity();
    let bytes = capacity * size_of::<T>();
    let freed = {
        let mut waiting = T::pool().0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = POOLED_BYTES.fetch_add(bytes, Ordering::Relaxed);
        let mut freed = Vec::new();
        if before + bytes > POOLED_BYTES_MAX {
            freed = std::mem::take(&mut *waiting)
                .into_values()
                .flatten()
                .collect();
        }
        waiting.entry(capacity).or_default().push(vector);
        freed
    };
    // The system call that frees a large vector runs outside the lock.
    let freed_bytes: usize = freed
        .iter()
        .map(|old: &Vec<T>| old.capacity() * size_of::<T>())
        .sum();
    POOLED_BYTES.fetch_sub(freed_bytes, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_vector_is_taken_again() {
        let first = take::<f64>(5000);
        let address = first.as_ptr();
        give(first);
        let second = take::<f64>(4900);
        assert_eq!((second.as_ptr(), second.len()), (address, 4900));
        give(second);
        let third = take::<f64>(5000);
        assert_eq!((third.as_ptr(), third.len()), (address, 5000));
        give(third);
        let small = take::<f64>(2500);
        assert_ne!(
            small.as_ptr(),
            address,
            "a small request must not take a large one"
        );
    }

    #[test]
    fn the_pool_keeps_its_budget() {
        for _ in 0..5 {
            give(bytemuck::zeroed_vec::<i16>(POOLED_BYTES_MAX / 8));
        }
        assert!(POOLED_BYTES.load(Ordering::Relaxed) <= POOLED_BYTES_MAX + (1 << 20));
    }
}
