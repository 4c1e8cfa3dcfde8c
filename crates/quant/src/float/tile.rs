//! A register tile of outer products, for many activation rows.
//!
//! Letters: p runs over k. A tile of weights is two vectors of weight rows wide, transposed to
//! `[p][row]`; activations are packed in strips of [`STRIP`] rows, `[strip][p][row]`. At each p two
//! loads of weights and a broadcast for each activation row feed two fma a row. Packed, both
//! are read in order, and rows that lie a power of two apart do not fight for one cache set.
//!
//! k is cut into slices of [`SLICE`], so that the slice of a tile stays in the first cache from its
//! transposition to its last use; sums wait in `out` between slices.

use std::cell::Cell;
use std::ops::Range;

use tallow_simd::{Kernel, MAX_F32_LANES, Simd, dispatch};

use super::Element;
use crate::columns;
use crate::lines::Lines;
use crate::matmul::MatmulDims;

/// Activation rows in a strip: 6 · 2 sums, two vectors of weights and a broadcast are 15 registers.
const STRIP: usize = 6;

/// Values of p in a slice: 128 · 32 weights are 16 KiB.
const SLICE: usize = 128;

/// The widest tile, whatever the level: tasks get whole multiples of it.
const MAX_WIDTH: usize = 2 * MAX_F32_LANES;

thread_local! {
    static STRIPS: Cell<Lines> = Cell::default();
    static TILE: Cell<Lines> = Cell::default();
}

pub(super) fn matmul<T: Element>(weight: &[T], lhs: &[f32], dims: MatmulDims, out: &mut [f32]) {
    let mut strips = STRIPS.take();
    pack_strips(&mut strips, lhs, dims);
    columns::for_ranges(out, dims.n, MAX_WIDTH, MAX_WIDTH, |first, out| {
        let weight = &weight[first * dims.k..(first + out[0].len()) * dims.k];
        let mut tile = TILE.take();
        tile.resize(4 * MAX_WIDTH * SLICE);
        dispatch(Tiles {
            weight,
            strips: strips.floats(),
            k: dims.k,
            scratch: &mut tile,
            out,
        });
        TILE.set(tile);
    });
    STRIPS.set(strips);
}

/// Interleaves the activations; rows that fill up the last strip are 0.
fn pack_strips(strips: &mut Lines, lhs: &[f32], MatmulDims { m, k, .. }: MatmulDims) {
    strips.resize(4 * m.div_ceil(STRIP) * STRIP * k);
    let packed = &mut strips.floats_mut()[..m.div_ceil(STRIP) * STRIP * k];
    tallow_threads::parallel_chunks_mut(packed, STRIP * k, |strip, packed| {
        let rows: [&[f32]; STRIP] = std::array::from_fn(|row| {
            let start = (strip * STRIP + row) * k;
            lhs.get(start..start + k).unwrap_or(&[])
        });
        for (p, packed) in packed.as_chunks_mut::<STRIP>().0.iter_mut().enumerate() {
            for (packed, row) in packed.iter_mut().zip(rows) {
                *packed = row.get(p).copied().unwrap_or(0.0);
            }
        }
    });
}

/// All activations times a range of weight rows.
struct Tiles<'a, 'b, T> {
    weight: &'a [T],
    strips: &'a [f32],
    k: usize,
    scratch: &'a mut Lines,
    out: &'a mut [&'b mut [f32]],
}

impl<T: Element> Kernel for Tiles<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let width = 2 * S::F32_LANES;
        let columns = self.out[0].len();
        let tile = self.scratch.floats_mut();
        for first in (0..columns).step_by(width) {
            let rows = width.min(columns - first);
            let weight = &self.weight[first * self.k..(first + rows) * self.k];
            for start in (0..self.k).step_by(SLICE) {
                let slice = start..(start + SLICE).min(self.k);
                transpose::<S, T>(simd, weight.chunks_exact(self.k), slice.clone(), tile);
                let weights = &tile[..width * slice.len()];
                for (strip, out) in self.out.chunks_mut(STRIP).enumerate() {
                    let strip = &self.strips[strip * STRIP * self.k..][..STRIP * self.k];
                    let strip = &strip.as_chunks::<STRIP>().0[slice.clone()];
                    let place = Place {
                        first,
                        rows,
                        continues: start > 0,
                    };
                    outer_products(simd, weights, strip, place, out);
                }
            }
        }
    }
}

/// Where a tile's sums go, and whether they add to what is there.
#[derive(Clone, Copy)]
struct Place {
    first: usize,
    rows: usize,
    continues: bool,
}

/// Widens a slice of weight rows and writes them as columns. Columns of missing rows keep old
/// values, which are not read out.
#[inline(always)]
fn transpose<'a, S: Simd, T: Element>(
    simd: S,
    rows: impl Iterator<Item = &'a [T]>,
    slice: Range<usize>,
    tile: &mut [f32],
) {
    let lanes = S::F32_LANES;
    for (at, row) in rows.enumerate() {
        let columns = tile.chunks_mut(2 * lanes * lanes);
        for (weights, columns) in row[slice.clone()].chunks(lanes).zip(columns) {
            let mut values = [0.0; MAX_F32_LANES];
            simd.store_f32(T::load_partial(simd, weights), &mut values);
            for (value, column) in values[..weights.len()]
                .iter()
                .zip(columns.chunks_mut(2 * lanes))
            {
                column[at] = *value;
            }
        }
    }
}

#[inline(always)]
fn outer_products<S: Simd>(
    simd: S,
    weights: &[f32],
    strip: &[[f32; STRIP]],
    place: Place,
    out: &mut [&mut [f32]],
) {
    let lanes = S::F32_LANES;
    let Place {
        first,
        rows,
        continues,
    } = place;
    let mut sums = [[simd.splat_f32(0.0); 2]; STRIP];
    for (weights, activations) in weights.chunks_exact(2 * lanes).zip(strip) {
        let low = simd.load_f32(&weights[..lanes]);
        let high = simd.load_f32(&weights[lanes..]);
        for row in 0..STRIP {
            let activation = simd.splat_f32(activations[row]);
            sums[row][0] = simd.fma_f32(low, activation, sums[row][0]);
            sums[row][1] = simd.fma_f32(high, activation, sums[row][1]);
        }
    }
    for (out, sums) in out.iter_mut().zip(sums) {
        let out = &mut out[first..first + rows];
        let (low, high) = out.split_at_mut(rows.min(lanes));
        for (sum, out) in sums.into_iter().zip([low, high]) {
            let sum = if continues {
                simd.add_f32(sum, simd.load_partial_f32(out))
            } else {
                sum
            };
            simd.store_partial_f32(sum, out);
        }
    }
}
