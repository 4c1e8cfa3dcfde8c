//! Products with at most eight rows or at most eight columns, a vector included.
//!
//! Such a product is bound by reading the large side, so that is read once, where it lies, and
//! never packed: `out[v, j] = Σ vectors[v, step] · matrix[j, step]` for a few vectors `v`. A skinny
//! left side is this with the right side transposed, a skinny right side is this with the output
//! transposed.
//!
//! | the matrix is contiguous along | kernel |
//! |---|---|
//! | k (a weight stored `[out, in]`) | dot products |
//! | j | sums of multiples of rows |
//! | neither | each line is gathered, then a dot product |
//!
//! Tasks are ranges of j, and no sum is split between tasks.

use tallow_simd::Simd;
use tallow_threads::{DisjointMut, num_threads, parallel_for};

use crate::element::{Accumulator, Element};
use crate::kernels::{Axpy, Dot, Tile, axpy, dot};
use crate::mat::MatRef;
use crate::pack::{Lines, pack};
use crate::scratch::{Purpose, with_buffer};
use crate::split::Split;

/// Most vectors of a skinny product. Up to here reading the matrix takes longer than multiplying;
/// beyond, packing pays.
pub(crate) const MAX_VECTORS: usize = 8;

/// Tasks that each thread gets.
const TASKS_PER_THREAD: usize = 4;

/// Least bytes of the matrix in a task: 32 KiB take a core about 2 µs.
const TASK_BYTES: usize = 32 << 10;

/// A small page. Pieces of rows that are shorter cost an entry of the translation buffer each, and
/// end before the prefetcher has caught up: 2048 rows of 8 KiB in 8 tasks are 16,384 such pieces,
/// in 2 tasks 4,096.
const PAGE_BYTES: usize = 4 << 10;

/// Sums that are kept on the stack at once, for all vectors together: 16 KiB of f32.
const SUMS: usize = 4096;

/// Where element (vector v, line j) of the output lies: `offset + v · vector_stride + j ·
/// line_stride`.
#[derive(Clone, Copy)]
pub(crate) struct OutLines {
    pub(crate) offset: usize,
    pub(crate) vector_stride: usize,
    pub(crate) line_stride: usize,
}

/// A skinny product: `vectors` is `[few, k]`, `matrix` is `[lines, k]`.
pub(crate) struct Skinny<'a, S, T> {
    pub(crate) simd: S,
    pub(crate) vectors: MatRef<'a, T>,
    pub(crate) matrix: MatRef<'a, T>,
    pub(crate) out: &'a DisjointMut<'a, T>,
    pub(crate) place: OutLines,
}

impl<S: Simd, T: Element> Skinny<'_, S, T> {
    /// Multiplies; no size may be 0.
    pub(crate) fn multiply(&self) {
        let (count, len) = (self.vectors.rows(), self.vectors.cols());
        // The kernels take 1, 2, 4 or 8 vectors; those that are missing are zeros.
        let padded = count.next_power_of_two();
        with_buffer(Purpose::Wide, padded * len, |wide: &mut [T::Acc]| {
            for (v, vector) in wide.chunks_exact_mut(len).enumerate() {
                if v < count {
                    self.widen(self.vectors, v, vector);
                } else {
                    vector.fill(T::Acc::default());
                }
            }
            self.share_out(wide, padded);
        });
    }

    /// Copies one line of a matrix, widened.
    fn widen(&self, matrix: MatRef<'_, T>, line: usize, to: &mut [T::Acc]) {
        let (data, step_stride) = (matrix.from(line, 0), matrix.col_stride());
        // As a panel of one line, or, where steps are adjacent, as one step of many lines.
        let len = to.len();
        if step_stride == 1 {
            let lines = Lines {
                data,
                line_stride: 1,
                step_stride: len,
                lines: len,
            };
            pack(self.simd, lines, len, to);
        } else {
            let lines = Lines {
                data,
                line_stride: 0,
                step_stride,
                lines: 1,
            };
            pack(self.simd, lines, 1, to);
        }
    }

    fn share_out(&self, vectors: &[T::Acc], count: usize) {
        let (lines, len) = (self.matrix.rows(), self.matrix.cols());
        let task_lines = (TASK_BYTES / size_of::<T>()).div_ceil(len);
        let is_along_lines = self.matrix.col_stride() != 1 && self.matrix.row_stride() == 1;
        let wanted = match num_threads() {
            1 => 1,
            // A task takes a piece of each row of memory, and every piece may miss its page.
            threads if is_along_lines => {
                let pages = lines * size_of::<T>() / PAGE_BYTES;
                pages.clamp(threads, threads * TASKS_PER_THREAD)
            }
            threads => threads * TASKS_PER_THREAD,
        };
        // Whole cache lines of the matrix in each task, and whole vectors of sums.
        let unit = if is_along_lines { 64 } else { 4 };
        let units = lines.div_ceil(unit);
        let tasks = Split::into_parts(wanted.min(lines.div_ceil(task_lines)), units);
        parallel_for(tasks.parts(), |task| {
            let units = tasks.range(task);
            let lines = units.start * unit..(units.end * unit).min(lines);
            if is_along_lines {
                self.add_lines(vectors, count, lines);
            } else if self.matrix.col_stride() == 1 || len == 1 {
                self.dot_lines(vectors, count, lines);
            } else {
                self.gather_lines(vectors, count, lines);
            }
        });
    }

    fn dot_lines(&self, vectors: &[T::Acc], count: usize, lines: std::ops::Range<usize>) {
        let rows = Dot {
            vectors,
            count,
            len: self.matrix.cols(),
            rows: self.matrix.from(lines.start, 0),
            stride: self.matrix.row_stride(),
            row_count: lines.len(),
        };
        dot(self.simd, &rows, &mut |row, vector, sum: T::Acc| {
            self.write(vector, lines.start + row, &[sum]);
        });
    }

    fn gather_lines(&self, vectors: &[T::Acc], count: usize, lines: std::ops::Range<usize>) {
        let len = self.matrix.cols();
        with_buffer(Purpose::Packed, len, |row: &mut [T::Acc]| {
            for line in lines {
                self.widen(self.matrix, line, row);
                let rows = Dot {
                    vectors,
                    count,
                    len,
                    rows: &*row,
                    stride: len,
                    row_count: 1,
                };
                dot(self.simd, &rows, &mut |_, vector, sum| {
                    self.write(vector, line, &[sum])
                });
            }
        });
    }

    fn add_lines(&self, vectors: &[T::Acc], count: usize, lines: std::ops::Range<usize>) {
        let lanes = <T::Acc as Accumulator>::lanes::<S>();
        let mut sums = [T::Acc::default(); SUMS];
        for start in lines.clone().step_by(SUMS / count) {
            let cols = (lines.end - start).min(SUMS / count);
            let padded = cols.next_multiple_of(lanes);
            let sums = &mut sums[..count * padded];
            let rows = Axpy {
                vectors,
                count,
                steps: self.matrix.cols(),
                matrix: self.matrix.from(start, 0),
                stride: self.matrix.col_stride(),
                cols,
                sums,
            };
            axpy(self.simd, rows);
            for (vector, sums) in sums.chunks_exact(padded).enumerate() {
                self.write(vector, start, &sums[..cols]);
            }
        }
    }

    /// Rounds and writes sums of adjacent lines, unless the vector only fills up the kernel's
    /// number.
    fn write(&self, vector: usize, line: usize, sums: &[T::Acc]) {
        if vector >= self.vectors.rows() {
            return;
        }
        let OutLines {
            offset,
            vector_stride,
            line_stride,
        } = self.place;
        let offset = offset + vector * vector_stride + line * line_stride;
        // SAFETY: each vector and line is one element of the output, and belongs to one task.
        let mut tile = unsafe { Tile::new(self.out, offset, line_stride) };
        if line_stride == 1 {
            for (to, sum) in tile.row(0, sums.len()).iter_mut().zip(sums) {
                *to = T::round(*sum);
            }
        } else {
            for (line, sum) in sums.iter().enumerate() {
                tile.row(line, 1)[0] = T::round(*sum);
            }
        }
    }
}
