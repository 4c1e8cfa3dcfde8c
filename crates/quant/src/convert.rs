//! Whole slices: floats to blocks and back, in parallel.

use crate::error::{QuantError, check_len, product};
use crate::float;
use crate::table::{GgmlDType, Kind};

/// Values of a task: packing a k-quant block of 256 takes some 20 µs, unpacking one 50 ns.
const TASK_VALUES: usize = 64 * 1024;

/// Writes the values that `blocks` of `dtype` stand for.
///
/// # Errors
/// [`QuantError`] when `out` is no whole number of blocks long, or `blocks` has another length.
///
/// ```
/// use tallow_quant::{GgmlDType, dequantize};
/// let mut out = [0.0];
/// dequantize(GgmlDType::F16, &[0x00, 0x3c], &mut out)?;
/// assert_eq!(out, [1.0]);
/// # Ok::<(), tallow_quant::QuantError>(())
/// ```
pub fn dequantize(dtype: GgmlDType, blocks: &[u8], out: &mut [f32]) -> Result<(), QuantError> {
    let op = "dequantize";
    check(op, dtype, ("blocks", blocks.len()), out.len())?;
    if out.is_empty() {
        return Ok(());
    }
    let task_bytes = TASK_VALUES / dtype.block_len() * dtype.block_bytes();
    tallow_threads::parallel_chunks_mut(out, TASK_VALUES, |task, out| {
        let start = task * task_bytes;
        let blocks = &blocks[start..(start + task_bytes).min(blocks.len())];
        match dtype.kind() {
            Kind::Float(format) => float::widen(format, blocks, out),
            Kind::Blocks(format) => format.unpack(blocks, out),
        }
    });
    Ok(())
}

/// Packs `values` to blocks of `dtype`.
///
/// Q4_0 to Q8_0 give the bytes that the format's reference gives; k-quants search for the scales
/// with the smallest squared error. Values should be finite: what blocks of others become is not
/// specified.
///
/// # Errors
/// [`QuantError`] when `values` is no whole number of blocks long, `out` has another length, or the
/// format can only be read.
///
/// ```
/// use tallow_quant::{GgmlDType, quantize};
/// let mut out = [0; 2];
/// quantize(GgmlDType::F16, &[1.0], &mut out)?;
/// assert_eq!(out, [0x00, 0x3c]);
/// # Ok::<(), tallow_quant::QuantError>(())
/// ```
pub fn quantize(dtype: GgmlDType, values: &[f32], out: &mut [u8]) -> Result<(), QuantError> {
    let op = "quantize";
    check(op, dtype, ("out", out.len()), values.len())?;
    check_packs(op, dtype)?;
    if values.is_empty() {
        return Ok(());
    }
    let task_values = TASK_VALUES / 16;
    let task_bytes = task_values / dtype.block_len() * dtype.block_bytes();
    tallow_threads::parallel_chunks_mut(out, task_bytes, |task, out| {
        let start = task * task_values;
        let values = &values[start..(start + task_values).min(values.len())];
        match dtype.kind() {
            Kind::Float(format) => float::narrow(format, values, out),
            Kind::Blocks(format) => format.pack(values, out),
        }
    });
    Ok(())
}

/// As [`quantize`], where the error of a value counts as much as its column: `weights` has a value
/// of at least 0 for each column of a row. Formats that do not search for their scales are packed
/// as without weights.
///
/// # Errors
/// As [`quantize`], and if rows as long as `weights` are no whole blocks, or do not fill `values`.
///
/// ```
/// use tallow_quant::{GgmlDType, quantize_weighted};
/// let mut out = [0; 2 * 144];
/// quantize_weighted(GgmlDType::Q4K, &[0.5; 512], &[1.0; 256], &mut out)?;
/// # Ok::<(), tallow_quant::QuantError>(())
/// ```
pub fn quantize_weighted(
    dtype: GgmlDType,
    values: &[f32],
    weights: &[f32],
    out: &mut [u8],
) -> Result<(), QuantError> {
    let op = "quantize_weighted";
    check(op, dtype, ("out", out.len()), values.len())?;
    check_packs(op, dtype)?;
    if values.is_empty() {
        return Ok(());
    }
    let len = weights.len();
    if len == 0 || !len.is_multiple_of(dtype.block_len()) {
        return Err(QuantError::PartialBlock { op, dtype, len });
    }
    check_len(
        op,
        ("values", "values"),
        values.len(),
        values.len().next_multiple_of(len),
    )?;
    let Kind::Blocks(format) = dtype.kind() else {
        return quantize(dtype, values, out);
    };
    let task_values = TASK_VALUES / 16;
    let task_bytes = task_values / dtype.block_len() * dtype.block_bytes();
    tallow_threads::parallel_chunks_mut(out, task_bytes, |task, out| {
        let start = task * task_values;
        let values = &values[start..(start + task_values).min(values.len())];
        format.pack_weighted(values, weights, start, out);
    });
    Ok(())
}

/// Checks that values can be packed to the format.
fn check_packs(op: &'static str, dtype: GgmlDType) -> Result<(), QuantError> {
    match dtype.packs() {
        true => Ok(()),
        false => Err(QuantError::ReadOnly { op, dtype }),
    }
}

/// Checks that `len` values are whole blocks that take the bytes of `(name, bytes)`.
fn check(
    op: &'static str,
    dtype: GgmlDType,
    (name, bytes): (&'static str, usize),
    len: usize,
) -> Result<(), QuantError> {
    if !len.is_multiple_of(dtype.block_len()) {
        return Err(QuantError::PartialBlock { op, dtype, len });
    }
    let expected = product(op, len / dtype.block_len(), dtype.block_bytes())?;
    check_len(op, (name, "bytes"), bytes, expected)
}
