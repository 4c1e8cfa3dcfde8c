//! Codes of Q4_K as vectors.

use super::Q4K;
use crate::codes::{Affine, Codes, RawScales, Scales, super_affine, widen};
use crate::dot::RowLanes;
use crate::formats::scales6;

impl Codes for Q4K {
    const GROUP: usize = 32;
    const BITS: u32 = 4;
    const SCALES: Option<Scales> = Some(Scales::Affine);

    #[inline(always)]
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes {
        lanes.field(
            lanes.load(&blocks[0].qs[chunk / 2]),
            4 * (chunk as u32 % 2),
            15,
        )
    }

    #[inline(always)]
    fn affine<L: RowLanes>(lanes: L, blocks: &[Self]) -> Affine<L::Floats> {
        let block = &blocks[0];
        let (scales, minimums) = scales6::unpack(&block.scales);
        super_affine(lanes, [block.d.bits(), block.dmin.bits()], scales, minimums)
    }

    fn raw_scales(&self) -> RawScales {
        let (scales, minimums) = scales6::unpack(&self.scales);
        RawScales {
            d: self.d.bits(),
            m: self.dmin.bits(),
            scales: widen(scales),
            minimums: widen(minimums),
        }
    }
}
