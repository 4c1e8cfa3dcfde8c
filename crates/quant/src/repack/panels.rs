//! A tile of interleaved weights times panels of activations.
//!
//! Codes in one plane are unpacked in registers for each panel. Codes in two planes (3, 5 and 6
//! bits) take about as long to unpack as to multiply by the four rows of a panel, so an octet of
//! them (256 weights of each row of the tile) is unpacked once for a block of panels, whose sums
//! wait meanwhile:
//!
//! ```text
//! for each block of panels
//!     for each octet: unpack its codes and scales
//!         for each panel of the block: add the octet's products to the panel's sums
//!     write the sums
//! ```
//!
//! A sum gets its parts in the same order either way: the bits are the same.

use std::marker::PhantomData;
use std::ops::Range;

use super::packed::{GroupScales, Interleaved, Packed, QUADS, SUPER_CHUNKS, store_columns};
use crate::activations::{PANEL_ROWS, PanelRows, Panels};
use crate::codes::Codes;
use crate::dot::{TileKernel, TileLanes};

/// Panels of a block. With 32 rows in a tile their sums take 8 KiB, an octet's codes 8 KiB and its
/// scales up to 4: together they fit a first-level cache of 32 KiB.
const BLOCK: usize = 16;

/// Products of a tile with all panels; results from `column` on.
pub(super) struct DotPanels<'a, 'b, B> {
    pub(super) tile: &'a [u8],
    pub(super) activations: &'a Panels,
    pub(super) column: usize,
    pub(super) out: &'a mut [&'b mut [f32]],
    pub(super) blocks: PhantomData<B>,
}

impl<B: Codes> TileKernel for DotPanels<'_, '_, B> {
    type Output = ();

    #[inline(always)]
    fn run<L: TileLanes>(self, lanes: L) {
        // One panel gains nothing from codes that wait for the next.
        if Packed::<B>::HAS_TWO_PLANES && self.activations.len() > 1 {
            self.by_octets(lanes);
        } else {
            self.by_panels(lanes);
        }
    }
}

impl<B: Codes> DotPanels<'_, '_, B> {
    #[inline(always)]
    fn by_panels<L: TileLanes>(self, lanes: L) {
        for (panel, out) in self.out.chunks_mut(PANEL_ROWS).enumerate() {
            let rows = self.activations.panel(panel);
            let activations = Interleaved {
                codes: rows.codes,
                scales: rows.scales,
                sums: rows.sums,
            };
            let sums = Packed::<B>::dots::<L, PANEL_ROWS>(lanes, self.tile, activations);
            store(lanes, &[sums], self.column, out);
        }
    }

    #[inline(always)]
    fn by_octets<L: TileLanes>(self, lanes: L) {
        let mut octet = Octet::<B, L>::new(lanes, self.tile);
        for (block, out) in self.out.chunks_mut(BLOCK * PANEL_ROWS).enumerate() {
            let first = block * BLOCK;
            let panels = BLOCK.min(self.activations.len() - first);
            let mut sums = [[lanes.splat(0.0); PANEL_ROWS]; BLOCK];
            let mut tile = self.tile;
            let chunks = self.activations.panel(first).scales.len();
            for chunk in (0..chunks).step_by(SUPER_CHUNKS) {
                let range = chunk..chunks.min(chunk + SUPER_CHUNKS);
                tile = octet.unpack(lanes, tile, range.len());
                for (panel, sums) in sums[..panels].iter_mut().enumerate() {
                    let rows = self.activations.panel(first + panel);
                    octet.add(lanes, rows, range.clone(), sums);
                }
            }
            store(lanes, &sums[..panels], self.column, out);
        }
    }
}

/// Writes the sums of panels, as many rows as there are.
#[inline(always)]
fn store<L: TileLanes>(
    lanes: L,
    sums: &[[L::Floats; PANEL_ROWS]],
    column: usize,
    out: &mut [&mut [f32]],
) {
    for (out, sum) in out.iter_mut().zip(sums.as_flattened()) {
        store_columns(lanes, *sum, &mut out[column..]);
    }
}

/// Unpacked weights: 256 of each row of the tile, fewer at its end.
struct Octet<B, L: TileLanes> {
    codes: [[L::Bytes; QUADS]; SUPER_CHUNKS],
    /// One for each group of a chunk: the second only where groups are of 16.
    scales: [[GroupScales<L::Floats>; 2]; SUPER_CHUNKS],
    blocks: PhantomData<B>,
}

impl<B: Codes, L: TileLanes> Octet<B, L> {
    /// One whose content means nothing yet. A tile is never empty.
    #[inline(always)]
    fn new(lanes: L, tile: &[u8]) -> Self {
        let codes = &tile[(Packed::<B>::OCTET_HEAD + Packed::<B>::CHUNK_HEAD) * L::LANES..];
        let nothing = GroupScales {
            scale: lanes.splat(0.0),
            offset: lanes.splat(0.0),
        };
        Self {
            codes: [[Packed::<B>::quad(lanes, codes, 0); QUADS]; SUPER_CHUNKS],
            scales: [[nothing; 2]; SUPER_CHUNKS],
            blocks: PhantomData,
        }
    }

    /// Unpacks the octet of `chunks` chunks at the start of `tile`, and gives what is behind it.
    #[inline(always)]
    fn unpack<'a>(&mut self, lanes: L, tile: &'a [u8], chunks: usize) -> &'a [u8] {
        let head = Packed::<B>::octet_scales(lanes, tile);
        let tile = &tile[Packed::<B>::OCTET_HEAD * L::LANES..];
        let chunk_bytes = Packed::<B>::CHUNK_BYTES * L::LANES;
        let (octet, rest) = tile.split_at(chunks * chunk_bytes);
        let chunks = octet.chunks_exact(chunk_bytes);
        for ((bytes, unpacked), scales) in chunks.zip(&mut self.codes).zip(&mut self.scales) {
            let codes = &bytes[Packed::<B>::CHUNK_HEAD * L::LANES..];
            for quad in 0..QUADS {
                unpacked[quad] = Packed::<B>::quad(lanes, codes, quad);
            }
            for group in 0..Packed::<B>::GROUPS {
                scales[group] = Packed::<B>::group_scales(lanes, head, bytes, group);
            }
        }
        rest
    }

    /// Adds the products with these chunks of a panel.
    #[inline(always)]
    fn add(
        &self,
        lanes: L,
        panel: PanelRows<'_>,
        chunks: Range<usize>,
        sums: &mut [L::Floats; PANEL_ROWS],
    ) {
        let groups = Packed::<B>::GROUPS;
        let quads = &panel.codes[chunks.start * QUADS..chunks.end * QUADS];
        let group_sums = &panel.sums[chunks.start * groups..chunks.end * groups];
        let rows = quads
            .as_chunks::<QUADS>()
            .0
            .iter()
            .zip(&panel.scales[chunks]);
        let mut local = *sums;
        for (((quads, scales), group_sums), (codes, group_scales)) in rows
            .zip(group_sums.chunks_exact(groups))
            .zip(self.codes.iter().zip(&self.scales))
        {
            for group in 0..groups {
                let products = Packed::<B>::group_dots::<L, PANEL_ROWS>(
                    lanes,
                    #[inline(always)]
                    |quad| codes[quad],
                    quads,
                    group,
                );
                let rows = (scales, &group_sums[group]);
                Packed::<B>::add_group(lanes, products, group_scales[group], rows, &mut local);
            }
        }
        *sums = local;
    }
}
