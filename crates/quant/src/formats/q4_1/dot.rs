//! Codes of Q4_1 as vectors.

use super::Q4_1;
use crate::codes::{Affine, Codes, RawScales, Scales, gather_halves, with_minimum};
use crate::dot::RowLanes;

impl Codes for Q4_1 {
    const GROUP: usize = 32;
    const BITS: u32 = 4;
    const SCALES: Option<Scales> = Some(Scales::HalfPair);

    #[inline(always)]
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes {
        lanes.nibbles(&blocks[chunk].qs)
    }

    #[inline(always)]
    fn affine<L: RowLanes>(lanes: L, blocks: &[Self]) -> Affine<L::Floats> {
        let d = gather_halves(lanes, blocks, |block| block.d.bits());
        let m = gather_halves(lanes, blocks, |block| block.m.bits());
        with_minimum(lanes, d, m)
    }

    fn raw_scales(&self) -> RawScales {
        RawScales {
            d: self.d.bits(),
            m: self.m.bits(),
            ..Default::default()
        }
    }
}
