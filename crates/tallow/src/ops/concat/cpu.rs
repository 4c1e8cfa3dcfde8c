//! Joining, and writing into a view: rows of one buffer copied between rows of another.

use crate::cpu::map::Cost;
use crate::cpu::walk::Walk;
use crate::cpu::{CpuView, View, copy, recycle};
use crate::{CpuStorage, Layout, Result, WithDType};
use std::borrow::Cow;

pub(super) fn cat(inputs: &[CpuView<'_>], dim: usize, out: &mut CpuStorage) -> Result<()> {
    crate::with_dtype!(inputs[0].dtype(), "cat", T in all => {
        let views = inputs.iter().map(CpuView::typed::<T>).collect::<Result<Vec<_>>>()?;
        cat_views(&views, dim, out.as_mut_slice::<T>()?);
        Ok(())
    })
}

/// Seen from the joined dimension, the result is rows of `row` elements, one for each index of the
/// dims in front; a row is a part of each operand in turn.
fn cat_views<T: WithDType>(views: &[View<'_, T>], dim: usize, out: &mut [T]) {
    let row: usize = views.iter().map(|view| part_len(view, dim)).sum();
    if row == out.len() {
        let mut rest = out;
        for view in views.iter().filter(|view| view.count() > 0) {
            let (head, tail) = rest.split_at_mut(view.count());
            copy::copy(*view, head);
            rest = tail;
        }
        return;
    }
    let views = views.iter().filter(|view| view.count() > 0);
    let parts: Vec<Part<'_, T>> = views.map(|view| Part::new(*view, dim)).collect();
    let fill = |first_row: usize, dst: &mut [T]| {
        let mut column = 0;
        for part in &parts {
            part.copy_rows(first_row, &mut dst[column..], row);
            column += part.len;
        }
    };
    let chunk_rows = Cost::Light.min_chunk().div_ceil(row);
    if out.len() <= chunk_rows * row {
        fill(0, out);
    } else {
        let chunk_rows = tallow_threads::chunk_len(out.len() / row, chunk_rows);
        tallow_threads::parallel_chunks_mut(out, chunk_rows * row, |chunk, dst| {
            fill(chunk * chunk_rows, dst);
        });
    }
    for part in parts {
        if let Cow::Owned(copied) = part.data {
            recycle::give(copied);
        }
    }
}

fn part_len<T>(view: &View<'_, T>, dim: usize) -> usize {
    view.dims[dim..].iter().product()
}

/// One operand's share of each row: `len` elements in one piece, and where the pieces start.
struct Part<'a, T: WithDType> {
    data: Cow<'a, [T]>,
    starts: Walk<1>,
    len: usize,
}

impl<'a, T: WithDType> Part<'a, T> {
    /// Shares that lie in one piece stay where they are; others are copied first.
    fn new(view: View<'a, T>, dim: usize) -> Self {
        let len = part_len(&view, dim);
        let (outer, share) = (&view.dims[..dim], &view.dims[dim..]);
        let share = View {
            data: view.data,
            dims: share,
            strides: &view.strides[dim..],
        };
        if share.contiguous().is_some() {
            let starts = Walk::new(outer, [&view.strides[..dim]]);
            return Self {
                data: Cow::Borrowed(view.data),
                starts,
                len,
            };
        }
        let mut copied = recycle::take::<T>(view.count());
        copy::copy(view, &mut copied);
        let starts = Walk::new(&[view.count() / len], [&[len]]);
        Self {
            data: Cow::Owned(copied),
            starts,
            len,
        }
    }

    /// Copies the shares from `first_row` on to the beginnings of the rows of `dst`, `row` apart.
    fn copy_rows(&self, first_row: usize, dst: &mut [T], row: usize) {
        let rows = dst.len().div_ceil(row);
        let [step] = self.starts.inner_strides();
        self.starts
            .for_each_run(first_row..first_row + rows, |[start], span| {
                for (at, to) in span.enumerate() {
                    let (from, to) = (start + at * step, to * row);
                    match self.len {
                        1 => dst[to] = self.data[from],
                        len => dst[to..][..len].copy_from_slice(&self.data[from..][..len]),
                    }
                }
            });
    }
}

/// Writes the elements of a view to the places that a layout names, which has the view's shape.
pub(super) fn write(target: &mut CpuStorage, layout: &Layout, src: CpuView<'_>) -> Result<()> {
    crate::with_dtype!(src.dtype(), "slice_set", T in all => {
        let span = layout.start_offset()..layout.span_end();
        write_view(&mut target.as_mut_slice::<T>()?[span], layout, src.typed::<T>()?);
        Ok(())
    })
}

fn write_view<T: WithDType>(target: &mut [T], layout: &Layout, src: View<'_, T>) {
    if layout.is_contiguous() {
        return copy::copy(src, target);
    }
    let walk = Walk::new(layout.dims(), [layout.stride(), src.strides]);
    let strides = walk.inner_strides();
    walk.for_each_run(0..src.count(), |[to, from], span| match strides {
        [1, 1] => target[to..][..span.len()].copy_from_slice(&src.data[from..][..span.len()]),
        [target_stride, src_stride] => {
            for at in 0..span.len() {
                target[to + at * target_stride] = src.data[from + at * src_stride];
            }
        }
    });
}
