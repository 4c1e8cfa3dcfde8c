//! Codes of Q8_K as vectors.

use super::Q8K;
use crate::codes::{Affine, CHUNK, Codes, RawScales, Scales, symmetric};
use crate::dot::RowLanes;
use crate::repack::packed::PackedRows;

impl Codes for Q8K {
    const GROUP: usize = 32;
    const BITS: u32 = 8;
    const SCALES: Option<Scales> = None;
    const PACKED: Option<&'static dyn PackedRows> = None;

    #[inline(always)]
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes {
        lanes.wide(&blocks[0].qs.as_chunks::<CHUNK>().0[chunk])
    }

    #[inline(always)]
    fn affine<L: RowLanes>(lanes: L, blocks: &[Self]) -> Affine<L::Floats> {
        symmetric(
            lanes,
            lanes.splat(f32::from_le_bytes(blocks[0].d)),
            L::WIDE_ZERO,
        )
    }

    fn raw_scales(&self) -> RawScales {
        RawScales::default()
    }
}
