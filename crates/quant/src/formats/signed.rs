//! Formats whose weights are a scale times a small signed number.
//!
//! The number comes out of the bits by way of a table or a codebook, so there is nothing to gain
//! from vectors of the stored bits: a chunk is decoded number by number, and multiplied like one of
//! an 8-bit format. [`SignedCodes`] is all that such a format writes; unpacking and [`Codes`]
//! follow.

use super::Block;
use crate::codes::{Affine, CHUNK, Codes, OCTET, RawScales, Scales};
use crate::dot::RowLanes;
use crate::repack::packed::PackedRows;

/// A block of signed codes: a weight is `scale · code`.
pub(crate) trait SignedCodes: Block {
    /// Weights that share a scale: 16 or 32.
    const GROUP: usize;
    /// The largest magnitude of a code, at most 127.
    const PEAK: u8;

    /// The codes of the weights `32 · chunk` to `32 · chunk + 31`.
    fn codes(&self, chunk: usize) -> [i8; CHUNK];

    /// The scale of each group; those that the block does not have are 0.
    fn scales(&self) -> [f32; 16];

    /// The codes as kernels take them. A format with a table of 16 looks all 32 up at once.
    #[inline(always)]
    fn vector<L: RowLanes>(&self, lanes: L, chunk: usize) -> L::Bytes {
        let codes = self.codes(chunk);
        match Self::PEAK < WIDE_PEAK {
            true => lanes.load(&codes.map(|code| (code as u8).wrapping_add(Self::PEAK))),
            false => lanes.wide(&codes),
        }
    }
}

/// Codes of a lower peak are below 64 once the peak is added, and need not be wide: that loses
/// fewer bits where the instruction set adds 128 to wide ones.
const WIDE_PEAK: u8 = 32;

/// [`SignedCodes::vector`] of 32 nibbles that are indexes of a table.
#[inline(always)]
pub(super) fn look_up<B: SignedCodes, L: RowLanes>(
    lanes: L,
    table: &[i8; 16],
    nibbles: &[u8; 16],
) -> L::Bytes {
    let stored = |code: i8| match B::PEAK < WIDE_PEAK {
        true => (code as u8).wrapping_add(B::PEAK),
        false => code as u8 ^ L::WIDE_ZERO,
    };
    lanes.look_up(&table.map(stored), nibbles)
}

/// What `Block::unpack` is for these formats.
pub(super) fn unpack<B: SignedCodes>(block: &B, out: &mut [f32]) {
    let scales = block.scales();
    for (chunk, out) in out.chunks_exact_mut(CHUNK).enumerate() {
        let codes = block.codes(chunk);
        for (j, (out, code)) in out.iter_mut().zip(codes).enumerate() {
            *out = scales[(chunk * CHUNK + j) / B::GROUP] * f32::from(code);
        }
    }
}

impl<B: SignedCodes> Codes for B {
    const GROUP: usize = <B as SignedCodes>::GROUP;
    const BITS: u32 = if B::PEAK < WIDE_PEAK { 6 } else { 8 };
    const SCALES: Option<Scales> = None;
    const PACKED: Option<&'static dyn PackedRows> = None;

    #[inline(always)]
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes {
        match B::LEN {
            OCTET => blocks[0].vector(lanes, chunk),
            _ => blocks[chunk].vector(lanes, 0),
        }
    }

    #[inline(always)]
    fn affine<L: RowLanes>(lanes: L, blocks: &[Self]) -> Affine<L::Floats> {
        let scales = match B::LEN {
            OCTET => blocks[0].scales(),
            _ => std::array::from_fn(|at| blocks.get(at).map_or(0.0, |block| block.scales()[0])),
        };
        let zero = if B::PEAK < WIDE_PEAK {
            B::PEAK
        } else {
            L::WIDE_ZERO
        };
        let zero = lanes.splat(-f32::from(zero));
        let (eights, _) = scales.as_chunks::<8>();
        let scale = [lanes.floats(&eights[0]), lanes.floats(&eights[1])];
        let offset = scale.map(|scale| lanes.mul(scale, zero));
        Affine { scale, offset }
    }

    fn raw_scales(&self) -> RawScales {
        RawScales::default()
    }
}

/// The scales of eight groups.
pub(super) fn eight(scale: impl Fn(usize) -> f32) -> [f32; 16] {
    std::array::from_fn(|group| if group < 8 { scale(group) } else { 0.0 })
}

/// 32 codes, eight at a time.
pub(super) fn by_eights(eight: impl Fn(usize) -> [i8; 8]) -> [i8; CHUNK] {
    let mut codes = [0; CHUNK];
    for (at, out) in codes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *out = eight(at);
    }
    codes
}

/// Eight magnitudes with the signs that bits say, 1 for minus.
pub(super) fn with_signs(magnitudes: [u8; 8], signs: u8) -> [i8; 8] {
    std::array::from_fn(|j| {
        let magnitude = magnitudes[j] as i8;
        if signs >> j & 1 == 1 {
            -magnitude
        } else {
            magnitude
        }
    })
}

/// Eight signs of which seven are stored: the number of minuses is even.
pub(super) fn even_signs(seven: u32) -> u8 {
    let seven = (seven & 0x7f) as u8;
    seven | (seven.count_ones() as u8 & 1) << 7
}

/// Rows of four magnitudes, two of them together.
pub(super) fn two_fours(first: [u8; 4], second: [u8; 4]) -> [u8; 8] {
    std::array::from_fn(|j| if j < 4 { first[j] } else { second[j - 4] })
}
