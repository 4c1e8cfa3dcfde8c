//! Row kernels: weight rows as they lie in the file, times a few activation rows.
//!
//! Letters: a chunk is 32 weights, an octet eight chunks. For each octet the scales of eight chunks
//! are made at once, times the activations' scales; the part of the offsets is then one
//! multiplication for the octet, and each chunk is an integer dot product, a conversion and an fma
//! with its scale in all lanes. The codes of a chunk are unpacked once for up to
//! [`ROWS_AT_ONCE`] activation rows.

use crate::activations::{Row, Rows};
use crate::codes::{Affine, Codes, octet_blocks};
use crate::dot::{RowKernel, RowLanes};

/// Activation rows that share one pass over a weight row.
pub(crate) const ROWS_AT_ONCE: usize = 4;

/// Where the products of a range of weight rows go.
pub(crate) struct RowWork<'a, 'b> {
    pub(crate) activations: &'a Rows,
    /// For each activation row, one result for each weight row.
    pub(crate) out: &'a mut [&'b mut [f32]],
}

/// Dot products of the rows in `blocks` with the activation rows.
pub(crate) struct RowDots<'a, 'b, B> {
    pub(crate) blocks: &'a [B],
    pub(crate) work: RowWork<'a, 'b>,
}

impl<B: Codes> RowKernel for RowDots<'_, '_, B> {
    type Output = ();

    #[inline(always)]
    fn run<L: RowLanes>(self, lanes: L) {
        let RowWork { activations, out } = self.work;
        let columns = out[0].len();
        if columns == 0 {
            return;
        }
        let row_blocks = self.blocks.len() / columns;
        for column in 0..columns {
            let blocks = &self.blocks[column * row_blocks..][..row_blocks];
            let mut row = 0;
            while row + ROWS_AT_ONCE <= out.len() {
                let rows = std::array::from_fn(|r| activations.row(row + r));
                let results = dot_row::<L, B, ROWS_AT_ONCE>(lanes, blocks, rows);
                for (out, result) in out[row..].iter_mut().zip(results) {
                    out[column] = result;
                }
                row += ROWS_AT_ONCE;
            }
            for (row, out) in out.iter_mut().enumerate().skip(row) {
                [out[column]] = dot_row::<L, B, 1>(lanes, blocks, [activations.row(row)]);
            }
        }
    }
}

/// Sums of one weight row: two accumulators for each activation row hide the latency of an fma.
struct Sums<F, const ROWS: usize> {
    products: [[F; 2]; ROWS],
    offsets: [F; ROWS],
}

#[inline(always)]
fn dot_row<L: RowLanes, B: Codes, const ROWS: usize>(
    lanes: L,
    blocks: &[B],
    rows: [Row<'_>; ROWS],
) -> [f32; ROWS] {
    let zero = lanes.splat(0.0);
    let mut sums = Sums {
        products: [[zero; 2]; ROWS],
        offsets: [zero; ROWS],
    };
    for (octet, blocks) in blocks.chunks(octet_blocks::<B>()).enumerate() {
        let affine = B::affine(lanes, blocks);
        let scales = octet_scales::<L, B, ROWS>(lanes, affine, octet, &rows, &mut sums.offsets);
        if blocks.len() == octet_blocks::<B>() {
            let codes = rows.map(|row| {
                row.codes[8 * octet..]
                    .first_chunk::<8>()
                    .expect("a whole octet has 8 chunks")
            });
            for chunk in 0..8 {
                let acts = codes.map(|codes| &codes[chunk]);
                add_chunk::<L, B, ROWS>(lanes, blocks, chunk, acts, &scales, &mut sums.products);
            }
        } else {
            for chunk in 0..blocks.len() {
                let acts = rows.map(|row| &row.codes[8 * octet + chunk]);
                add_chunk::<L, B, ROWS>(lanes, blocks, chunk, acts, &scales, &mut sums.products);
            }
        }
    }
    std::array::from_fn(|r| {
        let products = lanes.add(sums.products[r][0], sums.products[r][1]);
        lanes.sum(lanes.add(products, sums.offsets[r]))
    })
}

/// Scales of an octet's groups times those of the activations; adds the offsets' part.
#[inline(always)]
fn octet_scales<L: RowLanes, B: Codes, const ROWS: usize>(
    lanes: L,
    affine: Affine<L::Floats>,
    octet: usize,
    rows: &[Row<'_>; ROWS],
    offsets: &mut [L::Floats; ROWS],
) -> [[L::Floats; 2]; ROWS] {
    let Affine { scale, offset } = affine;
    let mut scales = [scale; ROWS];
    for r in 0..ROWS {
        let activation = lanes.floats(&rows[r].scales[octet]);
        if B::GROUP == 32 {
            scales[r][0] = lanes.mul(scale[0], activation);
            let sums = lanes.floats(&rows[r].sums[octet]);
            offsets[r] = lanes.fma(offset[0], sums, offsets[r]);
        } else {
            let activation = lanes.twice(activation);
            for half in 0..2 {
                scales[r][half] = lanes.mul(scale[half], activation[half]);
                let sums = lanes.floats(&rows[r].sums[2 * octet + half]);
                offsets[r] = lanes.fma(offset[half], sums, offsets[r]);
            }
        }
    }
    scales
}

/// Adds the products of one chunk.
#[inline(always)]
fn add_chunk<L: RowLanes, B: Codes, const ROWS: usize>(
    lanes: L,
    blocks: &[B],
    chunk: usize,
    activations: [&[i8; 32]; ROWS],
    scales: &[[L::Floats; 2]; ROWS],
    products: &mut [[L::Floats; 2]; ROWS],
) {
    let codes = B::chunk(lanes, blocks, chunk);
    for r in 0..ROWS {
        let sums = if B::BITS == 8 {
            lanes.dot_wide(codes, activations[r])
        } else {
            lanes.dot(codes, activations[r])
        };
        let scale = if B::GROUP == 32 {
            lanes.lane(scales[r][0], chunk)
        } else {
            lanes.lane_pair(scales[r][chunk / 4], 2 * (chunk % 4))
        };
        let product = &mut products[r][chunk % 2];
        *product = lanes.fma(sums, scale, *product);
    }
}
