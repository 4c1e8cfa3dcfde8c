//! Blocks in a GPU's memory: codes and scales apart, plain floats as they are.

use super::QTensor;
use crate::gpu::{GpuDevice, dtype_word};
use crate::{DType, Result, f16};
use tallow_gpu::{Buffer, Variant};
use tallow_quant::{GgmlDType, Split};

/// A matrix `[n, k]`, or several, row by row.
#[derive(Debug)]
pub(crate) struct Uploaded {
    pub(crate) buffer: Buffer,
    pub(crate) form: Form,
}

/// What the buffer holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// Floats.
    Plain(DType),
    /// Codes, and behind them scale and offset of each group.
    Codes {
        /// Bits of a code: 4 or 8.
        bits: u32,
        /// Weights that share a scale.
        group: u32,
        /// Scales are halves; else f32.
        halves: bool,
        /// Where the scales start, in bytes.
        scales_at: u64,
    },
}

/// How a matrix lies in a GPU's memory: what a kernel that reads it with
/// [`WEIGHTS_HEADER`](crate::gpu::WEIGHTS_HEADER) is told.
#[derive(Clone, Copy, Debug)]
pub struct GpuWeights(pub(super) Form);

impl GpuWeights {
    /// Adds what the header wants defined: `BITS`, then `GROUP` and `SCALE`, or `WT`.
    pub fn define(self, variant: Variant) -> Variant {
        match self.0 {
            Form::Plain(dtype) => variant.define("BITS", 0).define("WT", dtype_word(dtype)),
            Form::Codes {
                bits,
                group,
                halves,
                ..
            } => {
                let scale = dtype_word(if halves { DType::F16 } else { DType::F32 });
                let variant = variant.define("BITS", bits).define("GROUP", group);
                variant.define("SCALE", scale)
            }
        }
    }

    /// Where the scales start, in bytes; 0 for floats.
    pub fn scales_at(self) -> u64 {
        match self.0 {
            Form::Plain(_) => 0,
            Form::Codes { scales_at, .. } => scales_at,
        }
    }

    /// Whether one variant of a kernel reads both.
    pub fn is_like(self, other: Self) -> bool {
        let without_place = |form| match form {
            Form::Plain(dtype) => (0, 0, dtype),
            Form::Codes {
                bits,
                group,
                halves,
                ..
            } => (bits, group, if halves { DType::F16 } else { DType::F32 }),
        };
        without_place(self.0) == without_place(other.0)
    }
}

/// What scales start at a multiple of, so that threads may read them as words.
const ALIGNMENT: usize = 16;

impl Uploaded {
    /// All of it, as an operand of a launch.
    pub(crate) fn whole(&self) -> (&Buffer, std::ops::Range<usize>) {
        (&self.buffer, 0..self.buffer.bytes())
    }

    pub(super) fn new(gpu: &GpuDevice, tensor: &QTensor) -> Result<Self> {
        let columns = tensor.shape().dims().last().copied().unwrap_or(1);
        let elements = tensor.shape().elem_count();
        let rows = elements.checked_div(columns).unwrap_or(0);
        let (dtype, blocks) = (tensor.dtype(), tensor.blocks());
        let Some(form) = Split::form(dtype) else {
            let form = Form::Plain(match dtype {
                GgmlDType::F16 => DType::F16,
                GgmlDType::BF16 => DType::BF16,
                _ => DType::F32,
            });
            let buffer = gpu.buffer(blocks.len().max(1))?;
            if !gpu.runs_nothing() {
                gpu.write(&buffer, 0, blocks)?;
            }
            return Ok(Self { buffer, form });
        };
        let code_bytes = elements / 8 * form.bits as usize;
        let scales_at = code_bytes.next_multiple_of(ALIGNMENT);
        let make = |halves: bool| -> Result<Self> {
            let pair_bytes = if halves { 4 } else { 8 };
            let bytes = scales_at + elements / form.group * pair_bytes;
            let form = Form::Codes {
                bits: form.bits,
                group: form.group as u32,
                halves,
                scales_at: scales_at as u64,
            };
            let buffer = gpu.buffer(bytes.max(1))?;
            Ok(Self { buffer, form })
        };
        if gpu.runs_nothing() {
            return make(form.halves);
        }
        let Some(split) = Split::new(dtype, blocks, rows, columns)? else {
            crate::bail!("upload: {dtype} has a form and no codes");
        };
        let narrow = |value: f32| f16::from_f32(value);
        let exact = |pair: &[f32; 2]| pair.iter().all(|&value| narrow(value).to_f32() == value);
        // Only a broken file's scales pass what halves hold.
        let halves = form.halves && split.scales.iter().all(exact);
        let uploaded = make(halves)?;
        gpu.write(&uploaded.buffer, 0, &split.codes)?;
        if halves {
            let narrowed: Vec<[f16; 2]> =
                split.scales.iter().map(|pair| pair.map(narrow)).collect();
            gpu.write(&uploaded.buffer, scales_at, bytemuck::cast_slice(&narrowed))?;
        } else {
            gpu.write(
                &uploaded.buffer,
                scales_at,
                bytemuck::cast_slice(&split.scales),
            )?;
        }
        Ok(uploaded)
    }
}
