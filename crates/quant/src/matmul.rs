//! `out[m, n] = lhs[m, k] · weight[n, k]ᵀ` with weights as they lie in a file.
//!
//! Letters: m rows of activations, n rows of weights, k values in each. Few activation rows go
//! through row kernels, which read the blocks as they are; many go through tiles: the rows of a
//! tile are interleaved on the fly, once for all activation rows (see `repack`).
//!
//! Tasks are ranges of weight rows, and each result is computed by one task in an order that does
//! not depend on the ranges: the bits are the same for any number of threads.

use std::cell::Cell;

use crate::activations::Panels;
use crate::columns;
use crate::dot::Target;
use crate::error::{QuantError, check_len, product};
use crate::float;
use crate::format::Format;
use crate::lines::Lines;
use crate::repack::packed::PackedRows;
use crate::repack::{PANELS, ROWS};
use crate::row::RowWork;
use crate::table::{GgmlDType, Kind};

/// From this many activation rows on the rows of a tile are interleaved first, on the fly: that
/// costs about as much as a row kernel needs for eight rows, for Q6_K for sixteen.
const TILE_MIN_ROWS: usize = 16;

/// Sizes of a product; see the module for the letters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatmulDims {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

thread_local! {
    /// A worker's tile, kept from task to task.
    static TILE: Cell<Lines> = Cell::default();
}

/// `out[m, n] = lhs[m, k] · weight[n, k]ᵀ`, weight rows stored as blocks of `dtype`.
///
/// Parallel inside; the same bits for any number of threads. Where weights are quantized, the rows
/// of `lhs` are rounded to 8 bits with an f32 scale for each 32 values, and sums are exact within
/// those 32. Blocks may start at any address.
///
/// # Errors
/// [`QuantError`] when `k` is no multiple of the block length, or a slice has the wrong length.
///
/// ```
/// use tallow_quant::{GgmlDType, matmul, quantize};
/// let mut weight = [0; 2 * 34];
/// quantize(GgmlDType::Q8_0, &[1.0; 64], &mut weight)?;
/// let mut out = [0.0; 2];
/// matmul(GgmlDType::Q8_0, &weight, 2, 32, &[0.5; 32], 1, &mut out)?;
/// assert!(out.iter().all(|sum| (sum - 16.0).abs() < 0.01));
/// # Ok::<(), tallow_quant::QuantError>(())
/// ```
pub fn matmul(
    dtype: GgmlDType,
    weight: &[u8],
    n: usize,
    k: usize,
    lhs: &[f32],
    m: usize,
    out: &mut [f32],
) -> Result<(), QuantError> {
    let op = "quantized matmul";
    let partial = QuantError::PartialBlock { op, dtype, len: k };
    let row_bytes = dtype.row_bytes(k).ok_or(partial)?;
    check_len(
        op,
        ("weight", "bytes"),
        weight.len(),
        product(op, n, row_bytes)?,
    )?;
    check_len(op, ("lhs", "values"), lhs.len(), product(op, m, k)?)?;
    check_len(op, ("out", "values"), out.len(), product(op, m, n)?)?;
    if k == 0 {
        out.fill(0.0);
    }
    if out.is_empty() || k == 0 {
        return Ok(());
    }
    let dims = MatmulDims { m, n, k };
    match dtype.kind() {
        Kind::Float(format) => float::matmul(format, weight, lhs, dims, out),
        Kind::Blocks(format) => blocks(Target::current(), format, weight, lhs, dims, out),
    }
    Ok(())
}

/// The product with block weights, by the kernels of `target`. Lengths are checked, none is 0.
pub(crate) fn blocks(
    target: Target,
    format: &dyn Format,
    weight: &[u8],
    lhs: &[f32],
    dims: MatmulDims,
    out: &mut [f32],
) {
    match format.packed() {
        Some(packed) if dims.m >= TILE_MIN_ROWS && target.has_fast_tiles() => {
            let mut panels = PANELS.take();
            panels.quantize(target, lhs, dims.k, format.group());
            by_tiles(target, packed, weight, &panels, dims, out);
            PANELS.set(panels);
        }
        _ => by_rows(target, format, weight, lhs, dims, out),
    }
}

fn by_rows(
    target: Target,
    format: &dyn Format,
    weight: &[u8],
    lhs: &[f32],
    dims: MatmulDims,
    out: &mut [f32],
) {
    let row_bytes = weight.len() / dims.n;
    let mut activations = ROWS.take();
    activations.quantize(target, lhs, dims.k, format.group());
    // The least rows of a task: each reads 32 KiB or more, some microseconds of work.
    let min_columns = (32 * 1024 / row_bytes).max(1);
    columns::for_ranges(out, dims.n, 1, min_columns, |first, out| {
        let rows = &weight[first * row_bytes..(first + out[0].len()) * row_bytes];
        format.dot_rows(
            target,
            rows,
            RowWork {
                activations: &activations,
                out,
            },
        );
    });
    ROWS.set(activations);
}

fn by_tiles(
    target: Target,
    packed: &dyn PackedRows,
    weight: &[u8],
    panels: &Panels,
    dims: MatmulDims,
    out: &mut [f32],
) {
    let row_bytes = weight.len() / dims.n;
    let lanes = target.tile_lanes();
    let tile_bytes = packed.tile_bytes(lanes, dims.k);
    columns::for_ranges(out, dims.n, lanes, lanes, |first, out| {
        let mut tile = TILE.take();
        tile.resize(tile_bytes);
        let width = out[0].len();
        for column in (0..width).step_by(lanes) {
            let end = (column + lanes).min(width);
            let rows = &weight[(first + column) * row_bytes..(first + end) * row_bytes];
            packed.pack_tile(target, rows, dims.k, tile.bytes_mut());
            packed.dot_panels(target, tile.bytes(), panels, column, out);
        }
        TILE.set(tile);
    });
}
