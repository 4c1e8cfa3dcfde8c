//! Codes of Q8_1 as vectors.

use super::Q8_1;
use crate::codes::{Affine, Codes, RawScales, Scales, gather_halves, symmetric};
use crate::dot::RowLanes;
use crate::repack::packed::PackedRows;

impl Codes for Q8_1 {
    const GROUP: usize = 32;
    const BITS: u32 = 8;
    const SCALES: Option<Scales> = None;
    const PACKED: Option<&'static dyn PackedRows> = None;

    #[inline(always)]
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes {
        lanes.wide(&blocks[chunk].qs)
    }

    #[inline(always)]
    fn affine<L: RowLanes>(lanes: L, blocks: &[Self]) -> Affine<L::Floats> {
        symmetric(
            lanes,
            gather_halves(lanes, blocks, |block| block.d.bits()),
            L::WIDE_ZERO,
        )
    }

    fn raw_scales(&self) -> RawScales {
        RawScales::default()
    }
}
