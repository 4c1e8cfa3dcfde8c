//! The interleaved form of a tile, as compact as the blocks, and its kernels.
//!
//! A tile is `LANES` weight rows. Chunk after chunk (32 weights of each row) it has the chunk's
//! scales and then its codes; a super-block's halves come before its first chunk:
//!
//! ```text
//! Half            chunk: d[LANES] f16
//! HalfPair        chunk: d[LANES] f16, m[LANES] f16
//! Affine          octet: d[LANES] f16, dmin[LANES] f16;  group: scale[LANES] u8, min[LANES] u8
//! AffineNibbles   octet: d[LANES] f16, dmin[LANES] f16;  group: scale | min << 4, [LANES] u8
//! Signed          octet: d[LANES] f16;                   group: scale[LANES] i8
//! codes           planes of 4, 2, 1 or 8 bits; low bits first
//! ```
//!
//! A quad is four codes of each row: `4 · LANES` bytes once unpacked; a chunk has eight. A plane of
//! `b` bits is `b` vectors: quad `q` is in vector `q % b`, shifted up by `b · (q / b)`. So 5 bits
//! are 4 vectors of nibbles and one of fifth bits, and quads 0 to 3 need no shift.

use std::marker::PhantomData;

use super::panels::DotPanels;
use crate::activations::{Panels, Rows};
use crate::codes::{CHUNK, Codes, RawScales, Scales};
use crate::dot::{
    MAX_LANES, RowKernel, RowLanes, Target, TileKernel, TileLanes, run_row, run_tile,
};

/// Quads in a chunk.
pub(super) const QUADS: usize = CHUNK / 4;

/// Chunks of a super-block.
pub(super) const SUPER_CHUNKS: usize = 8;

/// What can be done with interleaved weights of one format.
pub(crate) trait PackedRows: Sync {
    /// Bytes of a tile of `lanes` rows of `len` weights.
    fn tile_bytes(&self, lanes: usize, len: usize) -> usize;
    /// Interleaves whole rows, at most `LANES`; the others are left as they are.
    fn pack_tile(&self, target: Target, weight: &[u8], len: usize, tile: &mut [u8]);
    /// Dot products of a tile's rows with the one activation row.
    fn dot_row(&self, target: Target, tile: &[u8], activations: &Rows, out: &mut [f32]);
    /// Dot products of a tile's rows with all activation rows; results from `column` on.
    fn dot_panels(
        &self,
        target: Target,
        tile: &[u8],
        activations: &Panels,
        column: usize,
        out: &mut [&mut [f32]],
    );
}

/// The interleaved form of blocks `B`.
pub(crate) struct Packed<B>(PhantomData<B>);

impl<B: Codes> Packed<B> {
    pub(crate) const NEW: Self = Self(PhantomData);

    const SCALES: Scales = match B::SCALES {
        Some(scales) => scales,
        None => Scales::Half { zero: 0 },
    };

    /// Groups in a chunk.
    pub(super) const GROUPS: usize = CHUNK / B::GROUP;

    /// Bits of the low and of the high plane.
    const PLANES: [usize; 2] = match B::BITS {
        2 => [2, 0],
        3 => [2, 1],
        4 => [4, 0],
        5 => [4, 1],
        6 => [4, 2],
        _ => [8, 0],
    };

    /// Whether a code lies in two places, which makes it dear to unpack.
    pub(super) const HAS_TWO_PLANES: bool = Self::PLANES[1] > 0;

    /// Bytes a row has before the first chunk of a super-block.
    pub(super) const OCTET_HEAD: usize = match Self::SCALES {
        Scales::Half { .. } | Scales::HalfPair => 0,
        Scales::Affine | Scales::AffineNibbles => 4,
        Scales::Signed { .. } => 2,
    };

    /// Bytes a row has before the codes of a chunk.
    pub(super) const CHUNK_HEAD: usize = match Self::SCALES {
        Scales::Half { .. } => 2,
        Scales::HalfPair => 4,
        Scales::Affine => 2 * Self::GROUPS,
        Scales::AffineNibbles | Scales::Signed { .. } => Self::GROUPS,
    };

    /// Bytes a row has in a chunk.
    pub(super) const CHUNK_BYTES: usize = Self::CHUNK_HEAD + 4 * B::BITS as usize;

    /// Where a chunk starts, in bytes a row.
    #[inline(always)]
    fn chunk_at(chunk: usize) -> usize {
        Self::OCTET_HEAD * (chunk / SUPER_CHUNKS + 1) + Self::CHUNK_BYTES * chunk
    }
}

/// Writes one row of a tile.
struct PackRows<'a, B> {
    blocks: &'a [B],
    len: usize,
    lanes: usize,
    tile: &'a mut [u8],
}

impl<B: Codes> RowKernel for PackRows<'_, B> {
    type Output = ();

    #[inline(always)]
    fn run<L: RowLanes>(self, lanes: L) {
        for (row, blocks) in self.blocks.chunks_exact(self.len / B::LEN).enumerate() {
            let mut place = Place {
                tile: self.tile,
                lanes: self.lanes,
                row,
            };
            for (at, block) in blocks.iter().enumerate() {
                let raw = block.raw_scales();
                for in_block in 0..B::LEN / CHUNK {
                    let chunk = at * (B::LEN / CHUNK) + in_block;
                    place_scales::<B>(&mut place, &raw, chunk);
                    let block = std::slice::from_ref(block);
                    let codes = lanes.store(B::chunk(lanes, block, in_block));
                    place_codes::<B>(&mut place, &codes, chunk);
                }
            }
        }
    }
}

/// One row's bytes in a tile.
struct Place<'a> {
    tile: &'a mut [u8],
    lanes: usize,
    row: usize,
}

impl Place<'_> {
    /// Writes element `row` of the array that starts `at` bytes a row into the tile.
    #[inline(always)]
    fn set<const LEN: usize>(&mut self, at: usize, value: [u8; LEN]) {
        let start = at * self.lanes + LEN * self.row;
        self.tile[start..start + LEN].copy_from_slice(&value);
    }
}

#[inline(always)]
fn place_scales<B: Codes>(place: &mut Place<'_>, raw: &RawScales, chunk: usize) {
    let at = Packed::<B>::chunk_at(chunk);
    let head = at - Packed::<B>::OCTET_HEAD;
    let starts_octet = chunk.is_multiple_of(SUPER_CHUNKS);
    if starts_octet && Packed::<B>::OCTET_HEAD > 0 {
        place.set(head, raw.d.to_le_bytes());
    }
    if starts_octet && Packed::<B>::OCTET_HEAD > 2 {
        place.set(head + 2, raw.m.to_le_bytes());
    }
    let groups = Packed::<B>::GROUPS;
    for group in 0..groups {
        let index = chunk % SUPER_CHUNKS * groups + group;
        match Packed::<B>::SCALES {
            Scales::Half { .. } => place.set(at, raw.d.to_le_bytes()),
            Scales::HalfPair => {
                place.set(at, raw.d.to_le_bytes());
                place.set(at + 2, raw.m.to_le_bytes());
            }
            Scales::Affine => {
                place.set(at + 2 * group, [raw.scales[index]]);
                place.set(at + 2 * group + 1, [raw.minimums[index]]);
            }
            Scales::AffineNibbles => {
                place.set(at + group, [raw.scales[index] | raw.minimums[index] << 4]);
            }
            Scales::Signed { .. } => place.set(at + group, [raw.scales[index]]),
        }
    }
}

/// Packs the planes of a chunk. Four bytes at a time as one word: no field crosses its byte.
#[inline(always)]
fn place_codes<B: Codes>(place: &mut Place<'_>, codes: &[u8; CHUNK], chunk: usize) {
    let quads = codes.as_chunks::<4>().0;
    let mut at = Packed::<B>::chunk_at(chunk) + Packed::<B>::CHUNK_HEAD;
    let mut low_bits = 0;
    for bits in Packed::<B>::PLANES {
        for vector in 0..bits {
            let mask = u32::from_le_bytes([0xff >> (8 - bits); 4]);
            let mut word = 0;
            for step in 0..QUADS / bits {
                let quad = u32::from_le_bytes(quads[vector + bits * step]);
                word |= (quad >> low_bits & mask) << (bits * step);
            }
            place.set(at, word.to_le_bytes());
            at += 4;
        }
        low_bits += bits;
    }
}

/// Scales and offsets of one group of all rows. Where a format is symmetric, `offset` is not used
/// and the codes' zero is known at compile time.
#[derive(Clone, Copy)]
pub(super) struct GroupScales<F> {
    pub(super) scale: F,
    pub(super) offset: F,
}

impl<B: Codes> Packed<B> {
    /// The zero of symmetric formats.
    #[inline(always)]
    fn zero<L: TileLanes>() -> Option<u8> {
        match Self::SCALES {
            _ if B::BITS == 8 => Some(L::WIDE_ZERO),
            Scales::Half { zero } | Scales::Signed { zero } => Some(zero),
            _ => None,
        }
    }

    /// The halves of the super-block that starts at `head`.
    #[inline(always)]
    pub(super) fn octet_scales<L: TileLanes>(lanes: L, head: &[u8]) -> GroupScales<L::Floats> {
        let nothing = lanes.splat(0.0);
        match Self::SCALES {
            Scales::Half { .. } | Scales::HalfPair => GroupScales {
                scale: nothing,
                offset: nothing,
            },
            Scales::Affine | Scales::AffineNibbles => GroupScales {
                scale: lanes.halves(head),
                offset: lanes.mul(lanes.halves(&head[2 * L::LANES..]), lanes.splat(-1.0)),
            },
            Scales::Signed { .. } => GroupScales {
                scale: lanes.halves(head),
                offset: nothing,
            },
        }
    }

    /// Scales of a group of the chunk that starts at `head`.
    #[inline(always)]
    pub(super) fn group_scales<L: TileLanes>(
        lanes: L,
        octet: GroupScales<L::Floats>,
        head: &[u8],
        group: usize,
    ) -> GroupScales<L::Floats> {
        match Self::SCALES {
            Scales::Half { .. } => GroupScales {
                scale: lanes.halves(head),
                offset: lanes.splat(0.0),
            },
            Scales::HalfPair => GroupScales {
                scale: lanes.halves(head),
                offset: lanes.halves(&head[2 * L::LANES..]),
            },
            Scales::Affine => {
                let scale = lanes.unsigned(&head[2 * group * L::LANES..], 0, 0xff);
                let minimum = lanes.unsigned(&head[(2 * group + 1) * L::LANES..], 0, 0xff);
                GroupScales {
                    scale: lanes.mul(octet.scale, scale),
                    offset: lanes.mul(octet.offset, minimum),
                }
            }
            Scales::AffineNibbles => {
                let bytes = &head[group * L::LANES..];
                GroupScales {
                    scale: lanes.mul(octet.scale, lanes.unsigned(bytes, 0, 15)),
                    offset: lanes.mul(octet.offset, lanes.unsigned(bytes, 4, 15)),
                }
            }
            Scales::Signed { .. } => GroupScales {
                scale: lanes.mul(octet.scale, lanes.signed(&head[group * L::LANES..])),
                offset: octet.offset,
            },
        }
    }

    /// Codes of quad `quad` from the codes of a chunk.
    #[inline(always)]
    pub(super) fn quad<L: TileLanes>(lanes: L, codes: &[u8], quad: usize) -> L::Bytes {
        let vector_bytes = 4 * L::LANES;
        let plane = |first: usize, bits: usize| {
            let vector = lanes.load(&codes[(first + quad % bits) * vector_bytes..]);
            if bits == 8 {
                return vector;
            }
            lanes.field(vector, (bits * (quad / bits)) as u32, 0xff >> (8 - bits))
        };
        let [low, high] = Self::PLANES;
        let codes = plane(0, low);
        if high == 0 {
            return codes;
        }
        lanes.or(codes, lanes.raise(plane(low, high), low as u32))
    }

    /// Products of a tile with `ROWS` activation rows, interleaved by quads.
    #[inline(always)]
    pub(super) fn dots<L: TileLanes, const ROWS: usize>(
        lanes: L,
        tile: &[u8],
        activations: Interleaved<'_, ROWS>,
    ) -> [L::Floats; ROWS] {
        let mut sums = [lanes.splat(0.0); ROWS];
        let mut octet = Self::octet_scales(lanes, tile);
        let quads = activations.codes.as_chunks::<QUADS>().0;
        let mut tile = tile;
        for (chunk, (quads, scales)) in quads.iter().zip(activations.scales).enumerate() {
            if Self::OCTET_HEAD > 0 && chunk.is_multiple_of(SUPER_CHUNKS) {
                octet = Self::octet_scales(lanes, tile);
                tile = &tile[Self::OCTET_HEAD * L::LANES..];
            }
            let (bytes, rest) = tile.split_at(Self::CHUNK_BYTES * L::LANES);
            tile = rest;
            let codes = &bytes[Self::CHUNK_HEAD * L::LANES..];
            for group in 0..Self::GROUPS {
                let group_scales = Self::group_scales(lanes, octet, bytes, group);
                let products = Self::group_dots::<L, ROWS>(
                    lanes,
                    #[inline(always)]
                    |quad| Self::quad(lanes, codes, quad),
                    quads,
                    group,
                );
                let rows = (scales, &activations.sums[chunk * Self::GROUPS + group]);
                Self::add_group(lanes, products, group_scales, rows, &mut sums);
            }
        }
        sums
    }

    /// Integer products of one group.
    #[inline(always)]
    pub(super) fn group_dots<L: TileLanes, const ROWS: usize>(
        lanes: L,
        codes_of: impl Fn(usize) -> L::Bytes,
        quads: &[[[i8; 4]; ROWS]; QUADS],
        group: usize,
    ) -> [L::Ints; ROWS] {
        let mut products = [lanes.zero(); ROWS];
        for quad in group * (B::GROUP / 4)..(group + 1) * (B::GROUP / 4) {
            let codes = codes_of(quad);
            for r in 0..ROWS {
                products[r] = if B::BITS == 8 {
                    lanes.dot_wide(products[r], codes, quads[quad][r])
                } else {
                    lanes.dot(products[r], codes, quads[quad][r])
                };
            }
        }
        products
    }

    /// Adds a group's products to the sums; `rows` has the scale of each activation row, and the
    /// sum of its values in the group.
    #[inline(always)]
    pub(super) fn add_group<L: TileLanes, const ROWS: usize>(
        lanes: L,
        products: [L::Ints; ROWS],
        group: GroupScales<L::Floats>,
        rows: (&[f32; ROWS], &[f32; ROWS]),
        sums: &mut [L::Floats; ROWS],
    ) {
        let (scales, group_sums) = rows;
        for r in 0..ROWS {
            let product = lanes.to_floats(products[r]);
            let scale = lanes.splat(scales[r]);
            sums[r] = if let Some(zero) = Self::zero::<L>() {
                let shift = lanes.splat(-f32::from(zero) * group_sums[r]);
                lanes.fma(lanes.fma(product, scale, shift), group.scale, sums[r])
            } else {
                let scale = lanes.mul(group.scale, scale);
                let sum = lanes.fma(product, scale, sums[r]);
                lanes.fma(group.offset, lanes.splat(group_sums[r]), sum)
            };
        }
    }
}

/// Writes as many lanes as `out` has room for.
#[inline(always)]
pub(super) fn store_columns<L: TileLanes>(lanes: L, values: L::Floats, out: &mut [f32]) {
    if out.len() >= L::LANES {
        lanes.store_floats(values, out);
    } else {
        let mut all = [0.0; MAX_LANES];
        lanes.store_floats(values, &mut all);
        out.copy_from_slice(&all[..out.len()]);
    }
}

/// Activation rows interleaved by quads: `codes[k / 4][row][4]`, `scales[k / 32][row]`.
#[derive(Clone, Copy)]
pub(super) struct Interleaved<'a, const ROWS: usize> {
    pub(super) codes: &'a [[[i8; 4]; ROWS]],
    pub(super) scales: &'a [[f32; ROWS]],
    pub(super) sums: &'a [[f32; ROWS]],
}

struct DotRow<'a, B> {
    tile: &'a [u8],
    activations: &'a Rows,
    out: &'a mut [f32],
    blocks: PhantomData<B>,
}

impl<B: Codes> TileKernel for DotRow<'_, B> {
    type Output = ();

    #[inline(always)]
    fn run<L: TileLanes>(self, lanes: L) {
        // One row interleaved by quads is the row itself.
        let row = self.activations.row(0);
        let activations = Interleaved {
            codes: row
                .codes
                .as_flattened()
                .as_chunks::<4>()
                .0
                .as_chunks::<1>()
                .0,
            scales: row.scales.as_flattened().as_chunks::<1>().0,
            sums: row.sums.as_flattened().as_chunks::<1>().0,
        };
        let [sums] = Packed::<B>::dots(lanes, self.tile, activations);
        store_columns(lanes, sums, self.out);
    }
}

impl<B: Codes> PackedRows for Packed<B> {
    fn tile_bytes(&self, lanes: usize, len: usize) -> usize {
        let octets = (len / CHUNK).div_ceil(SUPER_CHUNKS);
        lanes * (Self::OCTET_HEAD * octets + Self::CHUNK_BYTES * (len / CHUNK))
    }

    fn pack_tile(&self, target: Target, weight: &[u8], len: usize, tile: &mut [u8]) {
        let blocks = bytemuck::cast_slice::<u8, B>(weight);
        run_row(
            target,
            PackRows {
                blocks,
                len,
                lanes: target.tile_lanes(),
                tile,
            },
        );
    }

    fn dot_row(&self, target: Target, tile: &[u8], activations: &Rows, out: &mut [f32]) {
        run_tile(
            target,
            DotRow::<B> {
                tile,
                activations,
                out,
                blocks: PhantomData,
            },
        );
    }

    fn dot_panels(
        &self,
        target: Target,
        tile: &[u8],
        activations: &Panels,
        column: usize,
        out: &mut [&mut [f32]],
    ) {
        let kernel = DotPanels::<B> {
            tile,
            activations,
            column,
            out,
            blocks: PhantomData,
        };
        run_tile(target, kernel);
    }
}
