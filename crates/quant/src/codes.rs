//! Blocks as kernels see them: vectors of codes, with scales and offsets.
//!
//! Kernels walk a row in octets, 256 weights at a time: one super-block, or eight blocks of 32
//! (fewer at the end of a row). An octet has eight chunks of 32 codes, and a scale and an offset
//! for each chunk, or for each half of one where groups are of 16.

use crate::dot::RowLanes;
use crate::formats::Block;
use crate::repack::packed::{Packed, PackedRows};

/// Weights in an octet.
pub(crate) const OCTET: usize = 256;

/// Weights in a chunk.
pub(crate) const CHUNK: usize = 32;

/// Scales and offsets of an octet, in the order of its groups; 16 if groups are of 16, else only
/// the first vector is used. Groups that the row does not have are 0.
#[derive(Clone, Copy)]
pub(crate) struct Affine<F> {
    pub(crate) scale: [F; 2],
    pub(crate) offset: [F; 2],
}

/// How a format keeps its scales; what `Repacked` stores is the same, interleaved by rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scales {
    /// One half; the offset is `−zero` scales.
    Half { zero: u8 },
    /// Two halves: scale and offset.
    HalfPair,
    /// Two halves for 256 weights, an unsigned scale and minimum of up to 8 bits for a group.
    Affine,
    /// As `Affine`, scale and minimum in the nibbles of one byte.
    AffineNibbles,
    /// One half for 256 weights, an `i8` scale for a group; the offset is `−zero` scales.
    Signed { zero: u8 },
}

/// A block's stored scales: bits of its halves, and the integers of its groups.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawScales {
    pub(crate) d: u16,
    pub(crate) m: u16,
    pub(crate) scales: [u8; 16],
    pub(crate) minimums: [u8; 16],
}

/// A block whose codes can be had as vectors.
pub(crate) trait Codes: Block {
    /// Weights that share a scale and an offset: 16 or 32.
    const GROUP: usize;
    /// Bits of a code: 2 to 6, or 8 for wide codes.
    const BITS: u32;
    /// How scales are kept; `None` where weights of this format are not worth a repack.
    const SCALES: Option<Scales>;
    /// The interleaved form; `None` where `SCALES` is, so that its kernels are not even compiled.
    const PACKED: Option<&'static dyn PackedRows> = Some(&Packed::<Self>::NEW);

    /// The 32 codes of chunk `chunk` of the octet that starts with `blocks`.
    fn chunk<L: RowLanes>(lanes: L, blocks: &[Self], chunk: usize) -> L::Bytes;

    /// Scales and offsets of the octet `blocks`: one super-block, or 1 to 8 blocks.
    fn affine<L: RowLanes>(lanes: L, blocks: &[Self]) -> Affine<L::Floats>;

    /// What the block stores. Only called where `SCALES` is not `None`.
    fn raw_scales(&self) -> RawScales;
}

/// Blocks in an octet.
pub(crate) const fn octet_blocks<B: Codes>() -> usize {
    OCTET / B::LEN
}

/// Halves of up to eight blocks; missing ones are 0.
#[inline(always)]
pub(crate) fn gather_halves<L: RowLanes, B>(
    lanes: L,
    blocks: &[B],
    half: impl Fn(&B) -> u16,
) -> L::Floats {
    let mut bits = [0; 8];
    if let Some(blocks) = blocks.first_chunk::<8>() {
        for (bits, block) in bits.iter_mut().zip(blocks) {
            *bits = half(block);
        }
    } else {
        for (bits, block) in bits.iter_mut().zip(blocks) {
            *bits = half(block);
        }
    }
    lanes.halves(bits)
}

/// Scales `d` and offsets `−zero · d`, one for each chunk.
#[inline(always)]
pub(crate) fn symmetric<L: RowLanes>(lanes: L, d: L::Floats, zero: u8) -> Affine<L::Floats> {
    let nothing = lanes.splat(0.0);
    let offset = lanes.mul(d, lanes.splat(-f32::from(zero)));
    Affine {
        scale: [d, nothing],
        offset: [offset, nothing],
    }
}

/// Scales `d` and offsets `m`, one for each chunk.
#[inline(always)]
pub(crate) fn with_minimum<L: RowLanes>(lanes: L, d: L::Floats, m: L::Floats) -> Affine<L::Floats> {
    let nothing = lanes.splat(0.0);
    Affine {
        scale: [d, nothing],
        offset: [m, nothing],
    }
}

/// Scales `d · scale` and offsets `−dmin · minimum`, one for each chunk.
#[inline(always)]
pub(crate) fn super_affine<L: RowLanes>(
    lanes: L,
    halves: [u16; 2],
    scales: [u8; 8],
    minimums: [u8; 8],
) -> Affine<L::Floats> {
    let both = lanes.halves([halves[0], halves[1], 0, 0, 0, 0, 0, 0]);
    let d = lanes.lane(both, 0);
    let dmin = lanes.mul(lanes.lane(both, 1), lanes.splat(-1.0));
    with_minimum(
        lanes,
        lanes.mul(d, lanes.unsigned(scales)),
        lanes.mul(dmin, lanes.unsigned(minimums)),
    )
}

/// Scales `d · scale` and offsets `−zero · d · scale`, one for each group of 16.
#[inline(always)]
pub(crate) fn signed_super<L: RowLanes>(
    lanes: L,
    half: u16,
    scales: &[i8; 16],
    zero: u8,
) -> Affine<L::Floats> {
    let d = lanes.lane(lanes.halves([half, 0, 0, 0, 0, 0, 0, 0]), 0);
    let zero = lanes.splat(-f32::from(zero));
    let eight = scales.as_chunks::<8>().0;
    let scale = [
        lanes.mul(d, lanes.signed(eight[0])),
        lanes.mul(d, lanes.signed(eight[1])),
    ];
    Affine {
        scale,
        offset: [lanes.mul(scale[0], zero), lanes.mul(scale[1], zero)],
    }
}

/// Eight integers in the place of 16.
pub(crate) fn widen(values: [u8; 8]) -> [u8; 16] {
    std::array::from_fn(|j| if j < 8 { values[j] } else { 0 })
}
