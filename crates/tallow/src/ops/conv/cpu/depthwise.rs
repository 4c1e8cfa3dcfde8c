//! Convolutions of one channel a group, without a matrix product: there is nothing to share.
//!
//! The result goes by bands: some rows of one plane. The input rows that a band needs are widened
//! into a buffer, with zeros around the image, and every `stride`-th element side by side:
//!
//! ```text
//! row x0 x1 x2 x3 x4 x5, stride 2, in the buffer: x0 x2 x4 … x1 x3 x5 …
//! ```
//!
//! so that for each tap the inputs of neighbouring results are neighbours. Each vector of results
//! is then a sum over the taps in registers.

use super::Element;
use super::maps::Maps;
use super::patches::{inside, widen, zeros};
use crate::Result;
use crate::cpu::map::Cost;
use crate::cpu::{View, recycle};
use crate::ops::conv::geometry::{Sizes, Window};
use std::ops::Range;
use tallow_gemm::{Accumulator as _, Element as _};
use tallow_simd::{Kernel, Simd};

/// Results of a channel that are computed without a matrix product: beyond, a product reads each
/// input once for several of them.
const RESULTS_MAX: usize = 4;

/// The farthest that a kernel may reach, and the largest stride: bounds on the buffer.
const REACH_MAX: usize = 64;

/// The most taps: each has its offset in a table on the stack.
const TAPS_MAX: usize = 64;

/// Elements of a row of a band, and of the buffer for its input rows where one row is enough:
/// 16 Ki f32 are 64 KiB, a part of the second-level cache.
const ROW_MAX: usize = 2048;
const BUFFER: usize = 16 << 10;

/// Vectors of results in registers at once.
const UNROLL: usize = 4;

/// Whether this kernel takes the convolution.
pub(super) fn takes(sizes: &Sizes) -> bool {
    let is_near = |(window, &taps): (&Window, &usize)| {
        let reach = window.dilation.saturating_mul(taps);
        reach <= REACH_MAX && window.stride <= REACH_MAX
    };
    let is_small = sizes.windows.iter().zip(&sizes.kernel).all(is_near);
    let is_single = sizes.in_channels == 1 && sizes.out_channels <= RESULTS_MAX;
    is_single && is_small && sizes.taps() <= TAPS_MAX
}

struct Depthwise<'a, T: Element> {
    maps: Maps<'a, T>,
    /// `[groups · out_channels, taps]`
    weight: &'a [T::Acc],
    sizes: &'a Sizes,
}

/// `out[batch, groups · out_channels, …]`
pub(super) fn run<T: Element>(
    maps: Maps<'_, T>,
    weight: View<'_, T>,
    sizes: &Sizes,
    out: &mut [T],
) -> Result<()> {
    let weight: Vec<T::Acc> = weight.offsets().map(|at| weight.data[at].widen()).collect();
    let depthwise = &Depthwise {
        maps,
        weight: &weight,
        sizes,
    };
    let row_len = sizes.out[2];
    // Where taps are few, an element costs no more than in other light loops.
    let elements_min = (Cost::Light.min_chunk() / sizes.taps()).max(Cost::Heavy.min_chunk() / 4);
    if row_len > ROW_MAX {
        // Long rows, as of audio: pieces of a row are shared out.
        let piece = tallow_threads::chunk_len(row_len, elements_min).min(ROW_MAX);
        for (row, out) in out.chunks_mut(row_len).enumerate() {
            tallow_threads::parallel_chunks_mut(out, piece, |index, out| {
                let cols = index * piece..index * piece + out.len();
                depthwise.rows(row..row + 1, cols, out);
            });
        }
        return Ok(());
    }
    let rows = tallow_threads::chunk_len(out.len() / row_len, elements_min.div_ceil(row_len));
    tallow_threads::parallel_chunks_mut(out, rows * row_len, |index, out| {
        let first = index * rows;
        depthwise.rows(first..first + out.len() / row_len, 0..row_len, out);
    });
    Ok(())
}

impl<T: Element> Depthwise<'_, T> {
    /// Rows of the result, counted over all its planes; of each the same columns.
    fn rows(&self, mut rows: Range<usize>, cols: Range<usize>, mut out: &mut [T]) {
        let height = self.sizes.out[1];
        let most = self.band_rows(cols.len());
        while !rows.is_empty() {
            let (slice, first) = (rows.start / height, rows.start % height);
            let count = most.min(height - first).min(rows.len());
            let (here, rest) = out.split_at_mut(count * cols.len());
            let planes = self.sizes.out[0];
            tallow_simd::dispatch(Band {
                depthwise: self,
                channel: slice / planes,
                plane: slice % planes,
                rows: first..first + count,
                cols: cols.clone(),
                out: here,
            });
            rows.start += count;
            out = rest;
        }
    }

    /// Rows of a band whose input rows fill the buffer.
    fn band_rows(&self, cols: usize) -> usize {
        let [_, rows, row] = self.sizes.windows;
        let in_rows = BUFFER / (cols * row.stride + REACH_MAX) / self.sizes.kernel[0];
        let reach = (self.sizes.kernel[1] - 1) * rows.dilation + 1;
        (in_rows.saturating_sub(reach) / rows.stride + 1).max(1)
    }
}

/// Some rows of one plane of the result.
struct Band<'a, 'p, T: Element> {
    depthwise: &'a Depthwise<'p, T>,
    /// The channel of the result, counted over the batch.
    channel: usize,
    plane: usize,
    rows: Range<usize>,
    cols: Range<usize>,
    out: &'a mut [T],
}

/// How the buffer is laid out: for each plane of the kernel the input rows, for each of them one
/// line for each residue of the stride.
#[derive(Clone, Copy)]
struct Buffer {
    rows: usize,
    lines: usize,
    line: usize,
}

impl<T: Element> Kernel for Band<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let sizes = self.depthwise.sizes;
        let ([_, window_y, window], [planes, taps_y, taps]) = (sizes.windows, sizes.kernel);
        let lanes = T::Acc::lanes::<S>();
        let layout = Buffer {
            rows: (self.rows.len() - 1) * window_y.stride + (taps_y - 1) * window_y.dilation + 1,
            lines: window.stride,
            // Vectors may be read from the last element on.
            line: self.cols.len() + (taps - 1) * window.dilation / window.stride + UNROLL * lanes,
        };
        let mut buffer = recycle::take::<T::Acc>(planes * layout.rows * layout.lines * layout.line);
        self.load(simd, layout, &mut buffer);
        // Where each tap reads, from the first element of a row on.
        let mut offsets = [0; TAPS_MAX];
        let channels = sizes.groups * sizes.out_channels;
        let weight = &self.depthwise.weight[self.channel % channels * sizes.taps()..];
        let weight = &weight[..sizes.taps()];
        for (tap, offset) in offsets.iter_mut().take(weight.len()).enumerate() {
            let (z, y, x) = (tap / (taps_y * taps), tap / taps % taps_y, tap % taps);
            let x = x * window.dilation;
            let row = z * layout.rows + y * window_y.dilation;
            let line = row * layout.lines + x % layout.lines;
            *offset = line * layout.line + x / layout.lines;
        }
        let offsets = &offsets[..weight.len()];
        let row_step = window_y.stride * layout.lines * layout.line;
        let cols = self.cols.len();
        for (row, out) in self.out.chunks_exact_mut(cols).enumerate() {
            let from = &buffer[row * row_step..];
            let mut at = 0;
            while at < cols {
                // Several sums at once hide how long an addition takes; those behind the end of a
                // row are dropped.
                let (from, out) = (&from[at..], &mut out[at..]);
                at += match out.len().div_ceil(lanes) {
                    1 => sum::<S, T, 1>(simd, from, weight, offsets, out),
                    2 => sum::<S, T, 2>(simd, from, weight, offsets, out),
                    _ => sum::<S, T, UNROLL>(simd, from, weight, offsets, out),
                };
            }
        }
        recycle::give(buffer);
    }
}

impl<T: Element> Band<'_, '_, T> {
    /// Fills the buffer.
    #[inline(always)]
    fn load<S: Simd>(&self, simd: S, layout: Buffer, buffer: &mut [T::Acc]) {
        let (sizes, maps) = (self.depthwise.sizes, &self.depthwise.maps);
        let [window_z, window_y, window] = sizes.windows;
        let (batch, result) = (
            self.channel / (sizes.groups * sizes.out_channels),
            self.channel % (sizes.groups * sizes.out_channels),
        );
        let base = batch * maps.batch_stride + result / sizes.out_channels * maps.channel_stride;
        let first_row = (self.rows.start * window_y.stride) as isize + window_y.offset(0);
        let rows = buffer.chunks_exact_mut(layout.lines * layout.line);
        for (at, lines) in rows.enumerate() {
            let (z, y) = (at / layout.rows, at % layout.rows);
            let plane = (self.plane * window_z.stride) as isize + window_z.offset(z);
            let Some(start) = maps.row(plane, first_row + y as isize) else {
                zeros::<S, T>(simd, lines);
                continue;
            };
            for (residue, line) in lines.chunks_exact_mut(layout.line).enumerate() {
                // Element `i` of the line is input `(cols.start + i) · stride + offset`.
                let offset = residue as isize - window.padding as isize;
                let cols = self.cols.start..self.cols.start + line.len();
                let inside = inside(cols.clone(), window.stride, offset, maps.dims[2]);
                zeros::<S, T>(simd, &mut line[..inside.start - cols.start]);
                zeros::<S, T>(simd, &mut line[inside.end - cols.start..]);
                if inside.is_empty() {
                    continue;
                }
                let from = ((inside.start * window.stride) as isize + offset).unsigned_abs();
                let from = &maps.data[base + start + from..];
                let line = &mut line[inside.start - cols.start..inside.end - cols.start];
                if window.stride == 1 {
                    widen::<S, T>(simd, &from[..line.len()], line);
                } else {
                    for (to, from) in line.iter_mut().zip(from.iter().step_by(window.stride)) {
                        *to = from.widen();
                    }
                }
            }
        }
    }
}

/// As many results as `V` vectors hold, or `out` takes: the sum over the taps. Gives how many `V`
/// vectors hold.
#[inline(always)]
fn sum<S: Simd, T: Element, const V: usize>(
    simd: S,
    from: &[T::Acc],
    weight: &[T::Acc],
    offsets: &[usize],
    out: &mut [T],
) -> usize {
    let lanes = T::Acc::lanes::<S>();
    let mut sums = [T::Acc::splat(simd, T::Acc::default()); V];
    for (&weight, &offset) in weight.iter().zip(offsets) {
        let weight = T::Acc::splat(simd, weight);
        let from = &from[offset..][..V * lanes];
        for (sum, from) in sums.iter_mut().zip(from.chunks_exact(lanes)) {
            *sum = T::Acc::fma(simd, weight, T::Acc::load(simd, from), *sum);
        }
    }
    for (sum, out) in sums.into_iter().zip(out.chunks_mut(lanes)) {
        if out.len() == lanes {
            T::store(simd, sum, out);
        } else {
            T::store_partial(simd, sum, out);
        }
    }
    V * lanes
}
