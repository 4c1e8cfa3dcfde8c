//! A block format behind one object-safe interface, so that callers pick one at run time.

use std::marker::PhantomData;

use crate::codes::Codes;
use crate::dot::{Target, run_row};
use crate::repack::packed::PackedRows;
use crate::row::{RowDots, RowWork};
use crate::split::SplitRow;

/// What can be done with weights of one format. Lengths are the caller's to check.
pub(crate) trait Format: Sync {
    fn block_len(&self) -> usize;
    fn block_bytes(&self) -> usize;
    /// Weights that share a scale.
    fn group(&self) -> usize;
    /// Bits of a code.
    fn bits(&self) -> u32;
    /// Takes a row apart: see [`Split`](crate::Split).
    fn split(&self, row: &[u8], bits: u32, codes: &mut [u8], scales: &mut [[f32; 2]]);
    /// Whether values can be packed.
    fn packs(&self) -> bool;
    fn pack(&self, values: &[f32], out: &mut [u8]);
    /// `weights` are those of a row, which the values repeat from `start` on.
    fn pack_weighted(&self, values: &[f32], weights: &[f32], start: usize, out: &mut [u8]);
    fn unpack(&self, blocks: &[u8], out: &mut [f32]);
    /// Dot products of weight rows, as they lie in the file, with activation rows.
    fn dot_rows(&self, target: Target, weight: &[u8], work: RowWork<'_, '_>);
    /// The interleaved form; `None` where it does not pay.
    fn packed(&self) -> Option<&dyn PackedRows>;
}

/// The format of blocks `B`.
pub(crate) struct BlockFormat<B>(PhantomData<B>);

impl<B: Codes> BlockFormat<B> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<B: Codes> Format for BlockFormat<B> {
    fn block_len(&self) -> usize {
        B::LEN
    }

    fn block_bytes(&self) -> usize {
        size_of::<B>()
    }

    fn group(&self) -> usize {
        B::GROUP
    }

    fn bits(&self) -> u32 {
        B::BITS
    }

    fn split(&self, row: &[u8], bits: u32, codes: &mut [u8], scales: &mut [[f32; 2]]) {
        let blocks = bytemuck::cast_slice::<u8, B>(row);
        run_row(
            Target::current(),
            SplitRow {
                blocks,
                bits,
                codes,
                scales,
            },
        );
    }

    fn packs(&self) -> bool {
        B::PACKS
    }

    fn pack(&self, values: &[f32], out: &mut [u8]) {
        let blocks: &mut [B] = bytemuck::cast_slice_mut(out);
        for (block, values) in blocks.iter_mut().zip(values.chunks_exact(B::LEN)) {
            *block = B::pack(values);
        }
    }

    fn pack_weighted(&self, values: &[f32], weights: &[f32], start: usize, out: &mut [u8]) {
        let blocks: &mut [B] = bytemuck::cast_slice_mut(out);
        for (at, (block, values)) in blocks
            .iter_mut()
            .zip(values.chunks_exact(B::LEN))
            .enumerate()
        {
            let column = (start + at * B::LEN) % weights.len();
            *block = B::pack_weighted(values, &weights[column..column + B::LEN]);
        }
    }

    fn unpack(&self, blocks: &[u8], out: &mut [f32]) {
        let blocks: &[B] = bytemuck::cast_slice(blocks);
        for (block, out) in blocks.iter().zip(out.chunks_exact_mut(B::LEN)) {
            block.unpack(out);
        }
    }

    fn dot_rows(&self, target: Target, weight: &[u8], work: RowWork<'_, '_>) {
        run_row(
            target,
            RowDots {
                blocks: bytemuck::cast_slice::<u8, B>(weight),
                work,
            },
        );
    }

    fn packed(&self) -> Option<&dyn PackedRows> {
        B::PACKED
    }
}
