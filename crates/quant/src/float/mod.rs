//! Weights that are plain floats: f32, f16 and bf16 as blocks of one element.
//!
//! 16-bit weights widen to f32 in registers; all sums are f32. Few activation rows go through
//! `rows`: dot products of four weight rows at a time, limited by the reading of the weights. Many
//! go through `tile`: weights transposed into tiles, then a register tile of outer products.

mod rows;
mod tile;

use bytemuck::Pod;
use half::{bf16, f16};
use tallow_simd::Simd;

use crate::matmul::MatmulDims;

/// From this many activation rows on weights are transposed to tiles: that costs about as much as
/// the dot products of some twenty rows.
const TILE_MIN_ROWS: usize = 24;

/// A float type of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatFormat {
    F32,
    F16,
    Bf16,
}

impl FloatFormat {
    pub(crate) fn element_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }
}

/// A weight element that loads as f32.
trait Element: Pod + Send + Sync {
    /// The first `F32_LANES` elements.
    fn load<S: Simd>(simd: S, values: &[Self]) -> S::F32;
    /// Fewer elements than a vector has lanes; the others are 0.
    fn load_partial<S: Simd>(simd: S, values: &[Self]) -> S::F32;
}

impl Element for f32 {
    #[inline(always)]
    fn load<S: Simd>(simd: S, values: &[Self]) -> S::F32 {
        simd.load_f32(values)
    }

    #[inline(always)]
    fn load_partial<S: Simd>(simd: S, values: &[Self]) -> S::F32 {
        simd.load_partial_f32(values)
    }
}

impl Element for f16 {
    #[inline(always)]
    fn load<S: Simd>(simd: S, values: &[Self]) -> S::F32 {
        simd.load_f16(values)
    }

    #[inline(always)]
    fn load_partial<S: Simd>(simd: S, values: &[Self]) -> S::F32 {
        simd.load_partial_f16(values)
    }
}

impl Element for bf16 {
    #[inline(always)]
    fn load<S: Simd>(simd: S, values: &[Self]) -> S::F32 {
        simd.load_bf16(values)
    }

    #[inline(always)]
    fn load_partial<S: Simd>(simd: S, values: &[Self]) -> S::F32 {
        simd.load_partial_bf16(values)
    }
}

/// The product with float weights. Lengths are checked, none is 0.
pub(crate) fn matmul(
    format: FloatFormat,
    weight: &[u8],
    lhs: &[f32],
    dims: MatmulDims,
    out: &mut [f32],
) {
    match format {
        FloatFormat::F32 => typed::<f32>(weight, lhs, dims, out),
        FloatFormat::F16 => typed::<f16>(weight, lhs, dims, out),
        FloatFormat::Bf16 => typed::<bf16>(weight, lhs, dims, out),
    }
}

fn typed<T: Element>(weight: &[u8], lhs: &[f32], dims: MatmulDims, out: &mut [f32]) {
    // A file may place them at an odd address; formats that pad tensors do not, so a copy is rare.
    let aligned;
    let weight: &[T] = match bytemuck::try_cast_slice(weight) {
        Ok(weight) => weight,
        Err(_) => {
            aligned = bytemuck::pod_collect_to_vec::<u8, T>(weight);
            &aligned
        }
    };
    if dims.m < TILE_MIN_ROWS {
        rows::matmul(weight, lhs, dims, out);
    } else {
        tile::matmul(weight, lhs, dims, out);
    }
}

/// Widens little-endian elements.
pub(crate) fn widen(format: FloatFormat, bytes: &[u8], out: &mut [f32]) {
    match format {
        FloatFormat::F32 => {
            for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *out = f32::from_le_bytes(*bytes);
            }
        }
        FloatFormat::F16 => {
            for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<2>().0) {
                *out = f16::from_le_bytes(*bytes).to_f32();
            }
        }
        FloatFormat::Bf16 => {
            for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<2>().0) {
                *out = bf16::from_le_bytes(*bytes).to_f32();
            }
        }
    }
}

/// Narrows to little-endian elements, rounding to nearest, ties to even.
pub(crate) fn narrow(format: FloatFormat, values: &[f32], out: &mut [u8]) {
    match format {
        FloatFormat::F32 => {
            for (out, value) in out.as_chunks_mut::<4>().0.iter_mut().zip(values) {
                *out = value.to_le_bytes();
            }
        }
        FloatFormat::F16 => {
            for (out, &value) in out.as_chunks_mut::<2>().0.iter_mut().zip(values) {
                *out = f16::from_f32(value).to_le_bytes();
            }
        }
        FloatFormat::Bf16 => {
            for (out, &value) in out.as_chunks_mut::<2>().0.iter_mut().zip(values) {
                *out = bf16::from_f32(value).to_le_bytes();
            }
        }
    }
}
