//! Products with block-quantized weights: `out = x · Wᵀ`.
//!
//! x `[…, k]`, W `[n, k]` as GGUF blocks (or plain f32, f16, bf16), out `[…, n]`, f32. The weights
//! stay as their file has them, over its mapping, or interleaved for speed
//! ([`QMatMul`](crate::quantized::QMatMul)); x is rounded to 8 bits a value with a scale for each
//! group where W is quantized. `experts.rs` has the products with one of several matrices for each
//! row of x, `joined.rs` those with several matrices at once. The kernels are in `tallow-quant`.

mod cases;
mod experts;
mod experts_gpu;
mod gpu;
mod joined;

use super::{Family, OpInfo};
use crate::cpu::{CpuView, copy, recycle};
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::quantized::QTensor;
use crate::{CpuStorage, CustomOp1, DType, Error, Layout, Result, Shape, Tensor, bail};
pub(crate) use experts::qmatmul_of_experts;
pub(crate) use joined::qmatmul_joined;
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub(super) const FAMILY: Family = Family {
    name: "qmatmul",
    ops: &[
        OpInfo {
            name: "qmatmul",
            dtypes: &[DType::F32],
        },
        OpInfo {
            name: "indexed_moe_forward",
            dtypes: &[DType::F32],
        },
    ],
    cases: cases::cases,
    draw: cases::draw,
};

struct QuantizedMatMul(QTensor);

impl Op for QuantizedMatMul {
    fn name(&self) -> &'static str {
        "qmatmul"
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let x = inputs[0];
        Ok((product_shape(&self.0, x.dtype(), x.dims())?, DType::F32))
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let out = out.as_mut_slice::<f32>()?;
        with_rows(inputs[0], |x| multiply(&self.0, x, out))
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::multiply(&self.0, inputs[0], out)
    }

    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let weight = self.0.dequantize(inputs[0].device())?;
        let upstream_rows = upstream.reshape(((), weight.dims2()?.0))?;
        let gradient = upstream_rows.matmul(&weight)?;
        Ok(smallvec![Some(gradient.reshape(inputs[0].shape())?)])
    }
}

/// The shape of `x · Wᵀ`.
fn product_shape(weight: &QTensor, dtype: DType, dims: &[usize]) -> Result<Shape> {
    let (rows, columns) = weight.shape().dims2()?;
    if dtype != DType::F32 {
        return Err(Error::UnsupportedDTypeForOp(dtype, "qmatmul"));
    }
    match dims {
        [batch @ .., inner] if *inner == columns => Ok([batch, &[rows]].concat().into()),
        dims => bail!(
            "qmatmul: x {dims:?} does not fit weights [{rows}, {columns}]; wants […, {columns}]"
        ),
    }
}

/// As a custom operation, for those who apply it so; gradients are those of [`qmatmul`].
impl CustomOp1 for QTensor {
    fn name(&self) -> &'static str {
        "qmatmul"
    }

    fn cpu_fwd(&self, s: &CpuStorage, l: &Layout) -> Result<(CpuStorage, Shape)> {
        let shape = product_shape(self, s.dtype(), l.dims())?;
        let mut out = vec![0.0; shape.checked_elem_count()?];
        if !out.is_empty() {
            with_rows(CpuView::new(s, l)?, |x| multiply(self, x, &mut out))?;
        }
        Ok((CpuStorage::F32(out), shape))
    }

    fn bwd(&self, arg: &Tensor, res: &Tensor, grad_res: &Tensor) -> Result<Option<Tensor>> {
        let gradients = QuantizedMatMul(self.share()).gradient(&[arg], res, grad_res)?;
        Ok(gradients.into_iter().next().flatten())
    }
}

/// Calls `f` with the row-major elements of a view.
fn with_rows<R>(view: CpuView<'_>, f: impl FnOnce(&[f32]) -> Result<R>) -> Result<R> {
    let view = view.typed::<f32>()?;
    if let Some(rows) = view.contiguous() {
        return f(rows);
    }
    let mut packed = recycle::take(view.count());
    copy::copy(view, &mut packed);
    let done = f(&packed);
    recycle::give(packed);
    done
}

/// `out[m, n] = x[m, k] · Wᵀ`
fn multiply(weight: &QTensor, x: &[f32], out: &mut [f32]) -> Result<()> {
    let (n, k) = weight.shape().dims2()?;
    let m = x.len().checked_div(k).unwrap_or(out.len() / n.max(1));
    match weight.repacked() {
        Some(repacked) => repacked.matmul(x, m, out)?,
        None => tallow_quant::matmul(weight.dtype(), weight.blocks(), n, k, x, m, out)?,
    }
    Ok(())
}

/// `x · Wᵀ`: x `[…, k]` of f32 and W `[n, k]` give `[…, n]`.
pub(crate) fn qmatmul(weight: &QTensor, x: &Tensor) -> Result<Tensor> {
    match x.device().is_cpu() {
        true => apply(QuantizedMatMul(weight.share()), &[x]),
        // Kernels take rows one behind the other.
        false => apply(QuantizedMatMul(weight.share()), &[&x.contiguous()?]),
    }
}
