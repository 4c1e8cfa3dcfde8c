//! Codes of Q2_K as vectors.

use super::Q2K;
use crate::codes::{Affine, Codes, RawScales, Scales};
use crate::dot::RowLanes;

impl Codes for Q2K {
    const GROUP: usize = 16;
    const BITS: u32 = 2;
    const SCALES: Option<Scales> = Some(Scales::AffineNibbles);

    #[inline(always)]
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes {
        lanes.field(
            lanes.load(&blocks[0].qs[chunk / 4]),
            2 * (chunk as u32 % 4),
            3,
        )
    }

    #[inline(always)]
    fn affine<L: RowLanes>(lanes: L, blocks: &[Self]) -> Affine<L::Floats> {
        let block = &blocks[0];
        let both = lanes.halves([block.d.bits(), block.dmin.bits(), 0, 0, 0, 0, 0, 0]);
        let d = lanes.lane(both, 0);
        let dmin = lanes.mul(lanes.lane(both, 1), lanes.splat(-1.0));
        // Both nibbles of eight groups at a time.
        let low = u64::from_le_bytes(block.scales.as_chunks().0[0]);
        let high = u64::from_le_bytes(block.scales.as_chunks().0[1]);
        let nibbles = |word: u64| lanes.unsigned((word & 0x0f0f_0f0f_0f0f_0f0f).to_le_bytes());
        Affine {
            scale: [lanes.mul(d, nibbles(low)), lanes.mul(d, nibbles(high))],
            offset: [
                lanes.mul(dmin, nibbles(low >> 4)),
                lanes.mul(dmin, nibbles(high >> 4)),
            ],
        }
    }

    fn raw_scales(&self) -> RawScales {
        RawScales {
            d: self.d.bits(),
            m: self.dmin.bits(),
            scales: self.scales.map(|byte| byte & 15),
            minimums: self.scales.map(|byte| byte >> 4),
        }
    }
}
