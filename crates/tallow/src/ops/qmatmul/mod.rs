//! Products with block-quantized weights: `out = x · Wᵀ`.
//!
//! x `[…, k]`, W `[n, k]` as GGUF blocks (or plain f32, f16, bf16), out `[…, n]`, f32. The weights
//! stay as their file has them, over its mapping, or interleaved for speed
//! ([`QMatMul`](crate::quantized::QMatMul)); x is rounded to 8 bits a value with a scale for each
//! group where W is quantized. The kernels are in `tallow-quant`.

mod cases;

use super::{Family, OpInfo};
use crate::cpu::{CpuView, copy, recycle};
use crate::op::{Gradients, Op, apply};
use crate::quantized::QMatMul;
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor, bail};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub(super) const FAMILY: Family = Family {
    name: "qmatmul",
    ops: &[OpInfo {
        name: "qmatmul",
        dtypes: &[DType::F32],
    }],
    cases: cases::cases,
};

struct QuantizedMatMul(QMatMul);

impl Op for QuantizedMatMul {
    fn name(&self) -> &'static str {
        "qmatmul"
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (x, [rows, columns]) = (inputs[0], self.0.dims());
        if x.dtype() != DType::F32 {
            return Err(Error::UnsupportedDTypeForOp(x.dtype(), "qmatmul"));
        }
        match x.dims() {
            [batch @ .., inner] if *inner == columns => {
                Ok((Shape::from([batch, &[rows]].concat()), DType::F32))
            }
            dims => bail!(
                "qmatmul: x {dims:?} does not fit weights [{rows}, {columns}]; wants […, {columns}]"
            ),
        }
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let (x, out) = (inputs[0].typed::<f32>()?, out.as_mut_slice::<f32>()?);
        if let Some(x) = x.contiguous() {
            return self.0.multiply(x, out);
        }
        let mut packed = recycle::take(x.count());
        copy::copy(x, &mut packed);
        let done = self.0.multiply(&packed, out);
        recycle::give(packed);
        done
    }

    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let weight = self.0.weight().dequantize(inputs[0].device())?;
        let [rows, columns] = self.0.dims();
        let upstream_rows = upstream.reshape(((), rows))?;
        let gradient = upstream_rows.matmul(&weight.reshape((rows, columns))?)?;
        Ok(smallvec![Some(gradient.reshape(inputs[0].shape())?)])
    }
}

/// `x · Wᵀ`: x `[…, k]` of f32 and W `[n, k]` give `[…, n]`.
pub(crate) fn qmatmul(weight: &QMatMul, x: &Tensor) -> Result<Tensor> {
    apply(QuantizedMatMul(weight.clone()), &[x])
}
