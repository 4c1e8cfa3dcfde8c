//! Codes of Q4_0 as vectors.

use super::Q4_0;
use crate::codes::{Affine, Codes, RawScales, Scales, gather_halves, symmetric};
use crate::dot::RowLanes;

impl Codes for Q4_0 {
    const GROUP: usize = 32;
    const BITS: u32 = 4;
    const SCALES: Option<Scales> = Some(Scales::Half { zero: 8 });

    #[inline(always)]
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes {
        lanes.nibbles(&blocks[chunk].qs)
    }

    #[inline(always)]
    fn affine<L: RowLanes>(lanes: L, blocks: &[Self]) -> Affine<L::Floats> {
        symmetric(
            lanes,
            gather_halves(lanes, blocks, |block| block.d.bits()),
            8,
        )
    }

    fn raw_scales(&self) -> RawScales {
        RawScales {
            d: self.d.bits(),
            ..Default::default()
        }
    }
}
