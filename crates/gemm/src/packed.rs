//! The general product: both sides packed into panels, tiles of the output shared out as tasks.
//!
//! `out[m, n] = left[m, k] · right[k, n]`, all strides. The output is cut into blocks for which
//! both packed sides fit a bounded buffer. For each block:
//!
//! ```text
//! region 1: pack the left and the right side     tasks: a few panels × a few hundred steps of k
//! region 2: for each tile of the block           tasks: tiles
//!             for each slice of k (KC steps)       the left slice stays in the 2nd-level cache,
//!               for each right panel               the right panel's slice in the first,
//!                 for each left panel              and the sums in registers
//!                   micro-kernel
//! ```
//!
//! Slices of k depend on k alone, so a sum is added up in the same order for any thread count and
//! any tile size. A stored type narrower than its accumulator is summed in a wide block and
//! rounded by the tile's task after the last slice.

use tallow_simd::Simd;
use tallow_threads::{DisjointMut, num_threads, parallel_for};

use crate::element::{Accumulator, Element};
use crate::kernels::{MAX_ROWS, Product, Tile, micro, rows_per_tile, vectors_per_tile};
use crate::mat::MatRef;
use crate::pack::{Lines, pack};
use crate::scratch::{Purpose, with_buffer};
use crate::split::Split;

/// Steps of k in one slice. A right panel of 32 f32 columns is then 32 KiB, which streams through
/// a first-level cache of 32 to 48 KiB once for each tile, and a tile's sums are written to memory
/// once for each 256 steps.
const SLICE_STEPS: usize = 256;

/// Rows of a tile: a left slice of 144 × 256 f32 is 144 KiB and leaves room in a second-level
/// cache of 512 KiB and more.
const TILE_ROWS: usize = 144;

/// Most rows and columns of a block, so that wide sums take at most 16 MiB of f32.
const BLOCK_LINES: usize = 2048;

/// Most steps of k that are packed at once.
const BLOCK_STEPS: usize = 4096;

/// Most bytes of one packed side: what 2048 × 2048 f32 take.
const BLOCK_BYTES: usize = 16 << 20;

/// Tiles that each thread gets, so that one that is slow or starts late leaves its share to others
/// and the wait for the last tile is about a sixteenth of the time.
const TILES_PER_THREAD: usize = 8;

/// Least floating-point operations of a tile: about 10 µs of one core, against some 1 µs for
/// handing out a task.
const TILE_OPERATIONS: usize = 1 << 20;

/// Panels and steps in one packing task: 4 panels are up to 512 adjacent bytes.
const PACK_PANELS: usize = 4;

/// Where a matrix of the output starts, and the stride of its rows; columns are adjacent.
#[derive(Clone, Copy)]
pub(crate) struct OutRows {
    pub(crate) offset: usize,
    pub(crate) row_stride: usize,
}

/// A rectangle of the output with a range of k, its panels, and its cut into tiles and slices.
struct Block {
    /// First row and first column in the output.
    origin: (usize, usize),
    /// First step of k.
    first_step: usize,
    steps: usize,
    /// Rows, cut into left panels.
    rows: Split,
    row_count: usize,
    cols: usize,
    /// Columns of a right panel, all but the last.
    panel_cols: usize,
    lanes: usize,
}

impl Block {
    fn new<S: Simd, A: Accumulator>(
        rows: std::ops::Range<usize>,
        cols: std::ops::Range<usize>,
        steps: std::ops::Range<usize>,
    ) -> Self {
        let lanes = A::lanes::<S>();
        Self {
            origin: (rows.start, cols.start),
            first_step: steps.start,
            steps: steps.len(),
            rows: Split::at_most(rows_per_tile(S::LEVEL), rows.len()),
            row_count: rows.len(),
            cols: cols.len(),
            panel_cols: lanes * vectors_per_tile(S::LEVEL),
            lanes,
        }
    }

    fn col_panels(&self) -> usize {
        self.cols.div_ceil(self.panel_cols)
    }

    fn panel_cols(&self, panel: usize) -> std::ops::Range<usize> {
        let start = panel * self.panel_cols;
        start..self.cols.min(start + self.panel_cols)
    }

    /// Columns of a right panel with those that fill up its last vector.
    fn padded_cols(&self, panel: usize) -> usize {
        self.panel_cols(panel).len().next_multiple_of(self.lanes)
    }

    fn left_len(&self) -> usize {
        // A whole number of cache lines, so that the right side behind it is aligned too.
        (self.row_count * self.steps).next_multiple_of(64)
    }

    fn right_len(&self) -> usize {
        self.cols.next_multiple_of(self.lanes) * self.steps
    }

    /// Where steps of a left panel lie in the packed left side.
    fn left_range(&self, panel: usize, steps: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let rows = self.rows.range(panel);
        let start = rows.start * self.steps;
        start + steps.start * rows.len()..start + steps.end * rows.len()
    }

    /// Where steps of a right panel lie in the packed right side.
    fn right_range(&self, panel: usize, steps: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let (start, width) = (
            panel * self.panel_cols * self.steps,
            self.padded_cols(panel),
        );
        start + steps.start * width..start + steps.end * width
    }

    /// In how many row ranges and column ranges of panels the block is shared out.
    fn tile_grid(&self, threads: usize) -> (Split, Split) {
        let (mut down, mut across) = (self.row_count.div_ceil(TILE_ROWS), 1);
        let operations = 2 * self.row_count * self.cols * self.steps;
        let wanted = (threads * TILES_PER_THREAD).min(operations.div_ceil(TILE_OPERATIONS));
        while threads > 1 && down * across < wanted {
            let (height, width) = (self.row_count / down, self.cols / across);
            if width > self.panel_cols && width >= height {
                across *= 2;
            } else if height > MAX_ROWS {
                down *= 2;
            } else {
                break;
            }
        }
        (
            Split::into_parts(down, self.rows.parts()),
            Split::into_parts(across, self.col_panels()),
        )
    }
}

/// Multiplies; `out` is overwritten. No size may be 0.
pub(crate) fn multiply<S: Simd, T: Element>(
    simd: S,
    lhs: MatRef<'_, T>,
    rhs: MatRef<'_, T>,
    out: &DisjointMut<'_, T>,
    place: OutRows,
) {
    let steps = Split::at_most(BLOCK_STEPS, lhs.cols());
    let lines = (BLOCK_BYTES / size_of::<T::Acc>() / steps.range(0).len()).clamp(64, BLOCK_LINES);
    let (rows, cols) = (
        Split::at_most(lines, lhs.rows()),
        Split::at_most(lines, rhs.cols()),
    );
    let is_wide = T::accumulates_in(out).is_some();
    for j in 0..cols.parts() {
        for i in 0..rows.parts() {
            let wide_len = if is_wide {
                0
            } else {
                rows.range(i).len() * cols.range(j).len()
            };
            with_buffer(Purpose::Wide, wide_len, |wide: &mut [T::Acc]| {
                let wide = DisjointMut::new(wide);
                for s in 0..steps.parts() {
                    let block =
                        Block::new::<S, T::Acc>(rows.range(i), cols.range(j), steps.range(s));
                    let task = BlockTask {
                        simd,
                        block: &block,
                        lhs,
                        rhs,
                        out,
                        place,
                        wide: &wide,
                        is_last: s + 1 == steps.parts(),
                        // With one range of k the right side is still packed from the last block.
                        right_is_packed: i > 0 && steps.parts() == 1,
                    };
                    task.run();
                }
            });
        }
    }
}

struct BlockTask<'a, S, T: Element> {
    simd: S,
    block: &'a Block,
    lhs: MatRef<'a, T>,
    rhs: MatRef<'a, T>,
    out: &'a DisjointMut<'a, T>,
    place: OutRows,
    wide: &'a DisjointMut<'a, T::Acc>,
    is_last: bool,
    right_is_packed: bool,
}

impl<S: Simd, T: Element> BlockTask<'_, S, T> {
    fn run(&self) {
        let (left_len, right_len) = (self.block.left_len(), self.block.right_len());
        // The right side comes first, so that it stays in place while rows come and go.
        with_buffer(
            Purpose::Packed,
            right_len.next_multiple_of(64) + left_len,
            |packed| {
                let (right, left) = packed.split_at_mut(right_len.next_multiple_of(64));
                self.pack(left, &mut right[..right_len]);
                self.tiles(left, &right[..right_len]);
            },
        );
    }

    /// Region 1. A task packs a range of steps of a few panels.
    fn pack(&self, left: &mut [T::Acc], right: &mut [T::Acc]) {
        let block = self.block;
        let slices = Split::at_most(SLICE_STEPS, block.steps);
        let left_groups = block.rows.parts().div_ceil(PACK_PANELS);
        let right_groups = if self.right_is_packed {
            0
        } else {
            block.col_panels().div_ceil(PACK_PANELS)
        };
        let (left, right) = (DisjointMut::new(left), DisjointMut::new(right));
        parallel_for((left_groups + right_groups) * slices.parts(), |task| {
            let (group, steps) = (task / slices.parts(), slices.range(task % slices.parts()));
            if let Some(group) = group.checked_sub(left_groups) {
                let panels = group * PACK_PANELS..block.col_panels();
                for panel in panels.take(PACK_PANELS) {
                    let range = block.right_range(panel, &steps);
                    // SAFETY: each panel and range of steps is packed by one task, and no two of
                    // them share an element of the buffer.
                    let packed = unsafe { right.range(range.start, range.len()) };
                    self.pack_right(panel, steps.start, packed);
                }
            } else {
                let panels = group * PACK_PANELS..block.rows.parts();
                for panel in panels.take(PACK_PANELS) {
                    let range = block.left_range(panel, &steps);
                    // SAFETY: as for the right side.
                    let packed = unsafe { left.range(range.start, range.len()) };
                    self.pack_left(panel, steps.start, packed);
                }
            }
        });
    }

    fn pack_left(&self, panel: usize, step: usize, packed: &mut [T::Acc]) {
        let rows = self.block.rows.range(panel);
        let first = (
            self.block.origin.0 + rows.start,
            self.block.first_step + step,
        );
        let lines = Lines {
            data: self.lhs.from(first.0, first.1),
            line_stride: self.lhs.row_stride(),
            step_stride: self.lhs.col_stride(),
            lines: rows.len(),
        };
        pack(self.simd, lines, rows.len(), packed);
    }

    fn pack_right(&self, panel: usize, step: usize, packed: &mut [T::Acc]) {
        let cols = self.block.panel_cols(panel);
        let first = (
            self.block.first_step + step,
            self.block.origin.1 + cols.start,
        );
        let lines = Lines {
            data: self.rhs.from(first.0, first.1),
            line_stride: self.rhs.col_stride(),
            step_stride: self.rhs.row_stride(),
            lines: cols.len(),
        };
        pack(self.simd, lines, self.block.padded_cols(panel), packed);
    }

    /// Region 2. A task computes a tile.
    fn tiles(&self, left: &[T::Acc], right: &[T::Acc]) {
        let (down, across) = self.block.tile_grid(num_threads());
        parallel_for(down.parts() * across.parts(), |task| {
            let row_panels = down.range(task / across.parts());
            let col_panels = across.range(task % across.parts());
            let rows =
                self.block.rows.start(row_panels.start)..self.block.rows.start(row_panels.end);
            let cols = self.block.panel_cols(col_panels.start).start
                ..self.block.panel_cols(col_panels.end - 1).end;
            let offset = self.place.offset
                + (self.block.origin.0 + rows.start) * self.place.row_stride
                + self.block.origin.1
                + cols.start;
            // SAFETY: tiles of a block are disjoint rectangles of the output, each computed by
            // one task, and rows of the output do not overlap.
            let mut out = unsafe { Tile::new(self.out, offset, self.place.row_stride) };
            let sums = match T::accumulates_in(self.out) {
                // SAFETY: as above; `out` is not used in this case.
                Some(slice) => unsafe { Tile::new(slice, offset, self.place.row_stride) },
                None => {
                    let offset = rows.start * self.block.cols + cols.start;
                    // SAFETY: as above, of the block's wide sums.
                    unsafe { Tile::new(self.wide, offset, self.block.cols) }
                }
            };
            self.tile(left, right, (row_panels, col_panels), sums);
            if self.is_last && T::accumulates_in(self.out).is_none() {
                round_rows::<S, T>(self.simd, sums, &mut out, (rows.len(), cols.len()));
            }
        });
    }

    fn tile(
        &self,
        left: &[T::Acc],
        right: &[T::Acc],
        (row_panels, col_panels): (std::ops::Range<usize>, std::ops::Range<usize>),
        sums: Tile<'_, T::Acc>,
    ) {
        let block = self.block;
        let slices = Split::at_most(SLICE_STEPS, block.steps);
        let first_row = block.rows.start(row_panels.start);
        let first_col = block.panel_cols(col_panels.start).start;
        for slice in 0..slices.parts() {
            let steps = slices.range(slice);
            for col_panel in col_panels.clone() {
                let cols = block.panel_cols(col_panel);
                let right = &right[block.right_range(col_panel, &steps)];
                for row_panel in row_panels.clone() {
                    let rows = block.rows.range(row_panel);
                    let product = Product {
                        left: &left[block.left_range(row_panel, &steps)],
                        right,
                        rows: rows.len(),
                        cols: cols.len(),
                        accumulate: slice > 0 || block.first_step > 0,
                        out: sums.at(rows.start - first_row, cols.start - first_col),
                    };
                    micro(self.simd, product);
                }
            }
        }
    }
}

/// Rounds a tile of wide sums to the stored type.
fn round_rows<S: Simd, T: Element>(
    simd: S,
    mut sums: Tile<'_, T::Acc>,
    out: &mut Tile<'_, T>,
    (rows, cols): (usize, usize),
) {
    simd.vectorize(
        #[inline(always)]
        || {
            let lanes = <T::Acc as Accumulator>::lanes::<S>();
            for row in 0..rows {
                let from = sums.row(row, cols).chunks(lanes);
                for (from, to) in from.zip(out.row(row, cols).chunks_mut(lanes)) {
                    if to.len() == lanes {
                        T::store(simd, T::Acc::load(simd, from), to);
                    } else {
                        T::store_partial(simd, T::Acc::load_partial(simd, from), to);
                    }
                }
            }
        },
    );
}
