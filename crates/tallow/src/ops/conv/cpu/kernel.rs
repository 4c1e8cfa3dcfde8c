//! The gradient of the kernel: a product over all positions of the result.
//!
//! `w[result, channel, tap] = Σ y[batch, result, position] · x[batch, channel, position · stride +
//! offset(tap)]`, the sum over batch and position: for each group a matrix product of y,
//! `[out_channels, batch · positions]`, and the patches of the image with positions as rows. Like
//! the patches of the forward product they are made while they are packed.

use super::maps::Lined;
use super::patches::{Patches, inside, zeros};
use super::{Element, contiguous};
use crate::Result;
use crate::cpu::{View, copy};
use crate::ops::conv::geometry::Sizes;
use std::ops::Range;
use tallow_gemm::{Accumulator as _, Columns, Element as _};
use tallow_simd::{Kernel, MAX_F32_LANES, Simd};

/// `out[groups · out_channels, in_channels, taps…]`
pub(in super::super) fn kernel<T: Element>(
    x: View<'_, T>,
    y: View<'_, T>,
    sizes: &Sizes,
    out: &mut [T],
) -> Result<()> {
    let lined = Lined::new(x, sizes);
    let inner = sizes.batch * sizes.out_count();
    // y as `[groups · out_channels, batch, …]`
    let swapped = |of: &[usize]| {
        let mut of = of.to_vec();
        of.swap(0, 1);
        of
    };
    let (dims, strides) = (swapped(y.dims), swapped(y.strides));
    let y = View {
        data: y.data,
        dims: &dims,
        strides: &strides,
    };
    let straight = copy::straighten_unless(y.contiguous().is_some(), y);
    let matrices = contiguous(straight.view(y).data, sizes, [sizes.out_channels, inner])?;
    let positions = Positions {
        patches: Patches::of_windows(lined.maps(x), sizes),
        batch: sizes.batch,
    };
    tallow_gemm::matmul_columns(out, sizes.groups, &|group| matrices[group], &positions)?;
    lined.recycle();
    Ok(())
}

/// Patches with positions as rows, one matrix a group: element (`batch · positions + position`,
/// `channel · taps + tap`).
struct Positions<'a, T> {
    patches: Patches<'a, T>,
    batch: usize,
}

impl<T: Element> Columns<T::Acc> for Positions<'_, T> {
    fn shape(&self) -> [usize; 2] {
        let [columns, positions] = self.patches.shape();
        [self.batch * positions, columns]
    }

    fn fill(&self, group: usize, steps: Range<usize>, cols: Range<usize>, panel: &mut [T::Acc]) {
        tallow_simd::dispatch(Fill {
            positions: self,
            group,
            steps,
            cols,
            panel,
        });
    }
}

struct Fill<'a, 'p, T: Element> {
    positions: &'a Positions<'p, T>,
    group: usize,
    steps: Range<usize>,
    cols: Range<usize>,
    panel: &'a mut [T::Acc],
}

impl<T: Element> Kernel for Fill<'_, '_, T> {
    type Output = ();

    /// By pieces of one row of the result, and in each by square blocks: of each column a vector of
    /// inputs, then transposed.
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self {
            positions,
            group,
            steps,
            cols,
            panel,
        } = self;
        let patches = &positions.patches;
        let lanes = T::Acc::lanes::<S>();
        let mut block = [T::Acc::default(); MAX_F32_LANES * MAX_F32_LANES];
        let block = &mut block[..lanes * lanes];
        let width = panel.len() / steps.len();
        let [planes, height, row_len] = patches.positions;
        let mut step = steps.start;
        while step < steps.end {
            let (row, first) = (step / row_len, step % row_len);
            let piece = first..(first + lanes).min(row_len).min(first + steps.end - step);
            let plane = row / height % planes * patches.stride[0];
            let at = At {
                base: row / (planes * height) * patches.maps.batch_stride,
                plane: plane as isize,
                row: (row % height * patches.stride[1]) as isize,
                piece: piece.clone(),
            };
            let rows = &mut panel[(step - steps.start) * width..];
            for first in (0..width).step_by(lanes) {
                for (line, to) in block.chunks_exact_mut(lanes).enumerate() {
                    let col = cols.start + first + line;
                    if col < cols.end {
                        positions.column(simd, &at, (group, col), to);
                    } else {
                        zeros::<S, T>(simd, to);
                    }
                }
                T::Acc::transpose(simd, block);
                let lines = block.chunks_exact(lanes);
                for (row, line) in rows.chunks_exact_mut(width).zip(lines).take(piece.len()) {
                    let (line, to) = (T::Acc::load(simd, line), &mut row[first..]);
                    if to.len() < lanes {
                        T::Acc::store_partial(simd, line, to);
                    } else {
                        T::Acc::store(simd, line, to);
                    }
                }
            }
            step += piece.len();
        }
    }
}

/// A piece of a row of the result.
struct At {
    /// Where its image starts.
    base: usize,
    /// Where its windows start.
    plane: isize,
    row: isize,
    piece: Range<usize>,
}

impl<T: Element> Positions<'_, T> {
    /// What one column, a channel and a tap, reads at a piece of a row.
    #[inline(always)]
    fn column<S: Simd>(&self, simd: S, at: &At, (group, col): (usize, usize), to: &mut [T::Acc]) {
        let patches = &self.patches;
        let (maps, taps, stride) = (&patches.maps, patches.taps.len(), patches.stride[2]);
        let (channel, tap) = (col / taps, patches.taps[col % taps]);
        let channel = group * patches.channels + channel;
        let start = maps.row(at.plane + tap.plane, at.row + tap.row);
        let inside = inside(at.piece.clone(), stride, tap.element, tap.len);
        let Some(start) = start.filter(|_| !inside.is_empty()) else {
            return zeros::<S, T>(simd, to);
        };
        let from = ((inside.start * stride) as isize + tap.element).unsigned_abs() + tap.line;
        let from = &maps.data[at.base + channel * maps.channel_stride + start + from..];
        if stride == 1 && inside.len() == to.len() {
            return T::Acc::store(simd, T::load(simd, from), to);
        }
        zeros::<S, T>(simd, to);
        let to = &mut to[inside.start - at.piece.start..][..inside.len()];
        for (to, from) in to.iter_mut().zip(from.iter().step_by(stride)) {
            *to = from.widen();
        }
    }
}
