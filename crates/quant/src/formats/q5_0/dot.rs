//! Codes of Q5_0 as vectors.

use super::Q5_0;
use crate::codes::{Affine, Codes, RawScales, Scales, gather_halves, symmetric};
use crate::dot::RowLanes;

impl Codes for Q5_0 {
    const GROUP: usize = 32;
    const BITS: u32 = 5;
    const SCALES: Option<Scales> = Some(Scales::Half { zero: 16 });

    #[inline(always)]
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes {
        let block = &blocks[chunk];
        lanes.or(lanes.nibbles(&block.qs), lanes.spread_bits(block.qh, 16))
    }

    #[inline(always)]
    fn affine<L: RowLanes>(lanes: L, blocks: &[Self]) -> Affine<L::Floats> {
        symmetric(
            lanes,
            gather_halves(lanes, blocks, |block| block.d.bits()),
            16,
        )
    }

    fn raw_scales(&self) -> RawScales {
        RawScales {
            d: self.d.bits(),
            ..Default::default()
        }
    }
}
