//! [`Tile`]: where a kernel writes, a rectangle of an output that other tasks write as well.

use tallow_threads::DisjointMut;

/// A rectangle of rows inside a slice: row `i` starts at `offset + i · row_stride`.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a, T> {
    slice: &'a DisjointMut<'a, T>,
    offset: usize,
    row_stride: usize,
}

impl<'a, T> Tile<'a, T> {
    /// A rectangle that starts at `offset`.
    ///
    /// # Safety
    /// While the tile is in use, the elements of the rows and columns that are reached through it
    /// are reached through nothing else, and rows of one tile do not overlap.
    pub(crate) unsafe fn new(
        slice: &'a DisjointMut<'a, T>,
        offset: usize,
        row_stride: usize,
    ) -> Self {
        Self {
            slice,
            offset,
            row_stride,
        }
    }

    /// The part that starts `row` rows and `col` columns further.
    pub(crate) fn at(self, row: usize, col: usize) -> Self {
        Self {
            offset: self.offset + row * self.row_stride + col,
            ..self
        }
    }

    /// Asks for the cache lines of the first `len` elements of row `row`, which will be written.
    #[inline(always)]
    pub(crate) fn prefetch(&self, row: usize, len: usize) {
        #[cfg(target_arch = "x86_64")]
        for start in (0..len).step_by((64 / size_of::<T>()).max(1)) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let address = self
                .slice
                .address(self.offset + row * self.row_stride + start);
            // SAFETY: a prefetch reads nothing and cannot fault, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (row, len);
    }

    /// The first `len` elements of row `row`.
    #[inline(always)]
    pub(crate) fn row(&mut self, row: usize, len: usize) -> &mut [T] {
        // SAFETY: the row is inside the rectangle that `new`'s caller promised to be this tile's
        // alone, and `&mut self` keeps a second row from being taken while this one lives.
        unsafe { self.slice.range(self.offset + row * self.row_stride, len) }
    }
}
