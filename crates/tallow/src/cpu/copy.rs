//! Copies any view to contiguous memory.
//!
//! Three cases, after the dimensions are merged: the inner run is contiguous (block copies),
//! repeats one value (fills), or is strided. A strided view that is contiguous along another
//! dimension is a transpose; it goes by square tiles of [`TILE`] × [`TILE`] elements, read along
//! the view's contiguous dimension and written along the result's, so that each cache line is read
//! and written once. 16 f32 are one 64-byte line.

use super::map::{Cost, for_each_chunk};
use super::recycle;
use super::view::View;
use super::walk::Walk;
use crate::{Result, WithDType};

const TILE: usize = 16;

/// Views with fewer elements than this are gathered where they are used: they fit the first-level
/// cache, so that the order of reading does not matter.
const STRAIGHTEN_MIN: usize = 4096;

/// Copies the elements of `src`, in row-major order.
pub fn copy<T: WithDType>(src: View<'_, T>, out: &mut [T]) {
    // Tiles and blocks of no rows have no size to cut by.
    if out.is_empty() {
        return;
    }
    let walk = Walk::new(src.dims, [src.strides]);
    let [inner_stride] = walk.inner_strides();
    if let Some(read_dim) = transposed_dim(&walk) {
        return copy_transposed(src.data, &walk, read_dim, out);
    }
    for_each_chunk(out, Cost::Light, &|range, dst| {
        walk.for_each_run(range, |[offset], span| {
            let dst = &mut dst[span];
            match inner_stride {
                1 => dst.copy_from_slice(&src.data[offset..][..dst.len()]),
                0 => dst.fill(src.data[offset]),
                _ => {
                    for (at, slot) in dst.iter_mut().enumerate() {
                        *slot = src.data[offset + at * inner_stride];
                    }
                }
            }
        });
    });
}

/// The dimension that the view is contiguous in, where that is not the inner one.
fn transposed_dim(walk: &Walk<1>) -> Option<usize> {
    let inner = walk.dims.len() - 1;
    let strided = walk.strides[0][inner] > 1 && walk.dims[inner] >= TILE / 2;
    (0..inner).find(|&dim| strided && walk.strides[0][dim] == 1 && walk.dims[dim] >= TILE / 2)
}

/// Dimensions `[outer…, read, middle…, inner]`: the result of one block of `read` indexes, for one
/// `outer` index, is contiguous, and that is what a thread gets.
fn copy_transposed<T: WithDType>(data: &[T], walk: &Walk<1>, read_dim: usize, out: &mut [T]) {
    let (dims, strides) = (&walk.dims, &walk.strides[0]);
    let row: usize = dims[read_dim + 1..].iter().product();
    let slab = dims[read_dim] * row;
    let outer = View {
        data,
        dims: &dims[..read_dim],
        strides: &strides[..read_dim],
    };
    for (offset, out) in outer.offsets().zip(out.chunks_mut(slab)) {
        let block_rows = if slab < Cost::Light.min_chunk() {
            dims[read_dim]
        } else {
            // Whole tiles, and a few blocks for each thread.
            (dims[read_dim] / (4 * tallow_threads::num_threads()))
                .next_multiple_of(TILE)
                .max(TILE)
        };
        tallow_threads::parallel_chunks_mut(out, block_rows * row, |block, dst| {
            let rest = View {
                data: &data[offset + block * block_rows..],
                dims: &dims[read_dim + 1..],
                strides: &strides[read_dim + 1..],
            };
            copy_block(rest, row, dst);
        });
    }
}

/// Writes `dst`, rows of `row` elements; `src` holds the dimensions behind the row index, whose own
/// stride is 1.
fn copy_block<T: WithDType>(src: View<'_, T>, row: usize, dst: &mut [T]) {
    let [(inner_len, inner_stride)] = src.last::<1>().expect("a transpose has an inner dim");
    for (dst, first_row) in dst.chunks_mut(TILE * row).zip((0..).step_by(TILE)) {
        let rows = dst.len() / row;
        for (offset, middle) in src.leading(1).offsets().zip((0..).step_by(inner_len)) {
            for column in (0..inner_len).step_by(TILE) {
                let columns = TILE.min(inner_len - column);
                let from = &src.data[first_row + offset + column * inner_stride..];
                copy_tile(
                    from,
                    inner_stride,
                    rows,
                    columns,
                    &mut dst[middle + column..],
                    row,
                );
            }
        }
    }
}

#[inline(always)]
fn copy_tile<T: WithDType>(
    src: &[T],
    src_stride: usize,
    rows: usize,
    columns: usize,
    dst: &mut [T],
    dst_stride: usize,
) {
    let mut tile = [[T::default(); TILE]; TILE];
    if rows == TILE && columns == TILE {
        for column in 0..TILE {
            let line: &[T] = &src[column * src_stride..][..TILE];
            for (row, value) in line.iter().enumerate() {
                tile[row][column] = *value;
            }
        }
        for (row, line) in tile.iter().enumerate() {
            dst[row * dst_stride..][..TILE].copy_from_slice(line);
        }
        return;
    }
    for row in 0..rows {
        for column in 0..columns {
            dst[row * dst_stride + column] = src[column * src_stride + row];
        }
    }
}

/// A view, made contiguous if walking it as it is would read memory in the wrong order.
pub struct Straightened<T: WithDType> {
    copied: Option<(Vec<T>, Vec<usize>)>,
}

/// Copies a large transposed view; leaves any other as it is.
pub fn straighten<T: WithDType>(src: View<'_, T>) -> Result<Straightened<T>> {
    let is_small = src.count() < STRAIGHTEN_MIN;
    let is_straight = || transposed_dim(&Walk::new(src.dims, [src.strides])).is_none();
    Ok(straighten_unless(is_small || is_straight(), src))
}

/// Copies a view unless the elements of its last dimension are neighbours.
pub fn straight_rows<T: WithDType>(src: View<'_, T>) -> Straightened<T> {
    let is_straight = match (src.dims.last(), src.strides.last()) {
        (Some(&size), Some(&stride)) => size <= 1 || stride == 1,
        _ => true,
    };
    straighten_unless(is_straight, src)
}

/// Copies a view that a kernel cannot take as it lies.
pub fn straighten_unless<T: WithDType>(is_straight: bool, src: View<'_, T>) -> Straightened<T> {
    if is_straight {
        return Straightened { copied: None };
    }
    let mut copied = recycle::take::<T>(src.count());
    copy(src, &mut copied);
    Straightened {
        copied: Some((copied, crate::Shape::from(src.dims).stride_contiguous())),
    }
}

impl<T: WithDType> Straightened<T> {
    /// The view to walk.
    pub fn view<'a>(&'a self, original: View<'a, T>) -> View<'a, T> {
        match &self.copied {
            Some((data, strides)) => View {
                data,
                dims: original.dims,
                strides,
            },
            None => original,
        }
    }
}

impl<T: WithDType> Drop for Straightened<T> {
    fn drop(&mut self) {
        if let Some((data, _)) = self.copied.take() {
            recycle::give(data);
        }
    }
}
