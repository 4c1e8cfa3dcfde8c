//! The general product: both sides packed into panels, tiles of the output shared out as tasks.
//!
//! `out[m, n] = left[m, k] · right[k, n]`, all strides. The output is cut into blocks of bounded
//! size and k into slices. For each block and slice:
//!
//! ```text
//! region 1: pack the left and the right side     tasks: a few panels
//! region 2: for each tile of the block           tasks: tiles
//!             for each right panel                 in the first-level cache or the second
//!               for each left panel                in the second-level cache
//!                 micro-kernel                     the sums in registers
//! ```
//!
//! Where a block is not high enough to be cut into several rows of tiles, each right panel is used
//! by one task only, which packs it just before it uses it. A right side that is made rather than
//! stored ([`Columns`](crate::Columns)) is packed by its maker, at the same places.
//!
//! Slices depend on k alone, so a sum is added up in the same order for any thread count and any
//! tile size. A stored type narrower than its accumulator is summed in a wide block and rounded by
//! the tile's task after the last slice.

use std::ops::Range;

use tallow_simd::Simd;
use tallow_threads::{DisjointMut, num_threads, parallel_for};

use crate::columns::Right;
use crate::element::{Accumulator, Element};
use crate::kernels::{MAX_ROWS, Product, Tile, micro, rows_per_tile, vectors_per_tile};
use crate::mat::MatRef;
use crate::pack::{Lines, pack};
use crate::scratch::{Purpose, with_buffer};
use crate::split::Split;

/// Steps of k in one slice. A tile's sums are loaded and stored once for 512 multiply-adds each; a
/// right panel of two vectors is 64 KiB and the left side of a tile 288 KiB of f32, which a
/// second-level cache of 512 KiB and more holds together. (On a Zen 4 with 1 MiB, 2026-11, 256
/// steps ran at 0.97 of the speed and 1024 the same.)
pub(crate) const SLICE_STEPS: usize = 512;

/// Rows of a tile: see above.
const TILE_ROWS: usize = 144;

/// Most rows and columns of a block: a packed side takes at most 4 MiB of f32, wide sums 16 MiB.
const BLOCK_LINES: usize = 2048;

/// Tiles that each thread gets, so that one that is slow or starts late leaves its share to others
/// and the wait for the last tile is about a sixteenth of the time.
const TILES_PER_THREAD: usize = 8;

/// Least floating-point operations of a tile: about 10 µs of one core, against some 1 µs for
/// handing out a task.
pub(crate) const TILE_OPERATIONS: usize = 1 << 20;

/// Panels in one packing task: some 10 to 20 µs.
const PACK_PANELS: usize = 2;

/// Where a matrix of the output starts, and the stride of its rows; columns are adjacent.
#[derive(Clone, Copy)]
pub(crate) struct OutRows {
    pub(crate) offset: usize,
    pub(crate) row_stride: usize,
}

/// A rectangle of the output with a slice of k, its panels, and its cut into tiles.
struct Block {
    /// First row and first column in the output.
    origin: (usize, usize),
    /// The slice of k.
    slice: Range<usize>,
    /// Rows, cut into left panels.
    rows: Split,
    row_count: usize,
    cols: usize,
    /// Columns of a right panel, all but the last.
    panel_cols: usize,
    lanes: usize,
    /// Left panels of each row of tiles, right panels of each column of tiles.
    tiles: (Split, Split),
}

impl Block {
    fn new<S: Simd, A: Accumulator>(
        rows: Range<usize>,
        cols: Range<usize>,
        slice: Range<usize>,
    ) -> Self {
        let lanes = A::lanes::<S>();
        let mut block = Self {
            origin: (rows.start, cols.start),
            slice,
            rows: Split::at_most(rows_per_tile(S::LEVEL), rows.len()),
            row_count: rows.len(),
            cols: cols.len(),
            panel_cols: lanes * vectors_per_tile(S::LEVEL),
            lanes,
            tiles: (Split::into_parts(1, 1), Split::into_parts(1, 1)),
        };
        block.tiles = block.tile_grid(num_threads());
        block
    }

    fn steps(&self) -> usize {
        self.slice.len()
    }

    fn col_panels(&self) -> usize {
        self.cols.div_ceil(self.panel_cols)
    }

    fn panel_cols(&self, panel: usize) -> Range<usize> {
        let start = panel * self.panel_cols;
        start..self.cols.min(start + self.panel_cols)
    }

    /// Columns of a right panel with those that fill up its last vector.
    fn padded_cols(&self, panel: usize) -> usize {
        self.panel_cols(panel).len().next_multiple_of(self.lanes)
    }

    /// Whether tasks pack the right panels that they use.
    fn right_is_private(&self) -> bool {
        self.tiles.0.parts() == 1
    }

    /// Where a left panel lies in the packed left side.
    fn left_range(&self, panel: usize) -> Range<usize> {
        let rows = self.rows.range(panel);
        rows.start * self.steps()..rows.end * self.steps()
    }

    /// Where a right panel lies in the packed right side.
    fn right_range(&self, panel: usize) -> Range<usize> {
        let start = panel * self.panel_cols;
        start * self.steps()..(start + self.padded_cols(panel)) * self.steps()
    }

    /// Lengths of the packed left side and the packed right side.
    fn packed_len(&self) -> (usize, usize) {
        let right = if self.right_is_private() {
            0
        } else {
            self.right_range(self.col_panels() - 1).end
        };
        (self.row_count * self.steps(), right)
    }

    /// In how many row ranges and column ranges of panels the block is shared out.
    fn tile_grid(&self, threads: usize) -> (Split, Split) {
        let (mut down, mut across) = (self.row_count.div_ceil(TILE_ROWS), 1);
        let operations = 2 * self.row_count * self.cols * self.steps();
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
    rhs: Right<'_, T>,
    out: &DisjointMut<'_, T>,
    place: OutRows,
) {
    let slices = Split::at_most(SLICE_STEPS, lhs.cols());
    let rows = Split::at_most(BLOCK_LINES, lhs.rows());
    let cols = Split::at_most(BLOCK_LINES, rhs.cols());
    let needs_wide = T::accumulates_in(out).is_none();
    for j in 0..cols.parts() {
        for i in 0..rows.parts() {
            let wide_len = if needs_wide {
                rows.range(i).len() * cols.range(j).len()
            } else {
                0
            };
            with_buffer(Purpose::Wide, wide_len, |wide: &mut [T::Acc]| {
                let wide = DisjointMut::new(wide);
                for s in 0..slices.parts() {
                    let (rows, cols, slice) = (rows.range(i), cols.range(j), slices.range(s));
                    let block = &Block::new::<S, T::Acc>(rows, cols, slice);
                    let is_last = s + 1 == slices.parts();
                    BlockTask {
                        simd,
                        block,
                        lhs,
                        rhs,
                        out,
                        place,
                        wide: &wide,
                        is_last,
                    }
                    .run();
                }
            });
        }
    }
}

struct BlockTask<'a, S, T: Element> {
    simd: S,
    block: &'a Block,
    lhs: MatRef<'a, T>,
    rhs: Right<'a, T>,
    out: &'a DisjointMut<'a, T>,
    place: OutRows,
    wide: &'a DisjointMut<'a, T::Acc>,
    is_last: bool,
}

impl<S: Simd, T: Element> BlockTask<'_, S, T> {
    fn run(&self) {
        let (left_len, right_len) = self.block.packed_len();
        with_buffer(Purpose::Packed, right_len + left_len, |packed| {
            // The right side comes first, for there vectors are loaded and want alignment.
            let (right, left) = packed.split_at_mut(right_len);
            self.pack(left, right);
            self.tiles(left, right);
        });
    }

    /// Region 1. A task packs a few panels.
    fn pack(&self, left: &mut [T::Acc], right: &mut [T::Acc]) {
        let block = self.block;
        let left_groups = block.rows.parts().div_ceil(PACK_PANELS);
        let right_panels = if block.right_is_private() {
            0
        } else {
            block.col_panels()
        };
        let (left, right) = (DisjointMut::new(left), DisjointMut::new(right));
        parallel_for(left_groups + right_panels.div_ceil(PACK_PANELS), |task| {
            if let Some(group) = task.checked_sub(left_groups) {
                for panel in (group * PACK_PANELS..right_panels).take(PACK_PANELS) {
                    let range = block.right_range(panel);
                    // SAFETY: each panel is packed by one task, and no two of them share an
                    // element of the buffer.
                    self.pack_right(panel, unsafe { right.range(range.start, range.len()) });
                }
            } else {
                for panel in (task * PACK_PANELS..block.rows.parts()).take(PACK_PANELS) {
                    let range = block.left_range(panel);
                    // SAFETY: as for the right side.
                    self.pack_left(panel, unsafe { left.range(range.start, range.len()) });
                }
            }
        });
    }

    fn pack_left(&self, panel: usize, packed: &mut [T::Acc]) {
        let rows = self.block.rows.range(panel);
        let first = (self.block.origin.0 + rows.start, self.block.slice.start);
        let lines = Lines {
            data: self.lhs.from(first.0, first.1),
            line_stride: self.lhs.row_stride(),
            step_stride: self.lhs.col_stride(),
            lines: rows.len(),
        };
        pack(self.simd, lines, rows.len(), packed);
    }

    fn pack_right(&self, panel: usize, packed: &mut [T::Acc]) {
        let (first_step, first_col) = (self.block.slice.start, self.block.origin.1);
        let cols = self.block.panel_cols(panel);
        let cols = first_col + cols.start..first_col + cols.end;
        let matrix = match self.rhs {
            Right::Stored(matrix) => matrix,
            Right::Made(columns, index) => {
                return columns.fill(index, self.block.slice.clone(), cols, packed);
            }
        };
        let lines = Lines {
            data: matrix.from(first_step, cols.start),
            line_stride: matrix.col_stride(),
            step_stride: matrix.row_stride(),
            lines: cols.len(),
        };
        pack(self.simd, lines, self.block.padded_cols(panel), packed);
    }

    /// Region 2. A task computes a tile.
    fn tiles(&self, left: &[T::Acc], right: &[T::Acc]) {
        let (down, across) = self.block.tiles;
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
        (row_panels, col_panels): (Range<usize>, Range<usize>),
        sums: Tile<'_, T::Acc>,
    ) {
        let block = self.block;
        let first_col = block.panel_cols(col_panels.start).start;
        for panel in col_panels {
            let cols = block.panel_cols(panel);
            let sums = sums.at(0, cols.start - first_col);
            let range = block.right_range(panel);
            if block.right_is_private() {
                with_buffer(Purpose::Panel, range.len(), |packed| {
                    self.pack_right(panel, packed);
                    self.tile_column(left, packed, (row_panels.clone(), cols.len()), sums);
                });
            } else {
                self.tile_column(left, &right[range], (row_panels.clone(), cols.len()), sums);
            }
        }
    }

    /// A tile's part under one right panel.
    fn tile_column(
        &self,
        left: &[T::Acc],
        right: &[T::Acc],
        (row_panels, cols): (Range<usize>, usize),
        sums: Tile<'_, T::Acc>,
    ) {
        let block = self.block;
        let first_row = block.rows.start(row_panels.start);
        for panel in row_panels {
            let rows = block.rows.range(panel);
            let product = Product {
                left: &left[block.left_range(panel)],
                right,
                rows: rows.len(),
                cols,
                accumulate: block.slice.start > 0,
                out: sums.at(rows.start - first_row, 0),
            };
            micro(self.simd, product);
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
