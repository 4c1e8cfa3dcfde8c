//! Feature maps: `[batch, channels, depth, height, width]`, rows contiguous.
//!
//! Where windows are more than one element apart, what a tap reads at neighbouring positions is
//! not contiguous. Then the rows are copied once, every `stride`-th element side by side:
//!
//! ```text
//! x0 x1 x2 x3 x4, stride 2: lines x0 x2 x4 and x1 x3 ·
//! ```
//!
//! and each tap reads one line of each row, in runs.

use crate::WithDType;
use crate::cpu::copy::{Straightened, straight_rows};
use crate::cpu::map::Cost;
use crate::cpu::{View, recycle};
use crate::ops::conv::geometry::{Sizes, Spatial};

/// A view of rank 3 to 5; dimensions that it lacks have size 1.
pub(super) struct Maps<'a, T> {
    pub(super) data: &'a [T],
    pub(super) batch_stride: usize,
    pub(super) channel_stride: usize,
    pub(super) dims: Spatial,
    /// Lines of a row, where it is split: [`Maps::line_len`] elements each.
    pub(super) lines: usize,
    pub(super) line_len: usize,
    /// From one plane to the next, and from one row to the next.
    plane_stride: usize,
    row_stride: usize,
}

impl<T> Clone for Maps<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Maps<'_, T> {}

impl<'a, T> Maps<'a, T> {
    /// Maps over a view whose rows [`straight_rows`] made contiguous.
    pub(super) fn new(view: View<'a, T>) -> Self {
        let spatial = view.dims.len() - 2;
        let (mut dims, mut strides) = ([1; 3], [0; 3]);
        dims[3 - spatial..].copy_from_slice(&view.dims[2..]);
        strides[3 - spatial..].copy_from_slice(&view.strides[2..]);
        Self {
            data: view.data,
            batch_stride: view.strides[0],
            channel_stride: view.strides[1],
            dims,
            lines: 1,
            line_len: dims[2],
            plane_stride: strides[0],
            row_stride: strides[1],
        }
    }

    /// Where a row starts in its channel, if the map has it.
    #[inline(always)]
    pub(super) fn row(&self, plane: isize, row: isize) -> Option<usize> {
        let (plane, row) = (place(plane, self.dims[0])?, place(row, self.dims[1])?);
        Some(plane * self.plane_stride + row * self.row_stride)
    }
}

/// A place along a dimension, if it is not in the padding.
#[inline(always)]
pub(super) fn place(at: isize, size: usize) -> Option<usize> {
    usize::try_from(at).ok().filter(|at| *at < size)
}

/// An image whose rows can be read in runs.
pub(super) enum Lined<T: WithDType> {
    /// The view itself, or a copy with contiguous rows.
    Rows(Straightened<T>),
    /// Rows split into lines: so many, of such a length.
    Lines {
        data: Vec<T>,
        strides: Vec<usize>,
        lines: usize,
        line_len: usize,
    },
}

impl<T: WithDType> Lined<T> {
    /// The image as the windows of a convolution want it.
    pub(super) fn new(view: View<'_, T>, sizes: &Sizes) -> Self {
        let (lines, width) = (sizes.windows[2].stride, sizes.image[2]);
        // A single tap reads one element of many, and not all lines.
        if lines == 1 || lines >= width || sizes.kernel[2] == 1 {
            return Self::Rows(straight_rows(view));
        }
        let line_len = width.div_ceil(lines);
        let mut dims = view.dims.to_vec();
        dims[view.dims.len() - 1] = lines * line_len;
        let count = dims.iter().product();
        let mut data = recycle::take::<T>(count);
        split(view, lines, line_len, &mut data);
        Self::Lines {
            data,
            strides: crate::Shape::from(dims).stride_contiguous(),
            lines,
            line_len,
        }
    }

    /// The maps over it.
    pub(super) fn maps<'a>(&'a self, original: View<'a, T>) -> Maps<'a, T> {
        match self {
            Self::Rows(straight) => Maps::new(straight.view(original)),
            Self::Lines {
                data,
                strides,
                lines,
                line_len,
            } => Maps {
                lines: *lines,
                line_len: *line_len,
                ..Maps::new(View {
                    data,
                    dims: original.dims,
                    strides,
                })
            },
        }
    }

    /// Gives a copy's memory back.
    pub(super) fn recycle(self) {
        if let Self::Lines { data, .. } = self {
            recycle::give(data);
        }
    }
}

/// Copies each row, line by line. What is behind the end of a row's last lines is not read.
fn split<T: WithDType>(view: View<'_, T>, lines: usize, line_len: usize, out: &mut [T]) {
    let starts: Vec<usize> = view.leading(1).offsets().collect();
    let last = view.dims.len() - 1;
    let (width, stride) = (view.dims[last], view.strides[last]);
    let row_len = lines * line_len;
    let rows = Cost::Light.min_chunk().div_ceil(row_len);
    let rows = tallow_threads::chunk_len(starts.len(), rows);
    tallow_threads::parallel_chunks_mut(out, rows * row_len, |chunk, out| {
        let starts = &starts[chunk * rows..];
        for (&start, out) in starts.iter().zip(out.chunks_exact_mut(row_len)) {
            let row = &view.data[start..];
            for (residue, line) in out.chunks_exact_mut(line_len).enumerate() {
                let count = (width - residue).div_ceil(lines);
                for (at, to) in line.iter_mut().take(count).enumerate() {
                    *to = row[(at * lines + residue) * stride];
                }
            }
        }
    });
}
