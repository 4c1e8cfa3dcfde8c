//! Small products of f32 and f64 whose rows are contiguous: both sides are read where they lie.
//!
//! Packing two sides of 64 × 64 takes a fifth of the time of multiplying them, and both fit the
//! first-level cache as they are. Only columns that do not fill their last vector are packed, since
//! kernels read whole vectors. Sums are added up in the order of `packed.rs`, with the same bits.

use std::ops::Range;

use tallow_simd::Simd;
use tallow_threads::{DisjointMut, num_threads, parallel_for};

use crate::element::{Accumulator, Element};
use crate::kernels::{InPlace, Tile, micro_in_place, rows_in_place, vectors_per_tile};
use crate::mat::MatRef;
use crate::pack::{Lines, pack};
use crate::packed::{OutRows, SLICE_STEPS, TILE_OPERATIONS};
use crate::scratch::{Purpose, with_buffer};
use crate::split::Split;

/// Most bytes of both sides together: two of 128 × 128 f32.
const MAX_BYTES: usize = 128 << 10;

/// Most bytes from one row of the right side to the next. Beyond, a column of vectors falls into
/// few sets of the first-level cache and does not stay there.
const MAX_RIGHT_STRIDE: usize = 1 << 10;

/// A product whose sides are their own accumulators.
pub(crate) struct Direct<'a, A: Accumulator> {
    lhs: MatRef<'a, A>,
    rhs: MatRef<'a, A>,
    out: &'a DisjointMut<'a, A>,
    place: OutRows,
}

impl<'a, A: Accumulator> Direct<'a, A> {
    /// The product, if it is one that is better not packed.
    pub(crate) fn new<T: Element<Acc = A>>(
        lhs: MatRef<'a, T>,
        rhs: MatRef<'a, T>,
        out: &'a DisjointMut<'a, T>,
        place: OutRows,
    ) -> Option<Self> {
        let elements = lhs.rows() * lhs.cols() + rhs.rows() * rhs.cols();
        let suits = lhs.col_stride() == 1
            && rhs.col_stride() == 1
            && lhs.cols() <= SLICE_STEPS
            && elements <= MAX_BYTES / size_of::<T>()
            && rhs.row_stride() <= MAX_RIGHT_STRIDE / size_of::<T>();
        if !suits {
            return None;
        }
        Some(Self {
            lhs: lhs.wide()?,
            rhs: rhs.wide()?,
            out: T::accumulates_in(out)?,
            place,
        })
    }

    /// Multiplies; no size may be 0. Tasks are ranges of rows.
    pub(crate) fn multiply<S: Simd>(&self, simd: S) {
        let (rows, cols, steps) = (self.lhs.rows(), self.rhs.cols(), self.lhs.cols());
        let lanes = A::lanes::<S>();
        let whole = cols / lanes * lanes;
        let padded = if whole < cols { lanes } else { 0 };
        with_buffer(Purpose::Panel, padded * steps, |rest: &mut [A]| {
            if whole < cols {
                let lines = Lines {
                    data: self.rhs.from(0, whole),
                    line_stride: 1,
                    step_stride: self.rhs.row_stride(),
                    lines: cols - whole,
                };
                pack(simd, lines, lanes, rest);
            }
            let panels = Split::at_most(rows_in_place(S::LEVEL), rows);
            let tasks = (2 * rows * cols * steps / TILE_OPERATIONS).clamp(1, num_threads());
            let tasks = Split::into_parts(tasks, panels.parts());
            let panel_cols = lanes * vectors_per_tile(S::LEVEL);
            parallel_for(tasks.parts(), |task| {
                // A row panel meets all columns before the next: the right side stays in the cache.
                for rows in tasks.range(task).map(|panel| panels.range(panel)) {
                    for start in (0..whole).step_by(panel_cols) {
                        let cols = start..whole.min(start + panel_cols);
                        let right = (self.rhs.from(0, start), self.rhs.row_stride());
                        self.tile(simd, rows.clone(), cols, right);
                    }
                    if whole < cols {
                        self.tile(simd, rows, whole..cols, (rest, lanes));
                    }
                }
            });
        });
    }

    /// One tile, with the rows of its right side so far apart.
    fn tile<S: Simd>(
        &self,
        simd: S,
        rows: Range<usize>,
        cols: Range<usize>,
        (right, right_stride): (&[A], usize),
    ) {
        let OutRows { offset, row_stride } = self.place;
        let offset = offset + rows.start * row_stride + cols.start;
        let product = InPlace {
            left: self.lhs.from(rows.start, 0),
            left_stride: self.lhs.row_stride(),
            right,
            right_stride,
            steps: self.lhs.cols(),
            rows: rows.len(),
            cols: cols.len(),
            // SAFETY: tiles are disjoint rectangles of the output, each computed by one task, and
            // rows of the output do not overlap.
            out: unsafe { Tile::new(self.out, offset, row_stride) },
        };
        micro_in_place(simd, product);
    }
}
