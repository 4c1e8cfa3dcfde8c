//! [`DisjointMut`]: one output slice, written by many tasks, each its own part.

use std::marker::PhantomData;

/// Shared access to a mutable slice whose users promise to touch disjoint ranges.
///
/// The length is checked on each access; that ranges do not overlap is the caller's proof.
pub struct DisjointMut<'a, T> {
    start: *mut T,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: sharing a `DisjointMut` lets other threads have `&mut T` to elements that nobody else
// touches (the contract of `range`), which is sending them: `T: Send` is what that needs.
unsafe impl<T: Send> Sync for DisjointMut<'_, T> {}
// SAFETY: it stands for a `&mut [T]`, which is `Send` when `T` is.
unsafe impl<T: Send> Send for DisjointMut<'_, T> {}

impl<'a, T> DisjointMut<'a, T> {
    /// Borrows `data` for as long as this value and its ranges live.
    pub fn new(data: &'a mut [T]) -> Self {
        Self {
            start: data.as_mut_ptr(),
            len: data.len(),
            borrow: PhantomData,
        }
    }

    /// Elements of the slice.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the slice has no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where element `index` lies, or would lie: for prefetching, which reads nothing.
    #[inline]
    pub fn address(&self, index: usize) -> *const T {
        self.start.wrapping_add(index)
    }

    /// The elements `start .. start + len`; panics when they are not all inside the slice.
    ///
    /// # Safety
    /// While the returned slice lives, no other range that shares an element with it may live,
    /// on any thread.
    #[allow(clippy::mut_from_ref, reason = "disjointness is the caller's proof")]
    pub unsafe fn range(&self, start: usize, len: usize) -> &mut [T] {
        let end = start.checked_add(len).filter(|end| *end <= self.len);
        assert!(
            end.is_some(),
            "disjoint: range starts at {start} with length {len}; the slice has {}",
            self.len
        );
        // SAFETY: `start <= self.len` by the assertion above, so this stays in the slice or at its
        // end.
        let first = unsafe { self.start.add(start) };
        // SAFETY: the assertion above holds the range inside the slice that `new` borrowed for
        // 'a, and the caller promises that no other live range shares an element.
        unsafe { std::slice::from_raw_parts_mut(first, len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ranges_live_at_once() {
        let mut data = vec![0; 10];
        let shared = DisjointMut::new(&mut data);
        // SAFETY: 0..4 and 4..10 are disjoint.
        let left = unsafe { shared.range(0, 4) };
        // SAFETY: as above.
        let right = unsafe { shared.range(4, 6) };
        left.fill(1);
        right.fill(2);
        assert_eq!(data, [1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    #[should_panic(expected = "range starts at 3 with length 2; the slice has 4")]
    fn a_range_past_the_end_panics() {
        // SAFETY: it is the only range.
        unsafe { DisjointMut::new(&mut [0; 4]).range(3, 2) };
    }

    #[test]
    #[should_panic(expected = "the slice has 4")]
    fn a_range_whose_end_overflows_panics() {
        // SAFETY: it is the only range.
        unsafe { DisjointMut::new(&mut [0; 4]).range(2, usize::MAX) };
    }
}
