//! The patches of an image as the columns of a matrix, made while they are packed.
//!
//! Row `channel · taps + tap`, column `position`: what tap `tap` of the kernel reads in a channel
//! of the group when the window stands at `position` of the result, and 0 outside the image. Along
//! each dimension, position `o` and tap `t` read `o · stride + offset(t)`, so that the same code
//! serves a convolution and each residue of a transposed one.
//!
//! A panel is filled in pieces of one row of the result. For one piece and one tap the inputs of a
//! channel are a run (or a strided run), and where the image ends is the same for all channels.

use super::Element;
use super::maps::Maps;
use crate::ops::conv::geometry::{Sizes, Spatial};
use std::ops::Range;
use tallow_gemm::{Accumulator as _, Columns, Element as _};
use tallow_simd::{Kernel, Simd};

/// The patches of each group of each image of a batch.
pub(super) struct Patches<'a, T> {
    pub(super) maps: Maps<'a, T>,
    /// Channels of a group.
    pub(super) channels: usize,
    pub(super) groups: usize,
    pub(super) taps: Vec<Tap>,
    pub(super) stride: Spatial,
    /// Positions along each dimension.
    pub(super) positions: Spatial,
}

/// What a tap reads, relative to the position times the stride.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tap {
    pub(super) plane: isize,
    pub(super) row: isize,
    pub(super) element: isize,
    /// Where the line that it reads starts in a row, and how many elements it has.
    pub(super) line: usize,
    pub(super) len: usize,
}

/// The taps with one offset along each dimension, the last running fastest.
fn taps<T>(maps: Maps<'_, T>, along: [&[isize]; 3]) -> Vec<Tap> {
    let [planes, rows, elements] = along;
    let lines = maps.lines as isize;
    let tap = |plane, row, offset: isize| {
        // Of `position · lines + offset` the line, and the element in it.
        let line = offset.rem_euclid(lines).unsigned_abs();
        Tap {
            plane,
            row,
            element: offset.div_euclid(lines),
            line: line * maps.line_len,
            len: maps.dims[2].saturating_sub(line).div_ceil(maps.lines),
        }
    };
    let rows = |&plane| rows.iter().map(move |&row| [plane, row]);
    let all = |[plane, row]: [isize; 2]| elements.iter().map(move |&at| tap(plane, row, at));
    planes.iter().flat_map(rows).flat_map(all).collect()
}

impl<'a, T> Patches<'a, T> {
    /// The patches under the windows of a convolution.
    pub(super) fn of_windows(maps: Maps<'a, T>, sizes: &Sizes) -> Self {
        let along: [Vec<isize>; 3] = std::array::from_fn(|dim| {
            let taps = 0..sizes.kernel[dim];
            taps.map(|tap| sizes.windows[dim].offset(tap)).collect()
        });
        let mut stride = sizes.windows.map(|window| window.stride);
        stride[2] /= maps.lines;
        Self {
            maps,
            channels: sizes.in_channels,
            groups: sizes.groups,
            taps: taps(maps, [&along[0], &along[1], &along[2]]),
            stride,
            positions: sizes.out,
        }
    }

    /// The patches of a convolution of stride 1, whose taps have these offsets, over the channels
    /// of a result.
    pub(super) fn of_result(
        maps: Maps<'a, T>,
        sizes: &Sizes,
        along: [&[isize]; 3],
        positions: Spatial,
    ) -> Self {
        Self {
            maps,
            channels: sizes.out_channels,
            groups: sizes.groups,
            taps: taps(maps, along),
            stride: [1; 3],
            positions,
        }
    }
}

/// The part of `positions` (of a row) whose input lies in a row of `len` elements.
#[inline(always)]
pub(super) fn inside(
    positions: Range<usize>,
    stride: usize,
    offset: isize,
    len: usize,
) -> Range<usize> {
    let before = offset.min(0).unsigned_abs().div_ceil(stride);
    let end = (len as isize).saturating_sub(offset).max(0).unsigned_abs();
    let start = before.clamp(positions.start, positions.end);
    start..end.div_ceil(stride).clamp(start, positions.end)
}

impl<T: Element> Columns<T::Acc> for Patches<'_, T> {
    fn shape(&self) -> [usize; 2] {
        let rows = self.channels * self.taps.len();
        [rows, self.positions.iter().product()]
    }

    fn fill(&self, index: usize, steps: Range<usize>, cols: Range<usize>, panel: &mut [T::Acc]) {
        tallow_simd::dispatch(Fill {
            patches: self,
            index,
            steps,
            cols,
            panel,
        });
    }
}

struct Fill<'a, 'p, T: Element> {
    patches: &'a Patches<'p, T>,
    index: usize,
    steps: Range<usize>,
    cols: Range<usize>,
    panel: &'a mut [T::Acc],
}

impl<T: Element> Kernel for Fill<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self {
            patches,
            index,
            steps,
            cols,
            panel,
        } = self;
        let maps = &patches.maps;
        let (taps, width) = (patches.taps.len(), panel.len() / steps.len());
        let (batch, group) = (index / patches.groups, index % patches.groups);
        let base = batch * maps.batch_stride + group * patches.channels * maps.channel_stride;
        let [_, height, row_len] = patches.positions;
        if cols.len() < width {
            // Not used, but numbers that happen to be denormal would be slow to multiply.
            for step in panel.chunks_exact_mut(width) {
                zeros::<S, T>(simd, &mut step[cols.len()..]);
            }
        }
        let mut col = cols.start;
        while col < cols.end {
            let (row, first) = (col / row_len, col % row_len);
            let piece = first..row_len.min(first + cols.end - col);
            let plane_at = (row / height * patches.stride[0]) as isize;
            let row_at = (row % height * patches.stride[1]) as isize;
            for (number, tap) in patches.taps.iter().enumerate() {
                // Channels whose row for this tap is among the steps.
                let channel = |step: usize| step.saturating_sub(number).div_ceil(taps);
                let channels = channel(steps.start)..channel(steps.end);
                if channels.is_empty() {
                    continue;
                }
                let start = maps.row(plane_at + tap.plane, row_at + tap.row);
                let inside = match start {
                    Some(_) => inside(piece.clone(), patches.stride[2], tap.element, tap.len),
                    None => piece.start..piece.start,
                };
                let in_row = (inside.start * patches.stride[2]) as isize + tap.element;
                let from =
                    base + channels.start * maps.channel_stride + start.unwrap_or(0) + tap.line;
                let piece = Piece {
                    // Negative only where nothing is read.
                    from: from + in_row.max(0).unsigned_abs(),
                    stride: patches.stride[2],
                    len: piece.len(),
                    inside: inside.start - piece.start..inside.end - piece.start,
                };
                let to = (channels.start * taps + number - steps.start) * width + col - cols.start;
                let next = (maps.channel_stride, taps * width);
                piece.copy::<S, T>(simd, maps.data, &mut panel[to..], channels.len(), next);
            }
            col += piece.len();
        }
    }
}

/// What one tap reads for some positions of a row.
struct Piece {
    from: usize,
    stride: usize,
    len: usize,
    /// The positions that are inside the image; the others are 0.
    inside: Range<usize>,
}

impl Piece {
    /// Copies the piece of `count` channels; `next` is how far they are apart in both.
    #[inline(always)]
    fn copy<S: Simd, T: Element>(
        &self,
        simd: S,
        data: &[T],
        panel: &mut [T::Acc],
        count: usize,
        next: (usize, usize),
    ) {
        let (lanes, Range { start, end }) = (T::Acc::lanes::<S>(), self.inside.clone());
        let run = Run { simd, count, next };
        if self.stride == 1 {
            // Vector by vector: which of its lanes are inside is the same for all channels.
            for first in (0..self.len).step_by(lanes) {
                let part = first..self.len.min(first + lanes);
                let inside = start.clamp(part.start, part.end)..end.clamp(part.start, part.end);
                // What nothing is read of may lie anywhere.
                let from = match inside.is_empty() {
                    true => &[],
                    false => &data[self.from + inside.start - start..],
                };
                let inside = inside.start - first..inside.end - first;
                run.vector::<T>(from, &mut panel[first..], part.len(), inside);
            }
            return;
        }
        for channel in 0..count {
            let to = &mut panel[channel * next.1..][..self.len];
            zeros::<S, T>(simd, &mut to[..start]);
            zeros::<S, T>(simd, &mut to[end..]);
            if start < end {
                let from = data[self.from + channel * next.0..].iter();
                for (to, from) in to[start..end].iter_mut().zip(from.step_by(self.stride)) {
                    *to = from.widen();
                }
            }
        }
    }
}

/// The channels that a piece is copied of.
struct Run<S> {
    simd: S,
    count: usize,
    next: (usize, usize),
}

impl<S: Simd> Run<S> {
    /// Copies the elements inside of one vector of each channel; the others are 0.
    #[inline(always)]
    fn vector<T: Element>(&self, from: &[T], to: &mut [T::Acc], len: usize, inside: Range<usize>) {
        let (simd, zero) = (self.simd, T::Acc::splat(self.simd, T::Acc::default()));
        let lanes = T::Acc::lanes::<S>();
        if inside.len() == lanes {
            for channel in 0..self.count {
                let from = &from[channel * self.next.0..][..lanes];
                let to = &mut to[channel * self.next.1..][..lanes];
                T::Acc::store(simd, T::load(simd, from), to);
            }
            return;
        }
        for channel in 0..self.count {
            let to = &mut to[channel * self.next.1..][..len];
            T::Acc::store_partial(simd, zero, to);
            if !inside.is_empty() {
                let from = &from[channel * self.next.0..][..inside.len()];
                let to = &mut to[inside.clone()];
                T::Acc::store_partial(simd, T::load_partial(simd, from), to);
            }
        }
    }
}

/// Fills with zeros; the runs are short, so a call of memset would cost more.
#[inline(always)]
pub(super) fn zeros<S: Simd, T: Element>(simd: S, to: &mut [T::Acc]) {
    let zero = T::Acc::splat(simd, T::Acc::default());
    for part in to.chunks_mut(T::Acc::lanes::<S>()) {
        T::Acc::store_partial(simd, zero, part);
    }
}

/// Copies a run in the accumulator's type.
#[inline(always)]
pub(super) fn widen<S: Simd, T: Element>(simd: S, from: &[T], to: &mut [T::Acc]) {
    let lanes = T::Acc::lanes::<S>();
    let whole = to.len() / lanes * lanes;
    let (to, rest) = to.split_at_mut(whole);
    for (to, from) in to.chunks_exact_mut(lanes).zip(from.chunks_exact(lanes)) {
        T::Acc::store(simd, T::load(simd, from), to);
    }
    if !rest.is_empty() {
        T::Acc::store_partial(simd, T::load_partial(simd, &from[whole..]), rest);
    }
}
