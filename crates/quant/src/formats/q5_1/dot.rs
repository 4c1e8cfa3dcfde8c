//! Codes of Q5_1 as vectors.

use super::Q5_1;
use crate::codes::{Affine, Codes, RawScales, Scales, gather_halves, with_minimum};
use crate::dot::RowLanes;

impl Codes for Q5_1 {
    const GROUP: usize = 32;
    const BITS: u32 = 5;
    const SCALES: Option<Scales> = Some(Scales::HalfPair);

    #[inline(always)]
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes {
        let block = &blocks[chunk];
        lanes.or(lanes.nibbles(&block.qs), lanes.spread_bits(block.qh, 16))
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
