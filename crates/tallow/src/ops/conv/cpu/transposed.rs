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

/// Along one dimension: the taps that meet a residue, `first`, `first + step`, …, and where each
/// reads.
struct Taps {
    first: usize,
    step: usize,
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
        let of = |(residue, meeting): (usize, Vec<usize>)| {
            let reads = |&tap: &usize| (residue as isize - window.offset(tap)) / stride;
            Self {
                first: meeting.first().copied().unwrap_or(0),
                step: meeting.get(1).map_or(1, |next| next - meeting[0]),
                reads: meeting.iter().map(reads).collect(),
            }
        };
        meeting.into_iter().enumerate().map(of).collect()
    }
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
    let stride = sizes.windows.map(|window| window.stride);
    // Residues that the image has no position of give nothing.
    let residues: Spatial = std::array::from_fn(|dim| stride[dim].min(sizes.image[dim]));
    let taps: [Vec<Taps>; 3] = std::array::from_fn(|dim| {
        Taps::table(sizes.windows[dim], residues[dim], sizes.kernel[dim])
    });
    // A stride may be longer than the kernel: then some positions meet no tap.
    let is_met = |along: &Vec<Taps>| along.iter().all(|taps| !taps.reads.is_empty());
    if sizes.out_channels == 0 || !taps.iter().all(is_met) {
        out.fill(T::default());
    }
    for at in 0..residues.iter().product() {
        let residue = [
            at / (residues[1] * residues[2]),
            at / residues[2] % residues[1],
            at % residues[2],
        ];
        let taps: [&Taps; 3] = std::array::from_fn(|dim| &taps[dim][residue[dim]]);
        if sizes.out_channels == 0 || taps.iter().any(|taps| taps.reads.is_empty()) {
            continue;
        }
        let positions: Spatial =
            std::array::from_fn(|dim| (sizes.image[dim] - residue[dim]).div_ceil(stride[dim]));
        let along = taps.map(|taps| taps.reads.as_slice());
        let patches = Patches::of_result(maps, sizes, along, positions);
        if positions == sizes.image {
            return product(&patches, weight, taps, sizes, out);
        }
        let planes = out.len() / sizes.image.iter().product::<usize>();
        let mut part = recycle::take::<T>(planes * positions.iter().product::<usize>());
        product(&patches, weight, taps, sizes, &mut part)?;
        let place = Place {
            image: sizes.image,
            residue,
            stride,
            positions,
        };
        place.spread(&part, out);
        recycle::give(part);
    }
    Ok(())
}

/// The image at the positions of one residue.
fn product<T: Element>(
    patches: &Patches<'_, T>,
    weight: View<'_, T>,
    taps: [&Taps; 3],
    sizes: &Sizes,
    out: &mut [T],
) -> Result<()> {
    let (rows, inner) = (sizes.in_channels, sizes.out_channels * patches.taps.len());
    // `[groups · out, in, taps…]` as `[groups, in, out, taps…]` with the taps that meet.
    let spatial = weight.dims.len() - 2;
    let own = &taps[3 - spatial..];
    let mut dims = vec![sizes.groups, rows, sizes.out_channels];
    dims.extend(own.iter().map(|taps| taps.reads.len()));
    let mut strides = vec![
        sizes.out_channels * weight.strides[0],
        weight.strides[1],
        weight.strides[0],
    ];
    let steps = own.iter().zip(&weight.strides[2..]);
    strides.extend(steps.clone().map(|(taps, &stride)| taps.step * stride));
    let start: usize = steps.map(|(taps, &stride)| taps.first * stride).sum();
    let view = View {
        data: &weight.data[start..],
        dims: &dims,
        strides: &strides,
    };
    let mut packed = recycle::take::<T>(view.count());
    copy::copy(view, &mut packed);
    let matrices = packed.chunks_exact(rows * inner);
    let matrices = matrices.map(|data| MatRef::new(data, rows, inner, inner, 1));
    let matrices = matrices.collect::<std::result::Result<Vec<_>, _>>()?;
    let count = sizes.batch * sizes.groups;
    let weights = |at: usize| matrices[at % sizes.groups];
    tallow_gemm::matmul_columns(out, count, &weights, patches)?;
    recycle::give(packed);
    Ok(())
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
