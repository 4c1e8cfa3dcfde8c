//! Blocks with codes and scales apart: the form that a GPU reads well.
//!
//! A GPU's threads read neighbours at once, which the blocks of a file, with their scales between
//! the codes and sizes that are no powers of two, do not allow (a quarter of the speed). Apart, a
//! row of codes is one run of bytes:
//!
//! ```text
//! codes   [n, k / 2] or [n, k] bytes   element 2j in the low nibble, or signed bytes
//! scales  [n, k / group, 2]            weight = scale · code + offset
//! ```

use crate::codes::{CHUNK, Codes, octet_blocks};
use crate::dot::{RowKernel, RowLanes};
use crate::error::{QuantError, check_len, product};
use crate::table::{GgmlDType, Kind};

/// Weights `[n, k]`, codes and scales apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Bits of a code: 4, unsigned, or 8, signed.
    pub bits: u32,
    /// Weights that share a scale and an offset: 16 or 32.
    pub group: usize,
    /// The codes, row by row.
    pub codes: Vec<u8>,
    /// Scale and offset of each group, row by row.
    pub scales: Vec<[f32; 2]>,
}

/// How a format's codes and scales lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitForm {
    /// Bits of a code: 4, unsigned, or 8, signed.
    pub bits: u32,
    /// Weights that share a scale and an offset: 16 or 32.
    pub group: usize,
    /// Scales and offsets are halves in the format itself, so that halves hold them exactly.
    pub halves: bool,
}

impl Split {
    /// The form of a format's weights; `None` for types without codes.
    pub fn form(dtype: GgmlDType) -> Option<SplitForm> {
        use GgmlDType as D;
        let Kind::Blocks(format) = dtype.kind() else {
            return None;
        };
        // The others multiply a scale by one of few bits, or have powers of two beyond halves.
        let plain = [
            D::Q4_0,
            D::Q4_1,
            D::Q5_0,
            D::Q5_1,
            D::Q8_0,
            D::Q8_1,
            D::TQ1_0,
            D::TQ2_0,
            D::IQ4NL,
        ];
        Some(SplitForm {
            bits: if format.bits() <= 4 { 4 } else { 8 },
            group: format.group(),
            halves: plain.contains(&dtype),
        })
    }

    /// Takes the blocks of `weight`, `n` rows of `k`, apart. `None` for types without codes (`f32`,
    /// `f16`, `bf16`). Parallel inside.
    ///
    /// # Errors
    /// [`QuantError`] when `weight` is not `n` rows of `k`.
    ///
    /// ```
    /// use tallow_quant::{GgmlDType, Split, quantize};
    /// let values: Vec<f32> = (0..32).map(|i| i as f32).collect();
    /// let mut weight = vec![0; 34];
    /// quantize(GgmlDType::Q8_0, &values, &mut weight)?;
    /// let split = Split::new(GgmlDType::Q8_0, &weight, 1, 32)?.expect("it has codes");
    /// let [scale, offset] = split.scales[0];
    /// let last = scale * f32::from(split.codes[31] as i8) + offset;
    /// assert!((last - 31.0).abs() < 0.01, "{last}");
    /// # Ok::<(), tallow_quant::QuantError>(())
    /// ```
    pub fn new(
        dtype: GgmlDType,
        weight: &[u8],
        n: usize,
        k: usize,
    ) -> Result<Option<Self>, QuantError> {
        let op = "split";
        let row_bytes = dtype.row_bytes(k).unwrap_or(usize::MAX);
        check_len(
            op,
            ("weight", "bytes"),
            weight.len(),
            product(op, n, row_bytes)?,
        )?;
        let (Kind::Blocks(format), Some(form)) = (dtype.kind(), Self::form(dtype)) else {
            return Ok(None);
        };
        let SplitForm { bits, group, .. } = form;
        let (code_bytes, groups) = (k * bits as usize / 8, k / group);
        let mut codes = vec![0; n * code_bytes];
        let mut scales = vec![[0.0; 2]; n * groups];
        if n * k > 0 {
            let rows = codes.chunks_mut(code_bytes).zip(scales.chunks_mut(groups));
            let mut rows: Vec<_> = rows.zip(weight.chunks(row_bytes)).collect();
            tallow_threads::parallel_chunks_mut(&mut rows, ROWS, |_, rows| {
                for ((codes, scales), weight) in rows {
                    format.split(weight, bits, codes, scales);
                }
            });
        }
        Ok(Some(Self {
            bits,
            group,
            codes,
            scales,
        }))
    }
}

/// Rows of a task: taking a row of 576 apart takes about a microsecond.
const ROWS: usize = 32;

/// Takes a row of blocks apart.
pub(crate) struct SplitRow<'a, B> {
    pub(crate) blocks: &'a [B],
    pub(crate) bits: u32,
    pub(crate) codes: &'a mut [u8],
    pub(crate) scales: &'a mut [[f32; 2]],
}

impl<B: Codes> RowKernel for SplitRow<'_, B> {
    type Output = ();

    #[inline(always)]
    fn run<L: RowLanes>(self, lanes: L) {
        let per_chunk = CHUNK * self.bits as usize / 8;
        let (mut codes, mut scales) = (self.codes, self.scales);
        for blocks in self.blocks.chunks(octet_blocks::<B>()) {
            let weights = blocks.len() * B::LEN;
            let affine = B::affine(lanes, blocks);
            for (at, pair) in scales.iter_mut().take(weights / B::GROUP).enumerate() {
                let lane = |values| lanes.sum(lanes.lane(values, at % 8)) / 8.0;
                let scale = lane(affine.scale[at / 8]);
                // What the offset holds of the zero of wide codes is not needed for signed ones.
                let wide_zero = if B::BITS == 8 {
                    f32::from(L::WIDE_ZERO)
                } else {
                    0.0
                };
                *pair = [scale, lane(affine.offset[at / 8]) + wide_zero * scale];
            }
            for chunk in 0..weights / CHUNK {
                let bytes = lanes.store(B::chunk(lanes, blocks, chunk));
                let out = &mut codes[chunk * per_chunk..][..per_chunk];
                match (self.bits, B::BITS) {
                    (4, _) => {
                        for (out, pair) in out.iter_mut().zip(bytes.as_chunks::<2>().0) {
                            *out = pair[0] | pair[1] << 4;
                        }
                    }
                    (_, 8) => {
                        let signed = bytes.map(|byte| byte ^ L::WIDE_ZERO);
                        out.copy_from_slice(&signed);
                    }
                    _ => out.copy_from_slice(&bytes),
                }
            }
            codes = &mut codes[weights * self.bits as usize / 8..];
            scales = &mut scales[weights / B::GROUP..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dequantize, quantize};

    #[test]
    fn scales_times_codes_are_the_weights() {
        for &dtype in GgmlDType::ALL {
            let is_super = dtype.block_len() == 256;
            // Miri takes minutes to look for the scales of a super-block.
            let (n, k) = match cfg!(miri) {
                true => (1, if is_super { 256 } else { 96 }),
                false => (3, if is_super { 512 } else { 608 }),
            };
            let values: Vec<f32> = (0..n * k).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
            let mut weight = vec![0; n * dtype.row_bytes(k).unwrap()];
            if cfg!(miri) && is_super || quantize(dtype, &values, &mut weight).is_err() {
                // A format that can only be read: any bytes are its blocks.
                weight
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, byte)| *byte = (i * 29 % 60) as u8);
            }
            let mut want = vec![0.0; n * k];
            dequantize(dtype, &weight, &mut want).unwrap();
            let Some(split) = Split::new(dtype, &weight, n, k).unwrap() else {
                assert_eq!(dtype.block_len(), 1, "{dtype}");
                continue;
            };
            let form = Split::form(dtype).unwrap();
            assert_eq!(
                (form.bits, form.group),
                (split.bits, split.group),
                "{dtype}"
            );
            let exact = |&value: &f32| half::f16::from_f32(value).to_f32() == value;
            let mut numbers = split.scales.iter().flatten();
            assert!(!form.halves || numbers.all(exact), "{dtype}");
            for (at, want) in want.iter().enumerate() {
                let code = match split.bits {
                    4 => f32::from(split.codes[at / 2] >> (at % 2 * 4) & 15),
                    _ => f32::from(split.codes[at] as i8),
                };
                let [scale, offset] = split.scales[at / split.group];
                let got = scale * code + offset;
                let near = (got - want).abs() <= 1e-5 * (want.abs() + offset.abs());
                assert!(
                    near || got == *want,
                    "{dtype} element {at}: {got}, wanted {want}"
                );
            }
        }
    }

    #[test]
    fn other_lengths_are_refused() {
        assert!(Split::new(GgmlDType::Q8_0, &[0; 33], 1, 32).is_err());
        assert!(Split::new(GgmlDType::Q8_0, &[0; 34], 1, 33).is_err());
        assert!(Split::new(GgmlDType::Q8_0, &[], usize::MAX, 64).is_err());
    }
}
