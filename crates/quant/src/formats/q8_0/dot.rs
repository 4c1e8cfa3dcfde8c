//! Codes of Q8_0 as vectors.

use super::Q8_0;
use crate::codes::{Affine, Codes, RawScales, Scales, gather_halves, symmetric};
use crate::dot::RowLanes;

impl Codes for Q8_0 {
    const GROUP: usize = 32;
    const BITS: u32 = 8;
    const SCALES: Option<Scales> = Some(Scales::Half { zero: 0 });

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
        RawScales {
            d: self.d.bits(),
            ..Default::default()
        }
    }
}
