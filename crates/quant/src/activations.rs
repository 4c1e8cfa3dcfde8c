//! The left side of a product, rounded to 8 bits.
//!
//! Each 32 values of a row share one scale, `max |x| / 127` in f32; codes are in −127 to 127. With
//! weights `s·q + o` in a group and activations `a·c`, a group's part of the dot product is
//!
//! ```text
//! a·s · Σ q·c  +  o · (a · Σ c)
//! ```
//!
//! so `a · Σ c` is kept beside the codes, one for each of the weight format's groups. This is the
//! partner format for every weight format: the k-quants get a scale for 32 values too, instead of
//! one for 256, which halves the error of the activations.
//!
//! A value that is not finite makes its scale so, and with it every result of its row.
//!
//! Two layouts: rows, for row kernels; and panels of [`PANEL_ROWS`] rows interleaved by four codes,
//! for tile kernels. The last panel is filled up with zeros.

use crate::codes::CHUNK;
use crate::dot::{RowKernel, RowLanes, Target, run_row};

/// Rows in a panel.
pub(crate) const PANEL_ROWS: usize = 4;

/// Chunks in an octet, whose scales row kernels load at once.
const OCTET_CHUNKS: usize = 8;

/// Quantized rows, each with its scales padded with zeros to whole octets.
#[derive(Default)]
pub(crate) struct Rows {
    codes: Vec<[i8; CHUNK]>,
    scales: Vec<[f32; OCTET_CHUNKS]>,
    sums: Vec<[f32; OCTET_CHUNKS]>,
    chunks: usize,
    octets: usize,
    octet_sums: usize,
}

/// One row of [`Rows`].
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    /// A chunk's codes.
    pub(crate) codes: &'a [[i8; CHUNK]],
    /// An octet's scales.
    pub(crate) scales: &'a [[f32; OCTET_CHUNKS]],
    /// An octet's sums: one array where groups are of 32, else two.
    pub(crate) sums: &'a [[f32; OCTET_CHUNKS]],
}

impl Rows {
    /// Quantizes `values`, rows of `len`, for weights in groups of `group`.
    pub(crate) fn quantize(&mut self, target: Target, values: &[f32], len: usize, group: usize) {
        let rows = values.len() / len;
        self.chunks = len / CHUNK;
        self.octets = self.chunks.div_ceil(OCTET_CHUNKS);
        self.octet_sums = CHUNK / group;
        // Nothing that is read is left over from another call: padding is written below.
        self.codes.resize(rows * self.chunks, [0; CHUNK]);
        self.scales.resize(rows * self.octets, [0.0; OCTET_CHUNKS]);
        self.sums
            .resize(rows * self.octets * self.octet_sums, [0.0; OCTET_CHUNKS]);
        let row_of = |row: usize| &values[row * len..(row + 1) * len];
        for row in 0..rows {
            let work = QuantizeRow {
                values: row_of(row),
                codes: &mut self.codes[row * self.chunks..][..self.chunks],
                scales: self.scales[row * self.octets..][..self.octets].as_flattened_mut(),
                sums: self.sums[row * self.octets * self.octet_sums..]
                    [..self.octets * self.octet_sums]
                    .as_flattened_mut(),
                group,
            };
            run_row(target, work);
        }
    }

    pub(crate) fn row(&self, row: usize) -> Row<'_> {
        let sums = self.octets * self.octet_sums;
        Row {
            codes: &self.codes[row * self.chunks..][..self.chunks],
            scales: &self.scales[row * self.octets..][..self.octets],
            sums: &self.sums[row * sums..][..sums],
        }
    }
}

struct QuantizeRow<'a> {
    values: &'a [f32],
    codes: &'a mut [[i8; CHUNK]],
    scales: &'a mut [f32],
    sums: &'a mut [f32],
    group: usize,
}

impl RowKernel for QuantizeRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: RowLanes>(self, _: L) {
        let chunks = self.codes.len();
        let per_chunk = CHUNK / self.group;
        self.scales[chunks..].fill(0.0);
        self.sums[chunks * per_chunk..].fill(0.0);
        let values = self.values.as_chunks::<CHUNK>().0;
        for (at, (values, codes)) in values.iter().zip(self.codes).enumerate() {
            let (scale, halves) = quantize_chunk(values, codes);
            self.scales[at] = scale;
            if per_chunk == 1 {
                self.sums[at] = scale * (halves[0] + halves[1]) as f32;
            } else {
                self.sums[2 * at] = scale * halves[0] as f32;
                self.sums[2 * at + 1] = scale * halves[1] as f32;
            }
        }
    }
}

/// Writes the codes; gives the scale and the sums of the first and the last 16 codes.
#[inline(always)]
fn quantize_chunk(values: &[f32; CHUNK], codes: &mut [i8; CHUNK]) -> (f32, [i32; 2]) {
    // As integers, magnitudes order like the floats, and infinity and NaN come last.
    let magnitude = |value: &f32| value.to_bits() & 0x7fff_ffff;
    let peak = f32::from_bits(values.iter().map(magnitude).fold(0, u32::max));
    let inverse = if peak == 0.0 { 0.0 } else { 127.0 / peak };
    // 1.5·2^23: its lowest bits count ones, so the sum's low byte is the rounded code.
    const SHIFT: f32 = 12_582_912.0;
    for (code, value) in codes.iter_mut().zip(values) {
        *code = (value * inverse + SHIFT).to_bits() as i8;
    }
    let sum = |codes: &[i8]| codes.iter().map(|&code| i32::from(code)).sum();
    let halves = [sum(&codes[..16]), sum(&codes[16..])];
    (peak / 127.0, halves)
}

/// Quantized rows in panels: codes `[panel][k / 4][row][4]`, scales `[panel][k / 32][row]`, sums
/// `[panel][k / group][row]`.
#[derive(Default)]
pub(crate) struct Panels {
    codes: Vec<Quads>,
    scales: Vec<[f32; PANEL_ROWS]>,
    sums: Vec<[f32; PANEL_ROWS]>,
    chunks: usize,
    chunk_sums: usize,
}

/// Four codes of each row of a panel.
pub(crate) type Quads = [[i8; 4]; PANEL_ROWS];

/// One panel of [`Panels`].
#[derive(Clone, Copy)]
pub(crate) struct PanelRows<'a> {
    pub(crate) codes: &'a [Quads],
    pub(crate) scales: &'a [[f32; PANEL_ROWS]],
    pub(crate) sums: &'a [[f32; PANEL_ROWS]],
}

/// Four codes in a quad.
const CHUNK_QUADS: usize = CHUNK / 4;

impl Panels {
    /// Quantizes `values`, rows of `len`, for weights in groups of `group`. Parallel inside.
    pub(crate) fn quantize(&mut self, target: Target, values: &[f32], len: usize, group: usize) {
        let panels = (values.len() / len).div_ceil(PANEL_ROWS);
        self.chunks = len / CHUNK;
        self.chunk_sums = CHUNK / group;
        self.codes
            .resize(panels * self.chunks * CHUNK_QUADS, [[0; 4]; PANEL_ROWS]);
        self.scales.resize(panels * self.chunks, [0.0; PANEL_ROWS]);
        self.sums
            .resize(panels * self.chunks * self.chunk_sums, [0.0; PANEL_ROWS]);
        let mut works: Vec<_> = values
            .chunks(PANEL_ROWS * len)
            .zip(self.codes.chunks_exact_mut(self.chunks * CHUNK_QUADS))
            .zip(self.scales.chunks_exact_mut(self.chunks))
            .zip(self.sums.chunks_exact_mut(self.chunks * self.chunk_sums))
            .map(|(((values, codes), scales), sums)| QuantizePanel {
                values,
                codes,
                scales,
                sums,
                len,
            })
            .collect();
        // A panel of 4 · 576 values takes about a microsecond; below eight, waking costs more.
        let chunk = tallow_threads::chunk_len(works.len(), 8);
        tallow_threads::parallel_chunks_mut(&mut works, chunk, |_, works| {
            for work in works {
                run_row(target, work);
            }
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.scales.len() / self.chunks
    }

    pub(crate) fn panel(&self, panel: usize) -> PanelRows<'_> {
        let sums = self.chunks * self.chunk_sums;
        PanelRows {
            codes: &self.codes[panel * self.chunks * CHUNK_QUADS..][..self.chunks * CHUNK_QUADS],
            scales: &self.scales[panel * self.chunks..][..self.chunks],
            sums: &self.sums[panel * sums..][..sums],
        }
    }
}

/// Up to [`PANEL_ROWS`] rows that become one panel.
struct QuantizePanel<'a> {
    values: &'a [f32],
    codes: &'a mut [Quads],
    scales: &'a mut [[f32; PANEL_ROWS]],
    sums: &'a mut [[f32; PANEL_ROWS]],
    len: usize,
}

impl RowKernel for &mut QuantizePanel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: RowLanes>(self, _: L) {
        let chunk_sums = self.sums.len() / self.scales.len();
        for row in 0..PANEL_ROWS {
            // A missing row is empty; its codes and scales become 0.
            let values = self
                .values
                .get(row * self.len..(row + 1) * self.len)
                .unwrap_or(&[]);
            let values = values.as_chunks::<CHUNK>().0;
            for at in 0..self.scales.len() {
                let mut codes = [0; CHUNK];
                let (scale, halves) = match values.get(at) {
                    Some(values) => quantize_chunk(values, &mut codes),
                    None => (0.0, [0; 2]),
                };
                self.scales[at][row] = scale;
                if chunk_sums == 1 {
                    self.sums[at][row] = scale * (halves[0] + halves[1]) as f32;
                } else {
                    self.sums[2 * at][row] = scale * halves[0] as f32;
                    self.sums[2 * at + 1][row] = scale * halves[1] as f32;
                }
                let quads = &mut self.codes[at * CHUNK_QUADS..][..CHUNK_QUADS];
                for (quads, codes) in quads.iter_mut().zip(codes.as_chunks::<4>().0) {
                    quads[row] = *codes;
                }
            }
        }
    }
}
