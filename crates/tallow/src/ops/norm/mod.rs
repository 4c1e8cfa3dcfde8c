//! Normalisation over the last dimension, of n elements.
//!
//! - [`rms_norm`]: `x / √(Σ x² / n + eps) · weight` (Zhang and Sennrich 2019);
//! - [`layer_norm`]: `(x − mean) / √(variance + eps) · weight + bias` (Ba et al. 2016), the
//!   variance being Σ (x − mean)² / n.
//!
//! x `[…, n]`; weight and bias `[n]`, of x's dtype. Sums are in f32, for f64 in f64; narrow types
//! are rounded once.

mod cases;
mod cpu;
mod gpu;
mod gradient;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor, bail};

const DTYPES: &[DType] = &[DType::F32, DType::F64, DType::F16, DType::BF16];

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "norm",
    ops: &[
        OpInfo {
            name: "rms_norm",
            dtypes: DTYPES,
        },
        OpInfo {
            name: "layer_norm",
            dtypes: DTYPES,
        },
    ],
    cases: cases::cases,
    draw: cases::draw,
};

/// Which norm; the operands are x and weight, and for a layer norm the bias.
struct Norm {
    name: &'static str,
    eps: f32,
}

impl Op for Norm {
    fn name(&self) -> &'static str {
        self.name
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (op, x) = (self.name, inputs[0]);
        let Some(&last) = x.dims().last() else {
            bail!("{op}: x is a scalar; wants rank 1 or more");
        };
        for scale in &inputs[1..] {
            if scale.dims() != [last] {
                bail!(
                    "{op}: x {:?} wants weight and bias of [{last}], got {:?}",
                    x.shape(),
                    scale.shape()
                );
            }
            if scale.dtype() != x.dtype() {
                return Err(Error::DTypeMismatchBinaryOp {
                    lhs: x.dtype(),
                    rhs: scale.dtype(),
                    op,
                });
            }
        }
        match DTYPES.contains(&x.dtype()) {
            true => Ok((x.shape().clone(), x.dtype())),
            false => Err(Error::UnsupportedDTypeForOp(x.dtype(), op)),
        }
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::norm(inputs, self.eps, out)
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::norm(inputs, self.eps, out)
    }

    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        gradient::norm(self.name, self.eps, inputs, upstream)
    }
}

/// `x / √(mean of squares + eps) · weight`, over the last dimension. x `[…, n]`, weight `[n]`.
///
/// ```
/// use tallow::{Device, Tensor, ops};
/// let x = Tensor::new(&[3f32, 3., 3.], &Device::Cpu)?;
/// let weight = Tensor::new(&[1f32, 2., 4.], &Device::Cpu)?;
/// assert_eq!(ops::rms_norm(&x, &weight, 0.0)?.to_vec1::<f32>()?, [1., 2., 4.]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    apply(
        Norm {
            name: "rms_norm",
            eps,
        },
        &[x, weight],
    )
}

/// `(x − mean) / √(variance + eps) · weight + bias`, over the last dimension. x `[…, n]`, weight
/// and bias `[n]`.
///
/// ```
/// use tallow::{Device, Tensor, ops};
/// let x = Tensor::new(&[1f32, 3.], &Device::Cpu)?;
/// let (weight, bias) = (Tensor::new(&[2f32, 2.], &Device::Cpu)?, x.affine(0., 5.)?);
/// assert_eq!(ops::layer_norm(&x, &weight, &bias, 0.0)?.to_vec1::<f32>()?, [3., 7.]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
    apply(
        Norm {
            name: "layer_norm",
            eps,
        },
        &[x, weight, bias],
    )
}
