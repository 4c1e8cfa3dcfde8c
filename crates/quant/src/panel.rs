//! Tile kernels: the rows of a tile side by side, times many activation rows.
//!
//! A tile is `LANES` weight rows. Its panel has the codes unpacked to bytes and interleaved, four
//! of each row at a time, and the scales and offsets as f32:
//!
//! ```text
//! codes    [k / 4][LANES][4]   u8
//! scales   [k / group][LANES]  f32
//! offsets  [k / group][LANES]  f32
//! ```
//!
//! One panel is made for all activation rows, so its cost is spread over them. It is 32 · 2048
//! bytes of codes and a quarter of that for scales at k = 2048 with 32 rows: it stays in a second
//! level cache. Activation rows come in panels of four: a load of codes serves four rows, a
//! broadcast of four activations all rows of the tile.

use crate::activations::{PANEL_ROWS, PanelRows, Panels, Quads};
use crate::codes::{CHUNK, Codes, octet_blocks};
use crate::dot::{MAX_LANES, RowKernel, RowLanes, Target, TileKernel, TileLanes};
use crate::format::Format;
use crate::lines::Lines;
use crate::matmul::MatmulDims;

/// A tile of weight rows as tile kernels read it.
#[derive(Default)]
pub(crate) struct Panel {
    codes: Lines,
    scales: Lines,
    offsets: Lines,
    shape: PanelShape,
}

/// Sizes of a panel.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PanelShape {
    /// Rows in a tile.
    pub(crate) lanes: usize,
    /// Weights in a row.
    pub(crate) len: usize,
    /// Weights that share a scale.
    pub(crate) group: usize,
    /// Whether codes have 8 bits.
    pub(crate) wide: bool,
}

impl PanelShape {
    /// The panel that `target` needs for weights of `format`.
    pub(crate) fn new(target: Target, format: &dyn Format, dims: MatmulDims) -> Self {
        let (group, wide) = (format.group(), format.is_wide());
        Self {
            lanes: target.tile_lanes(),
            len: dims.k,
            group,
            wide,
        }
    }
}

/// The parts of a panel, to be filled.
pub(crate) struct PanelParts<'a> {
    pub(crate) codes: &'a mut [u8],
    pub(crate) scales: &'a mut [f32],
    pub(crate) offsets: &'a mut [f32],
}

impl Panel {
    /// Makes room. Rows that are not filled afterwards keep old values, which no one reads out.
    pub(crate) fn set_shape(&mut self, shape: PanelShape) {
        let scales = 4 * shape.len / shape.group * shape.lanes;
        self.codes.resize(shape.len * shape.lanes);
        self.scales.resize(scales);
        self.offsets.resize(scales);
        self.shape = shape;
    }

    /// Weights in a row.
    pub(crate) fn len(&self) -> usize {
        self.shape.len
    }

    pub(crate) fn parts(&mut self) -> PanelParts<'_> {
        PanelParts {
            codes: self.codes.bytes_mut(),
            scales: self.scales.floats_mut(),
            offsets: self.offsets.floats_mut(),
        }
    }
}

/// Fills a panel from rows as they lie in the file.
pub(crate) struct ExpandRows<'a, B> {
    /// Whole rows, at most `LANES`.
    pub(crate) blocks: &'a [B],
    pub(crate) panel: &'a mut Panel,
}

impl<B: Codes> RowKernel for ExpandRows<'_, B> {
    type Output = ();

    #[inline(always)]
    fn run<L: RowLanes>(self, lanes: L) {
        let PanelShape {
            lanes: tile_rows,
            len,
            ..
        } = self.panel.shape;
        let parts = self.panel.parts();
        let codes = parts.codes.as_chunks_mut::<4>().0;
        for (row, blocks) in self.blocks.chunks_exact(len / B::LEN).enumerate() {
            for (octet, blocks) in blocks.chunks(octet_blocks::<B>()).enumerate() {
                let affine = B::affine(lanes, blocks);
                let chunks = blocks.len() * B::LEN / CHUNK;
                let groups = blocks.len() * B::LEN / B::GROUP;
                let first = octet * (octet_blocks::<B>() * B::LEN / B::GROUP);
                for half in 0..groups.div_ceil(8) {
                    let scale = lanes.array(affine.scale[half]);
                    let offset = lanes.array(affine.offset[half]);
                    for group in 0..(groups - 8 * half).min(8) {
                        let at = (first + 8 * half + group) * tile_rows + row;
                        parts.scales[at] = scale[group];
                        parts.offsets[at] = offset[group];
                    }
                }
                for chunk in 0..chunks {
                    let bytes = lanes.store(B::chunk(lanes, blocks, chunk));
                    let first = (octet * 8 + chunk) * (CHUNK / 4);
                    for (quad, bytes) in bytes.as_chunks::<4>().0.iter().enumerate() {
                        codes[(first + quad) * tile_rows + row] = *bytes;
                    }
                }
            }
        }
    }
}

/// Products of a panel's rows with all activation rows.
pub(crate) struct PanelDots<'a, 'b> {
    pub(crate) panel: &'a Panel,
    pub(crate) activations: &'a Panels,
    /// The tile's first column in `out`.
    pub(crate) column: usize,
    /// For each activation row, the results of a range of weight rows.
    pub(crate) out: &'a mut [&'b mut [f32]],
}

impl TileKernel for PanelDots<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<L: TileLanes>(mut self, lanes: L) {
        match (self.panel.shape.group, self.panel.shape.wide) {
            (32, false) => self.all_rows::<L, 32, false>(lanes),
            (32, true) => self.all_rows::<L, 32, true>(lanes),
            (_, false) => self.all_rows::<L, 16, false>(lanes),
            (_, true) => self.all_rows::<L, 16, true>(lanes),
        }
    }
}

impl PanelDots<'_, '_> {
    #[inline(always)]
    fn all_rows<L: TileLanes, const GROUP: usize, const WIDE: bool>(&mut self, lanes: L) {
        for panel in 0..self.activations.len() {
            let rows = self.activations.panel(panel);
            let sums = panel_dots::<L, GROUP, WIDE>(lanes, self.panel, rows);
            let out = &mut self.out[PANEL_ROWS * panel..];
            for (out, sum) in out.iter_mut().zip(sums) {
                store_columns(lanes, sum, &mut out[self.column..]);
            }
        }
    }
}

/// Writes as many lanes as `out` has room for.
#[inline(always)]
pub(crate) fn store_columns<L: TileLanes>(lanes: L, values: L::Floats, out: &mut [f32]) {
    if out.len() >= L::LANES {
        lanes.store_floats(values, out);
    } else {
        let mut all = [0.0; MAX_LANES];
        lanes.store_floats(values, &mut all);
        out.copy_from_slice(&all[..out.len()]);
    }
}

#[inline(always)]
fn panel_dots<L: TileLanes, const GROUP: usize, const WIDE: bool>(
    lanes: L,
    panel: &Panel,
    rows: PanelRows<'_>,
) -> [L::Floats; PANEL_ROWS] {
    let mut sums = [lanes.splat(0.0); PANEL_ROWS];
    let codes = panel.codes.bytes().chunks_exact(4 * L::LANES * (GROUP / 4));
    let scales = panel.scales.floats().chunks_exact(L::LANES);
    let offsets = panel.offsets.floats().chunks_exact(L::LANES);
    let mut groups = codes.zip(scales.zip(offsets));
    let per_chunk = CHUNK / GROUP;
    let acts = rows.codes.chunks_exact(GROUP / 4);
    for (group, (acts, group_sums)) in acts.zip(rows.sums).enumerate() {
        let Some((codes, (scales, offsets))) = groups.next() else {
            return sums;
        };
        let activation_scales = &rows.scales[group / per_chunk];
        let products = group_dots::<L, WIDE>(lanes, codes, acts);
        let scale = lanes.floats(scales);
        let offset = lanes.floats(offsets);
        for r in 0..PANEL_ROWS {
            let product = lanes.mul(lanes.to_floats(products[r]), scale);
            sums[r] = lanes.fma(product, lanes.splat(activation_scales[r]), sums[r]);
            sums[r] = lanes.fma(offset, lanes.splat(group_sums[r]), sums[r]);
        }
    }
    sums
}

/// Integer products of one group.
#[inline(always)]
fn group_dots<L: TileLanes, const WIDE: bool>(
    lanes: L,
    codes: &[u8],
    activations: &[Quads],
) -> [L::Ints; PANEL_ROWS] {
    let mut products = [lanes.zero(); PANEL_ROWS];
    for (codes, quads) in codes.chunks_exact(4 * L::LANES).zip(activations) {
        let codes = lanes.load(codes);
        for r in 0..PANEL_ROWS {
            products[r] = if WIDE {
                lanes.dot_wide(products[r], codes, quads[r])
            } else {
                lanes.dot(products[r], codes, quads[r])
            };
        }
    }
    products
}
