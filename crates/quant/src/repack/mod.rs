//! Weights with the rows of each tile interleaved: the fast form for a model that stays loaded.
//!
//! The blocks of a file suit one row at a time. Interleaved, every load has codes of all rows
//! of a tile, so a product needs no sum across lanes and no shuffle. Codes stay packed: the size is
//! that of the blocks (Q4_K takes 2 % more), and of the rows that fill up the last tile.
//!
//! Codes are unpacked in registers, once for up to four activation rows: a quarter of the work at
//! one row, a twentieth at four, and cheaper than unpacked tiles that no longer fit a near cache.
//! Where codes lie in two planes, 256 weights of each row are unpacked for many activation rows.
//! Read next: `packed`, which has the layout and the kernels, then `panels`.

pub(crate) mod joined;
pub(crate) mod packed;
mod panels;

use std::cell::Cell;

use crate::activations::{Panels, Rows};
use crate::columns;
use crate::dot::Target;
use crate::error::{QuantError, check_len, product};
use crate::lines::Lines;
use crate::table::{GgmlDType, Kind};
use packed::PackedRows;

/// Quantized weights `[n, k]`, interleaved for this CPU.
pub struct Repacked {
    dtype: GgmlDType,
    target: Target,
    packed: &'static dyn PackedRows,
    rows: usize,
    len: usize,
    group: usize,
    tile_bytes: usize,
    tiles: Lines,
}

impl std::fmt::Debug for Repacked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Repacked({} [{}, {}])", self.dtype, self.rows, self.len)
    }
}

thread_local! {
    /// Scratch of the calling thread, so that a product in steady state allocates nothing large.
    pub(crate) static ROWS: Cell<Rows> = Cell::default();
    pub(crate) static PANELS: Cell<Panels> = Cell::default();
}

impl Repacked {
    /// Interleaves the blocks of `weight`, `n` rows of `k`. Parallel inside.
    ///
    /// `None` where it does not pay: for types without codes (`f32`, `f16`, `bf16`, and those made
    /// for activations), without vector instructions, and for a `weight` that
    /// [`matmul`](crate::matmul) would refuse.
    ///
    /// ```
    /// use tallow_quant::{GgmlDType, Repacked, matmul, quantize};
    /// let (n, k) = (48, 64);
    /// let values: Vec<f32> = (0..n * k).map(|i| (i % 17) as f32 - 8.0).collect();
    /// let mut weight = vec![0; n * GgmlDType::Q8_0.row_bytes(k).unwrap()];
    /// quantize(GgmlDType::Q8_0, &values, &mut weight)?;
    /// let lhs = vec![1.0; k];
    /// let (mut plain, mut fast) = (vec![0.0; n], vec![0.0; n]);
    /// matmul(GgmlDType::Q8_0, &weight, n, k, &lhs, 1, &mut plain)?;
    /// if let Some(repacked) = Repacked::new(GgmlDType::Q8_0, &weight, n, k) {
    ///     repacked.matmul(&lhs, 1, &mut fast)?;
    ///     assert!(plain.iter().zip(&fast).all(|(a, b)| (a - b).abs() < 1e-2));
    /// }
    /// # Ok::<(), tallow_quant::QuantError>(())
    /// ```
    pub fn new(dtype: GgmlDType, weight: &[u8], n: usize, k: usize) -> Option<Self> {
        let target = Target::current();
        if !target.has_fast_tiles() {
            return None;
        }
        Self::with_target(target, dtype, weight, n, k)
    }

    /// As [`Repacked::new`], for an instruction set of the caller's choice.
    pub(crate) fn with_target(
        target: Target,
        dtype: GgmlDType,
        weight: &[u8],
        n: usize,
        k: usize,
    ) -> Option<Self> {
        let Kind::Blocks(format) = dtype.kind() else {
            return None;
        };
        let packed = format.packed()?;
        let row_bytes = dtype.row_bytes(k)?;
        let fits = n.checked_mul(row_bytes) == Some(weight.len()) && !weight.is_empty();
        if !fits {
            return None;
        }
        let lanes = target.tile_lanes();
        let tile_bytes = packed.tile_bytes(lanes, k);
        let mut tiles = Lines::new(n.div_ceil(lanes) * tile_bytes);
        let tile_slices = tiles.bytes_mut();
        // A tile of 32 rows of 576 weights takes some 50 µs.
        tallow_threads::parallel_chunks_mut(tile_slices, tile_bytes, |tile, bytes| {
            let first = tile * lanes;
            if first < n {
                let rows = &weight[first * row_bytes..(first + lanes).min(n) * row_bytes];
                packed.pack_tile(target, rows, k, bytes);
            }
        });
        let group = format.group();
        Some(Self {
            dtype,
            target,
            packed,
            rows: n,
            len: k,
            group,
            tile_bytes,
            tiles,
        })
    }

    /// The type of the blocks that this was made from.
    pub fn dtype(&self) -> GgmlDType {
        self.dtype
    }

    /// Rows and columns of the weights, `[n, k]`.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows, self.len]
    }

    /// Bytes of memory that the weights take.
    pub fn byte_len(&self) -> usize {
        self.tiles.bytes().len()
    }

    /// `out[m, n] = lhs[m, k] · weightᵀ`, parallel inside, the same bits for any thread count.
    ///
    /// # Errors
    /// [`QuantError::Length`] when `lhs` or `out` does not have `m · k` or `m · n` values.
    pub fn matmul(&self, lhs: &[f32], m: usize, out: &mut [f32]) -> Result<(), QuantError> {
        let op = "repacked matmul";
        check_len(op, ("lhs", "values"), lhs.len(), product(op, m, self.len)?)?;
        check_len(op, ("out", "values"), out.len(), product(op, m, self.rows)?)?;
        match m {
            0 => {}
            1 => self.one_row(lhs, out),
            _ => self.many_rows(lhs, out),
        }
        Ok(())
    }

    fn tile(&self, tile: usize) -> &[u8] {
        &self.tiles.bytes()[tile * self.tile_bytes..(tile + 1) * self.tile_bytes]
    }

    /// The least columns of a task: each reads 32 KiB or more, some microseconds of work.
    fn min_columns(&self, lanes: usize) -> usize {
        lanes * (32 * 1024 / self.tile_bytes).max(1)
    }

    fn one_row(&self, lhs: &[f32], out: &mut [f32]) {
        let lanes = self.target.tile_lanes();
        let mut rows = ROWS.take();
        rows.quantize(self.target, lhs, self.len, self.group);
        columns::for_ranges(
            out,
            self.rows,
            lanes,
            self.min_columns(lanes),
            |first, columns| {
                for (tile, out) in columns[0].chunks_mut(lanes).enumerate() {
                    self.packed
                        .dot_row(self.target, self.tile(first / lanes + tile), &rows, out);
                }
            },
        );
        ROWS.set(rows);
    }

    fn many_rows(&self, lhs: &[f32], out: &mut [f32]) {
        let lanes = self.target.tile_lanes();
        let mut panels = PANELS.take();
        panels.quantize(self.target, lhs, self.len, self.group);
        columns::for_ranges(out, self.rows, lanes, lanes, |first, out| {
            for column in (0..out[0].len()).step_by(lanes) {
                let tile = self.tile((first + column) / lanes);
                self.packed
                    .dot_panels(self.target, tile, &panels, column, out);
            }
        });
        PANELS.set(panels);
    }
}
