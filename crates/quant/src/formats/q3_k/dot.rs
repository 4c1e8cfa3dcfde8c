//! Codes of Q3_K as vectors.

use super::{Q3K, unpack_scales};
use crate::codes::{Affine, Codes, RawScales, Scales, signed_super};
use crate::dot::RowLanes;

impl Q3K {
    /// The scales of its groups.
    #[inline(always)]
    fn group_scales(&self) -> [i8; 16] {
        unpack_scales(&self.scales).map(|scale| scale as i8 - 32)
    }
}

impl Codes for Q3K {
    const GROUP: usize = 16;
    const BITS: u32 = 3;
    const SCALES: Option<Scales> = Some(Scales::Signed { zero: 4 });

    #[inline(always)]
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes {
        let block = &blocks[0];
        let low = lanes.field(lanes.load(&block.qs[chunk / 4]), 2 * (chunk as u32 % 4), 3);
        let third = lanes.field(lanes.load(&block.hmask), chunk as u32, 1);
        lanes.or(low, lanes.raise(third, 2))
    }

    #[inline(always)]
    fn affine<L: RowLanes>(lanes: L, blocks: &[Self]) -> Affine<L::Floats> {
        signed_super(lanes, blocks[0].d.bits(), &blocks[0].group_scales(), 4)
    }

    fn raw_scales(&self) -> RawScales {
        let scales = self.group_scales().map(|scale| scale as u8);
        RawScales {
            d: self.d.bits(),
            scales,
            ..Default::default()
        }
    }
}
