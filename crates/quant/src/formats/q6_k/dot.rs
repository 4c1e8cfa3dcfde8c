//! Codes of Q6_K as vectors.

use super::Q6K;
use crate::codes::{Affine, Codes, RawScales, Scales, signed_super};
use crate::dot::RowLanes;

impl Codes for Q6K {
    const GROUP: usize = 16;
    const BITS: u32 = 6;
    const SCALES: Option<Scales> = Some(Scales::Signed { zero: 32 });

    #[inline(always)]
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes {
        let block = &blocks[0];
        let (half, part) = (chunk / 4, chunk % 4);
        let low = lanes.load(&block.ql[half][part % 2]);
        let low = lanes.field(low, 4 * (part as u32 / 2), 15);
        let high = lanes.field(lanes.load(&block.qh[half]), 2 * part as u32, 3);
        lanes.or(low, lanes.raise(high, 4))
    }

    #[inline(always)]
    fn affine<L: RowLanes>(lanes: L, blocks: &[Self]) -> Affine<L::Floats> {
        signed_super(lanes, blocks[0].d.bits(), &blocks[0].scales, 32)
    }

    fn raw_scales(&self) -> RawScales {
        let scales = self.scales.map(|scale| scale as u8);
        RawScales {
            d: self.d.bits(),
            scales,
            ..Default::default()
        }
    }
}
