//! Few query rows (decoding): keys and values are read once, as they lie, and nothing is copied.

use super::cpu::TILE;
use crate::cpu::vector::VectorFloat;
use tallow_simd::Simd;

/// The most query rows that share a pass over the keys.
pub(super) const ROWS_MAX: usize = 4;

/// Rows of keys or values of one tile: `len` rows of `head_dim` neighbours, `stride` apart.
#[derive(Clone, Copy)]
pub(super) struct TileRows<'a, K> {
    pub(super) data: &'a [K],
    pub(super) stride: usize,
    pub(super) len: usize,
    pub(super) head_dim: usize,
}

impl<'a, K> TileRows<'a, K> {
    #[inline(always)]
    fn row(self, at: usize) -> &'a [K] {
        &self.data[at * self.stride..][..self.head_dim]
    }
}

/// `scores[row, at] = q[row] · k[at]`; zeros behind the tile's end. `head_dim` is a multiple of the
/// lanes.
#[inline(always)]
pub(super) fn scores<S: Simd, K: VectorFloat>(
    simd: S,
    q: &[f32],
    keys: TileRows<'_, K>,
    scores: &mut [f32],
) {
    match scores.len() / TILE {
        1 => scores_of::<S, K, 1>(simd, q, keys, scores),
        2 => scores_of::<S, K, 2>(simd, q, keys, scores),
        3 => scores_of::<S, K, 3>(simd, q, keys, scores),
        _ => scores_of::<S, K, ROWS_MAX>(simd, q, keys, scores),
    }
}

#[inline(always)]
fn scores_of<S: Simd, K: VectorFloat, const ROWS: usize>(
    simd: S,
    q: &[f32],
    keys: TileRows<'_, K>,
    scores: &mut [f32],
) {
    for at in 0..keys.len {
        let key = keys.row(at);
        let mut sums = [simd.splat_f32(0.0); ROWS];
        for (chunk, key) in key.chunks_exact(S::F32_LANES).enumerate() {
            let key = K::load(simd, key);
            for (row, sum) in sums.iter_mut().enumerate() {
                let q = simd.load_f32(&q[row * keys.head_dim + chunk * S::F32_LANES..]);
                *sum = simd.fma_f32(q, key, *sum);
            }
        }
        for (row, &sum) in sums.iter().enumerate() {
            scores[row * TILE + at] = simd.reduce_add_f32(sum);
        }
    }
    for row in scores.chunks_exact_mut(TILE) {
        row[keys.len..].fill(0.0);
    }
}

/// `sums[row] += Σ weights[row, at] · v[at]`; a row of sums has `width` places.
#[inline(always)]
pub(super) fn add_values<S: Simd, K: VectorFloat>(
    simd: S,
    weights: &[f32],
    values: TileRows<'_, K>,
    (sums, width): (&mut [f32], usize),
) {
    match weights.len() / TILE {
        1 => add_rows::<S, K, 1>(simd, weights, values, (sums, width)),
        2 => add_rows::<S, K, 2>(simd, weights, values, (sums, width)),
        3 => add_rows::<S, K, 3>(simd, weights, values, (sums, width)),
        _ => add_rows::<S, K, ROWS_MAX>(simd, weights, values, (sums, width)),
    }
}

#[inline(always)]
fn add_rows<S: Simd, K: VectorFloat, const ROWS: usize>(
    simd: S,
    weights: &[f32],
    values: TileRows<'_, K>,
    (sums, width): (&mut [f32], usize),
) {
    let lanes = S::F32_LANES;
    // Two vectors of features at a time: their sums stay in registers over all keys.
    let mut from = 0;
    while from < values.head_dim {
        let vectors = 2.min((values.head_dim - from) / lanes);
        let mut acc = [[simd.splat_f32(0.0); 2]; ROWS];
        for at in 0..values.len {
            let row = &values.row(at)[from..];
            let first = K::load(simd, row);
            let second = match vectors {
                2 => K::load(simd, &row[lanes..]),
                _ => first,
            };
            for (row, acc) in acc.iter_mut().enumerate() {
                let weight = simd.splat_f32(weights[row * TILE + at]);
                acc[0] = simd.fma_f32(weight, first, acc[0]);
                acc[1] = simd.fma_f32(weight, second, acc[1]);
            }
        }
        for (row, acc) in acc.iter().enumerate() {
            for (v, &acc) in acc.iter().take(vectors).enumerate() {
                let sums = &mut sums[row * width + from + v * lanes..];
                simd.store_f32(simd.add_f32(simd.load_f32(sums), acc), sums);
            }
        }
        from += vectors * lanes;
    }
}
