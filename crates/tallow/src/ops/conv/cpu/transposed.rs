//! Transposed convolutions, as convolutions of stride 1.
//!
//! Image position `p` gets `y[o] · w[t]` from each output and tap with `o · stride + offset(t)` at
//! `p`. Positions of one residue modulo the stride, `p = r + stride · i`, all meet the same taps:
//! those with `offset(t) ≡ r`, which read `o = i + (r − offset(t)) / stride`. So each residue is a
//! plain convolution with some of the taps, and no product with the zeros between outputs is made.
//! With several residues the results are computed apart and then put in their places; that takes
//! as much memory as one residue of the image.

use super::Element;
use super::maps::Maps;
use super::patches::Patches;
use crate::Result;
use crate::cpu::map::Cost;
use crate::cpu::{View, copy, recycle};
use crate::ops::conv::geometry::{Sizes, Spatial, Window};
use tallow_gemm::MatRef;

/// Along one dimension: the taps that meet a residue, and where each reads.
struct Taps {
    taps: Vec<usize>,
    reads: Vec<isize>,
}

impl Taps {
    /// The taps of each of the first residues.
    fn table(window: Window, residues: usize, taps: usize) -> Vec<Self> {
        let stride = window.stride as isize;
        let mut meeting = vec![Vec::new(); residues];
        for tap in 0..taps {
            let residue = window.offset(tap).rem_euclid(stride).unsigned_abs();
            if let Some(meeting) = meeting.get_mut(residue) {
                meeting.push(tap);
            }
        }
        let of = |(residue, taps): (usize, Vec<usize>)| {
            let reads = |&tap: &usize| (residue as isize - window.offset(tap)) / stride;
            Self {
                reads: taps.iter().map(reads).collect(),
                taps,
            }
        };
        meeting.into_iter().enumerate().map(of).collect()
    }
}

/// The taps of every residue of the stride that the image has a position of.
struct Residues {
    counts: Spatial,
    taps: [Vec<Taps>; 3],
}

impl Residues {
    fn new(sizes: &Sizes) -> Self {
        let counts: Spatial =
            std::array::from_fn(|dim| sizes.windows[dim].stride.min(sizes.image[dim]));
        let taps = std::array::from_fn(|dim| {
            Taps::table(sizes.windows[dim], counts[dim], sizes.kernel[dim])
        });
        Self { counts, taps }
    }

    /// The residue along each dimension, and the taps there, of each residue.
    fn all(&self) -> impl Iterator<Item = (Spatial, [&Taps; 3])> {
        let [_, rows, columns] = self.counts;
        (0..self.counts.iter().product()).map(move |at| {
            let residue = [at / (rows * columns), at / columns % rows, at % columns];
            let taps = std::array::from_fn(|dim| &self.taps[dim][residue[dim]]);
            (residue, taps)
        })
    }
}

fn count(taps: [&Taps; 3]) -> usize {
    taps.iter().map(|taps| taps.taps.len()).product()
}

/// `out[batch, groups · in_channels, …]`, the image.
pub(in super::super) fn transposed<T: Element>(
    y: View<'_, T>,
    weight: View<'_, T>,
    sizes: &Sizes,
    out: &mut [T],
) -> Result<()> {
    let straight = copy::straight_rows(y);
    let maps = Maps::new(straight.view(y));
    let residues = Residues::new(sizes);
    // A stride may be longer than the kernel: then some positions meet no tap.
    let is_met = residues
        .taps
        .iter()
        .flatten()
        .all(|taps| !taps.taps.is_empty());
    if sizes.out_channels == 0 || !is_met {
        out.fill(T::default());
    }
    if sizes.out_channels == 0 {
        return Ok(());
    }
    let kernel = SortedKernel::new(weight, sizes, &residues);
    let stride = sizes.windows.map(|window| window.stride);
    let mut start = 0;
    for (residue, taps) in residues.all() {
        let inner = sizes.out_channels * count(taps);
        if inner == 0 {
            continue;
        }
        let matrices = kernel.matrices(sizes, start, inner)?;
        start += inner;
        let matrices = |at: usize| matrices[at % sizes.groups];
        let positions: Spatial =
            std::array::from_fn(|dim| (sizes.image[dim] - residue[dim]).div_ceil(stride[dim]));
        let along = taps.map(|taps| taps.reads.as_slice());
        let patches = Patches::of_result(maps, sizes, along, positions);
        let images = sizes.batch * sizes.groups;
        if positions == sizes.image {
            tallow_gemm::matmul_columns(out, images, &matrices, &patches)?;
            continue;
        }
        let count: usize = positions.iter().product();
        let mut part = recycle::take::<T>(images * sizes.in_channels * count);
        tallow_gemm::matmul_columns(&mut part, images, &matrices, &patches)?;
        let place = Place {
            image: sizes.image,
            residue,
            stride,
            positions,
        };
        place.spread(&part, out);
        recycle::give(part);
    }
    recycle::give(kernel.data);
    Ok(())
}

/// The kernel, sorted for the products: a row for each group and channel of the image; in it, for
/// each residue in turn, `[out_channels, taps that meet it]`.
struct SortedKernel<T> {
    data: Vec<T>,
    row_len: usize,
}

impl<T: Element> SortedKernel<T> {
    fn new(weight: View<'_, T>, sizes: &Sizes, residues: &Residues) -> Self {
        let spatial = weight.dims.len() - 2;
        let mut strides = [0; 3];
        strides[3 - spatial..].copy_from_slice(&weight.strides[2..]);
        // Of each tap: where it is in the kernel, where in a row, and how far to the next channel.
        let (mut places, mut row_len) = (Vec::new(), 0);
        for (_, taps) in residues.all() {
            let step = count(taps);
            for at in 0..step {
                let [_, rows, columns] = taps.map(|taps| taps.taps.len());
                let index = [at / (rows * columns), at / columns % rows, at % columns];
                let along = index.iter().zip(taps).zip(strides);
                let from: usize = along
                    .map(|((&at, taps), stride)| taps.taps[at] * stride)
                    .sum();
                places.push((from, row_len + at, step));
            }
            row_len += sizes.out_channels * step;
        }
        let rows = sizes.groups * sizes.in_channels;
        let mut data = recycle::take::<T>(rows * row_len);
        if data.is_empty() {
            return Self { data, row_len };
        }
        let together = Cost::Light.min_chunk().div_ceil(row_len);
        let together = tallow_threads::chunk_len(rows, together);
        tallow_threads::parallel_chunks_mut(&mut data, together * row_len, |chunk, rows| {
            // Channels outermost: neighbouring rows lie side by side in the kernel.
            for channel in 0..sizes.out_channels {
                for (row, to) in (chunk * together..).zip(rows.chunks_exact_mut(row_len)) {
                    let (group, row) = (row / sizes.in_channels, row % sizes.in_channels);
                    let start = (group * sizes.out_channels + channel) * weight.strides[0]
                        + row * weight.strides[1];
                    for &(from, place, step) in &places {
                        to[place + channel * step] = weight.data[start + from];
                    }
                }
            }
        });
        Self { data, row_len }
    }

    /// The matrix of each group for the residue whose part of a row starts here.
    fn matrices(&self, sizes: &Sizes, start: usize, inner: usize) -> Result<Vec<MatRef<'_, T>>> {
        let rows = sizes.in_channels;
        let matrix = |group: usize| {
            let data = self.data.get(group * rows * self.row_len + start..);
            Ok(MatRef::new(
                data.unwrap_or_default(),
                rows,
                inner,
                self.row_len,
                1,
            )?)
        };
        (0..sizes.groups).map(matrix).collect()
    }
}

/// Where the positions of a residue lie in a channel of the image.
struct Place {
    image: Spatial,
    residue: Spatial,
    stride: Spatial,
    positions: Spatial,
}

impl Place {
    /// Copies the positions of each channel to their places.
    fn spread<T: Element>(&self, part: &[T], out: &mut [T]) {
        let image_len: usize = self.image.iter().product();
        let part_len: usize = self.positions.iter().product();
        let channels_min = Cost::Light.min_chunk().div_ceil(image_len);
        let channels = tallow_threads::chunk_len(out.len() / image_len, channels_min);
        tallow_threads::parallel_chunks_mut(out, channels * image_len, |chunk, out| {
            let parts = part[chunk * channels * part_len..].chunks_exact(part_len);
            for (part, image) in parts.zip(out.chunks_exact_mut(image_len)) {
                self.spread_channel(part, image);
            }
        });
    }

    fn spread_channel<T: Element>(&self, part: &[T], image: &mut [T]) {
        let [_, height, width] = self.image;
        let rows = self.positions[1];
        for (row, part) in part.chunks_exact(self.positions[2]).enumerate() {
            let plane = self.residue[0] + row / rows * self.stride[0];
            let row = self.residue[1] + row % rows * self.stride[1];
            let start = (plane * height + row) * width + self.residue[2];
            let places = image[start..].iter_mut().step_by(self.stride[2]);
            places.zip(part).for_each(|(to, from)| *to = *from);
        }
    }
}
