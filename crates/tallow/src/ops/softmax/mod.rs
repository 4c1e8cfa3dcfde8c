//! Softmax: eˣ, divided by its sum over one dimension.
//!
//! The greatest element is subtracted first, so that nothing overflows. A row of negative
//! infinities (all masked) gives zeros; a NaN makes its row NaN. Sums are in f32, for f64 in f64.

mod cases;
mod cpu;
mod gpu;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::shape::Dim;
use crate::{CpuStorage, D, DType, Error, Result, Shape, Tensor};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "softmax",
    ops: &[OpInfo {
        name: "softmax",
        dtypes: &DType::FLOATS,
    }],
    cases: cases::cases,
    draw: cases::draw,
};

struct Softmax;

impl Op for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (shape, dtype) = (inputs[0].shape().clone(), inputs[0].dtype());
        match DType::FLOATS.contains(&dtype) {
            true => Ok((shape, dtype)),
            false => Err(Error::UnsupportedDTypeForOp(dtype, "softmax")),
        }
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::softmax(inputs[0], out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::softmax(inputs[0], out)
    }
    fn gradient(&self, _: &[&Tensor], y: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        // y · (u − Σ u·y)
        let mean = upstream.mul(y)?.sum_keepdim(D::Minus1)?;
        Ok(smallvec![Some(y.mul(&upstream.broadcast_sub(&mean)?)?)])
    }
}

/// Softmax over the last dimension; shape and dtype stay.
pub fn softmax_last_dim(x: &Tensor) -> Result<Tensor> {
    softmax(x, D::Minus1)
}

/// Softmax over one dimension; shape and dtype stay.
///
/// ```
/// use tallow::{D, Device, Tensor, ops};
/// let x = Tensor::new(&[[0f32, 0.], [f32::NEG_INFINITY, 3.]], &Device::Cpu)?;
/// assert_eq!(ops::softmax(&x, D::Minus1)?.to_vec2::<f32>()?, [[0.5, 0.5], [0., 1.]]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn softmax<I: Dim>(x: &Tensor, dim: I) -> Result<Tensor> {
    let dim = dim.to_index(x.shape(), "softmax")?;
    let last = x.rank() - 1;
    if dim == last {
        return apply(Softmax, &[x]);
    }
    apply(Softmax, &[&x.transpose(dim, last)?])?
        .transpose(dim, last)?
        .contiguous()
}
