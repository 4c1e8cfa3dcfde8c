//! Streaming attention on the CPU.
//!
//! A task is one key/value head of one batch index and a block of its queries: the rows of the
//! block are all (head of the group, position) pairs. Few queries (decoding) leave few such tasks,
//! so there the keys are cut into spans too, each with its own running softmax; the spans are
//! merged at the end. Spans and blocks depend on the shapes alone, so the result is the same for
//! any number of threads.
//!
//! A task walks its keys in tiles of [`TILE`]: widens kᵀ `[head_dim, TILE]` and v `[TILE, width]`
//! into f32 scratch, multiplies, masks, updates maximum and sum, multiplies again. A task's result
//! is `[rows, width]` sums and, a row, the maximum and the sum of weights; [`merge`] makes the
//! output.

use super::super::tile_product::{Product, width_of};
use super::AttentionOptions;
use super::few::{self, ROWS_MAX, TileRows};
use crate::cpu::vector::{VectorFloat, widen_run};
use crate::cpu::{CpuView, View, recycle};
use crate::{CpuStorage, Result};
use std::ops::Range;
use tallow_gemm::Accumulator as _;
use tallow_simd::{Kernel, MAX_F32_LANES, Simd, math};

/// Keys a tile: kᵀ and v of 64 × 64 f32 are 16 KiB each, and the scores of a block as much.
pub(super) const TILE: usize = 64;
/// Rows a block aims at: enough that widening a tile costs little beside multiplying by it.
const ROWS: usize = 48;
/// With this many query positions or fewer, keys are cut into spans.
const FEW_QUERIES: usize = 4;
/// Keys a span: a quarter of the second-level cache at head_dim 64.
const SPAN: usize = 512;

/// Sizes of one call.
#[derive(Clone, Copy)]
struct Plan {
    heads: usize,
    kv_heads: usize,
    group: usize,
    q_len: usize,
    kv_len: usize,
    head_dim: usize,
    /// Query positions a block.
    block: usize,
    blocks: usize,
    /// Keys a span.
    span: usize,
    spans: usize,
    /// head_dim, rounded up to whole register tiles.
    width: usize,
}

impl Plan {
    fn rows(&self) -> usize {
        self.block * self.group
    }
    /// Floats of one task's result: the sums, the maxima, the weights.
    fn partial_len(&self) -> usize {
        self.rows() * (self.width + 2)
    }
    fn task(&self, batch: usize, kv_head: usize, block: usize, span: usize) -> usize {
        ((batch * self.kv_heads + kv_head) * self.blocks + block) * self.spans + span
    }
    /// The keys that the query at a position sees.
    fn visible(&self, position: usize, options: &AttentionOptions) -> Range<usize> {
        // Queries before the first key see nothing under a causal mask.
        let own = self.kv_len + position + 1;
        let end = if options.causal {
            own.saturating_sub(self.q_len)
        } else {
            self.kv_len
        };
        let from = options
            .window
            .map_or(0, |window| own.saturating_sub(self.q_len + window));
        from.min(end)..end
    }
}

/// Keys and values of consecutive positions.
struct Page<'a, K> {
    k: View<'a, K>,
    v: View<'a, K>,
    first: usize,
    len: usize,
}

pub(super) fn attention<Q: VectorFloat, K: VectorFloat>(
    inputs: &[CpuView<'_>],
    options: AttentionOptions,
    out: &mut CpuStorage,
) -> Result<()> {
    let q = inputs[0].typed::<Q>()?;
    let mut pages = Vec::new();
    let mut kv_len = 0;
    for pair in inputs[1..].chunks_exact(2) {
        let (k, v) = (pair[0].typed::<K>()?, pair[1].typed::<K>()?);
        pages.push(Page {
            k,
            v,
            first: kv_len,
            len: k.dims[2],
        });
        kv_len += k.dims[2];
    }
    let (heads, kv_heads, q_len, head_dim) = (q.dims[1], pages[0].k.dims[1], q.dims[2], q.dims[3]);
    let group = heads / kv_heads;
    let block = (ROWS / group).clamp(1, q_len);
    let span = if q_len <= FEW_QUERIES {
        SPAN
    } else {
        kv_len.max(1)
    };
    let plan = Plan {
        heads,
        kv_heads,
        group,
        q_len,
        kv_len,
        head_dim,
        block,
        blocks: q_len.div_ceil(block),
        span,
        spans: kv_len.div_ceil(span).max(1),
        width: width_of(head_dim),
    };
    let tasks = q.dims[0] * kv_heads * plan.blocks * plan.spans;
    let mut partials = recycle::take::<f32>(tasks * plan.partial_len());
    tallow_threads::parallel_chunks_mut(&mut partials, plan.partial_len(), |task, partial| {
        tallow_simd::dispatch(Task {
            q,
            pages: &pages,
            plan,
            options,
            task,
            partial,
        });
    });
    merge::<Q>(&plan, &partials, out.as_mut_slice()?);
    recycle::give(partials);
    Ok(())
}

/// Joins the spans of each row: the sums, each scaled to the greatest maximum, over the weights.
fn merge<Q: VectorFloat>(plan: &Plan, partials: &[f32], out: &mut [Q]) {
    let rows_min = 16 * 1024 / plan.head_dim;
    let rows = tallow_threads::chunk_len(out.len() / plan.head_dim, rows_min.max(1));
    tallow_threads::parallel_chunks_mut(out, rows * plan.head_dim, |chunk, part| {
        for (at, out_row) in part.chunks_exact_mut(plan.head_dim).enumerate() {
            let at = chunk * rows + at;
            let (position, head) = (at % plan.q_len, at / plan.q_len % plan.heads);
            let batch = at / (plan.q_len * plan.heads);
            let row = position % plan.block * plan.group + head % plan.group;
            let task = plan.task(batch, head / plan.group, position / plan.block, 0);
            merge_row(plan, &partials[task * plan.partial_len()..], row, out_row);
        }
    });
}

fn merge_row<Q: VectorFloat>(plan: &Plan, partials: &[f32], row: usize, out_row: &mut [Q]) {
    let (rows, width) = (plan.rows(), plan.width);
    let partial = |span: usize| &partials[span * plan.partial_len()..][..plan.partial_len()];
    let state = |span: usize| {
        (
            partial(span)[rows * width + row],
            partial(span)[rows * (width + 1) + row],
        )
    };
    // A comparison with NaN keeps it: a NaN score makes its row NaN.
    let greatest = (0..plan.spans)
        .map(|span| state(span).0)
        .fold(
            f32::NEG_INFINITY,
            |a, b| if b > a || b.is_nan() { b } else { a },
        );
    let scale = |span: usize| match state(span).0 {
        f32::NEG_INFINITY => 0.0,
        maximum => (maximum - greatest).exp(),
    };
    let weight: f32 = (0..plan.spans)
        .map(|span| state(span).1 * scale(span))
        .sum();
    if plan.spans == 1 {
        let factor = if weight == 0.0 { 0.0 } else { 1.0 / weight };
        let sums = &partial(0)[row * width..][..out_row.len()];
        out_row
            .iter_mut()
            .zip(sums)
            .for_each(|(out, sum)| *out = Q::narrow(sum * factor));
        return;
    }
    for (feature, out) in out_row.iter_mut().enumerate() {
        let sum: f32 = (0..plan.spans)
            .map(|span| partial(span)[row * width + feature] * scale(span))
            .sum();
        *out = Q::narrow(if weight == 0.0 { 0.0 } else { sum / weight });
    }
}

struct Task<'a, Q, K> {
    q: View<'a, Q>,
    pages: &'a [Page<'a, K>],
    plan: Plan,
    options: AttentionOptions,
    task: usize,
    partial: &'a mut [f32],
}

/// Scratch of a task, all f32.
struct Scratch {
    /// `[rows, head_dim]`, scaled.
    q: Vec<f32>,
    /// `[head_dim, TILE]`
    k: Vec<f32>,
    /// `[TILE, width]`
    v: Vec<f32>,
    /// `[rows, TILE]`: scores, then weights.
    scores: Vec<f32>,
}

impl<Q: VectorFloat, K: VectorFloat> Kernel for Task<'_, Q, K> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self {
            q,
            pages,
            plan,
            options,
            task,
            partial,
        } = self;
        let (rows, width, head_dim) = (plan.rows(), plan.width, plan.head_dim);
        let (span, block) = (task % plan.spans, task / plan.spans % plan.blocks);
        let kv_head = task / (plan.spans * plan.blocks) % plan.kv_heads;
        let batch = task / (plan.spans * plan.blocks * plan.kv_heads);
        let positions = block * plan.block..(block * plan.block + plan.block).min(plan.q_len);

        let mut scratch = Scratch {
            q: recycle::take(rows * head_dim),
            k: recycle::take(head_dim * TILE),
            v: recycle::take(TILE * width),
            scores: recycle::take(rows * TILE),
        };
        load_queries(
            simd,
            q,
            &plan,
            (batch, kv_head, positions.start),
            &mut scratch.q,
        );
        scratch
            .q
            .iter_mut()
            .for_each(|value| *value *= options.scale);
        scratch.v.fill(0.0);
        let (sums, state) = partial.split_at_mut(rows * width);
        let (maxima, weights) = state.split_at_mut(rows);
        sums.fill(0.0);
        maxima.fill(f32::NEG_INFINITY);
        weights.fill(0.0);

        let first = plan.visible(positions.start, &options);
        let last = plan.visible(positions.end - 1, &options);
        let keys = first.start.max(span * plan.span)..last.end.min((span + 1) * plan.span);
        for page in pages {
            let start = keys.start.max(page.first);
            let end = keys.end.min(page.first + page.len);
            for tile in (start..end.max(start)).step_by(TILE) {
                let tile = tile..(tile + TILE).min(end);
                let at = TileAt {
                    page,
                    place: (batch, kv_head),
                    tile: &tile,
                };
                score(simd, &plan, at, &mut scratch);
                for (row, scores) in scratch.scores.chunks_exact_mut(TILE).enumerate() {
                    let visible = plan.visible(positions.start + row / plan.group, &options);
                    mask(scores, &tile, &visible);
                    if let Some(cap) = options.softcap {
                        soft_cap(simd, scores, cap);
                    }
                    let shrink = weigh(simd, scores, &mut maxima[row], &mut weights[row]);
                    if shrink != 1.0 {
                        sums[row * width..][..width]
                            .iter_mut()
                            .for_each(|sum| *sum *= shrink);
                    }
                }
                add_values(simd, &plan, at, &mut scratch, sums);
            }
        }
        let Scratch { q, k, v, scores } = scratch;
        [q, k, v, scores].into_iter().for_each(recycle::give);
    }
}

/// The tile of a page that a task is at.
struct TileAt<'a, 'b, K> {
    page: &'a Page<'b, K>,
    /// Batch index and key/value head.
    place: (usize, usize),
    tile: &'a Range<usize>,
}

impl<K> Clone for TileAt<'_, '_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for TileAt<'_, '_, K> {}

impl<'a, K: VectorFloat> TileAt<'a, '_, K> {
    /// The rows of keys or values, if they can be read as they lie for so few rows of queries.
    #[inline(always)]
    fn as_rows<S: Simd>(self, plan: &Plan, view: View<'a, K>) -> Option<TileRows<'a, K>> {
        let whole = plan.head_dim.is_multiple_of(S::F32_LANES) && view.strides[3] == 1;
        if plan.rows() > ROWS_MAX || !whole {
            return None;
        }
        let start = self.place.0 * view.strides[0]
            + self.place.1 * view.strides[1]
            + (self.tile.start - self.page.first) * view.strides[2];
        Some(TileRows {
            data: &view.data[start..],
            stride: view.strides[2],
            len: self.tile.len(),
            head_dim: plan.head_dim,
        })
    }
}

/// The scores of all rows against the keys of a tile.
#[inline(always)]
fn score<S: Simd, K: VectorFloat>(
    simd: S,
    plan: &Plan,
    at: TileAt<'_, '_, K>,
    scratch: &mut Scratch,
) {
    if let Some(keys) = at.as_rows::<S>(plan, at.page.k) {
        return few::scores(simd, &scratch.q, keys, &mut scratch.scores);
    }
    load_keys(simd, at.page, at.place, at.tile, &mut scratch.k);
    let product = Product {
        lhs: &scratch.q,
        rhs: &scratch.k,
        inner: plan.head_dim,
        columns: TILE,
    };
    product.set(simd, &mut scratch.scores);
}

/// Adds the values of a tile, by their weights.
#[inline(always)]
fn add_values<S: Simd, K: VectorFloat>(
    simd: S,
    plan: &Plan,
    at: TileAt<'_, '_, K>,
    scratch: &mut Scratch,
    sums: &mut [f32],
) {
    let width = plan.width;
    if let Some(values) = at.as_rows::<S>(plan, at.page.v) {
        return few::add_values(simd, &scratch.scores, values, (sums, width));
    }
    load_values(simd, at.page, at.place, at.tile, width, &mut scratch.v);
    let product = Product {
        lhs: &scratch.scores,
        rhs: &scratch.v,
        inner: TILE,
        columns: width,
    };
    product.add(simd, sums);
}

/// Rows (position, head of the group), widened and scaled. Rows behind the last position are zeros.
#[inline(always)]
fn load_queries<S: Simd, Q: VectorFloat>(
    simd: S,
    q: View<'_, Q>,
    plan: &Plan,
    (batch, kv_head, first): (usize, usize, usize),
    out: &mut [f32],
) {
    out.fill(0.0);
    for (row, out) in out.chunks_exact_mut(plan.head_dim).enumerate() {
        let position = first + row / plan.group;
        let head = kv_head * plan.group + row % plan.group;
        if position >= plan.q_len {
            return;
        }
        let start = batch * q.strides[0] + head * q.strides[1] + position * q.strides[2];
        load_run(simd, &q.data[start..], q.strides[3], out);
    }
}

/// Elements `stride` apart, as f32.
#[inline(always)]
fn load_run<S: Simd, T: VectorFloat>(simd: S, from: &[T], stride: usize, out: &mut [f32]) {
    if stride == 1 {
        return widen_run(simd, &from[..out.len()], out);
    }
    for (at, out) in out.iter_mut().enumerate() {
        *out = from[at * stride].widen();
    }
}

/// kᵀ of a tile. Columns behind the tile's end are zeros, which keeps them finite until masked.
#[inline(always)]
fn load_keys<S: Simd, K: VectorFloat>(
    simd: S,
    page: &Page<'_, K>,
    (batch, kv_head): (usize, usize),
    tile: &Range<usize>,
    out: &mut [f32],
) {
    let (k, len) = (page.k, tile.len());
    let start =
        batch * k.strides[0] + kv_head * k.strides[1] + (tile.start - page.first) * k.strides[2];
    if k.strides[2] == 1 {
        for (feature, out) in out.chunks_exact_mut(TILE).enumerate() {
            load_run(
                simd,
                &k.data[start + feature * k.strides[3]..],
                1,
                &mut out[..len],
            );
            out[len..].fill(0.0);
        }
        return;
    }
    // A square of keys and features at a time.
    let lanes = S::F32_LANES;
    let mut square = [0.0; MAX_F32_LANES * MAX_F32_LANES];
    let square = &mut square[..lanes * lanes];
    for (first, out) in (0..).step_by(lanes).zip(out.chunks_mut(TILE * lanes)) {
        let features = out.len() / TILE;
        for first_key in (0..TILE).step_by(lanes) {
            for (key, row) in (first_key..).zip(square.chunks_exact_mut(lanes)) {
                if key < len {
                    let from = &k.data[start + key * k.strides[2] + first * k.strides[3]..];
                    load_run(simd, from, k.strides[3], &mut row[..features]);
                } else {
                    row.fill(0.0);
                }
            }
            f32::transpose(simd, square);
            for (row, out) in square.chunks_exact(lanes).zip(out.chunks_exact_mut(TILE)) {
                simd.store_f32(simd.load_f32(row), &mut out[first_key..]);
            }
        }
    }
}

/// v of a tile. Rows behind the tile's end are zeros: their weight is 0, and 0 times them must be
/// 0.
#[inline(always)]
fn load_values<S: Simd, K: VectorFloat>(
    simd: S,
    page: &Page<'_, K>,
    (batch, kv_head): (usize, usize),
    tile: &Range<usize>,
    width: usize,
    out: &mut [f32],
) {
    let v = page.v;
    let (head_dim, step) = (v.dims[3], v.strides[3]);
    let start =
        batch * v.strides[0] + kv_head * v.strides[1] + (tile.start - page.first) * v.strides[2];
    for (at, out) in out.chunks_exact_mut(width).enumerate() {
        let out = &mut out[..head_dim];
        match at < tile.len() {
            true => load_run(simd, &v.data[start + at * v.strides[2]..], step, out),
            false => out.fill(0.0),
        }
    }
}

/// Keys that the row does not see score negative infinity.
#[inline(always)]
fn mask(scores: &mut [f32], tile: &Range<usize>, visible: &Range<usize>) {
    let from = visible.start.clamp(tile.start, tile.end) - tile.start;
    let end = visible.end.clamp(tile.start, tile.end) - tile.start;
    scores[..from].fill(f32::NEG_INFINITY);
    scores[end.max(from)..].fill(f32::NEG_INFINITY);
}

#[inline(always)]
fn soft_cap<S: Simd>(simd: S, scores: &mut [f32], cap: f32) {
    let (factor, cap) = (simd.splat_f32(1.0 / cap), simd.splat_f32(cap));
    let masked = simd.splat_f32(f32::NEG_INFINITY);
    for scores in scores.chunks_exact_mut(S::F32_LANES) {
        let score = simd.load_f32(scores);
        let capped = simd.mul_f32(cap, math::tanh(simd, simd.mul_f32(score, factor)));
        // tanh would lift a masked score to -cap.
        let capped = simd.select_f32(simd.eq_f32(score, masked), masked, capped);
        simd.store_f32(capped, scores);
    }
}

/// Turns scores into weights against the running maximum, and gives the factor by which earlier
/// sums shrink.
#[inline(always)]
fn weigh<S: Simd>(simd: S, scores: &mut [f32], maximum: &mut f32, weight: &mut f32) -> f32 {
    let mut greatest = simd.splat_f32(*maximum);
    for scores in scores.chunks_exact(S::F32_LANES) {
        greatest = simd.max_f32(greatest, simd.load_f32(scores));
    }
    let greatest = simd.reduce_max_f32(greatest);
    if greatest == f32::NEG_INFINITY {
        scores.fill(0.0);
        return 1.0;
    }
    let base = simd.splat_f32(greatest);
    let mut total = simd.splat_f32(0.0);
    for scores in scores.chunks_exact_mut(S::F32_LANES) {
        let weight = math::exp(simd, simd.sub_f32(simd.load_f32(scores), base));
        total = simd.add_f32(total, weight);
        simd.store_f32(weight, scores);
    }
    let shrink = if *maximum == greatest {
        1.0
    } else {
        (*maximum - greatest).exp()
    };
    *weight = *weight * shrink + simd.reduce_add_f32(total);
    *maximum = greatest;
    shrink
}
