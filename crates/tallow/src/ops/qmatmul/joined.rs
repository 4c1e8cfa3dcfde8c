//! Several matrices times the same x, in one pass: x is rounded once, and small matrices share the
//! threads.

use super::{product_shape, qmatmul, with_rows};
use crate::cpu::CpuView;
use crate::op::{Op, apply};
use crate::quantized::QTensor;
use crate::{CpuStorage, D, DType, Result, Shape, Tensor};
use smallvec::SmallVec;
use tallow_quant::Repacked;

/// The products side by side along the last dimension. Not used where gradients are taken.
struct Joined(SmallVec<[QTensor; 3]>);

impl Joined {
    /// The weights' interleaved forms, if all have one.
    fn repacked(&self) -> Option<SmallVec<[&Repacked; 3]>> {
        self.0.iter().map(QTensor::repacked).collect()
    }
}

impl Op for Joined {
    fn name(&self) -> &'static str {
        "qmatmul"
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let x = inputs[0];
        let mut dims = x.dims().to_vec();
        let mut total = 0;
        for weight in &self.0 {
            dims = product_shape(weight, x.dtype(), x.dims())?.into_dims();
            total += weight.shape().dims()[0];
        }
        if let Some(last) = dims.last_mut() {
            *last = total;
        }
        Ok((Shape::from(dims), DType::F32))
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let out = out.as_mut_slice::<f32>()?;
        let Some(parts) = self.repacked() else {
            crate::bail!("qmatmul: weights that are not interleaved cannot be joined");
        };
        let [_, columns] = parts[0].shape();
        let rows = |x: &[f32]| x.len() / columns.max(1);
        with_rows(inputs[0], |x| {
            Ok(tallow_quant::matmul_joined(&parts, x, rows(x), out)?)
        })
    }
}

/// Rows of x up to which joining pays: with more, each product has work enough for all threads, and
/// results of their own are contiguous.
const FEW_ROWS: usize = 8;

/// `x · Wᵀ` for each of several matrices of the same row length.
pub(crate) fn qmatmul_joined(weights: &[&QTensor], x: &Tensor) -> Result<Vec<Tensor>> {
    if !x.device().is_cpu() {
        return weights.iter().map(|weight| qmatmul(weight, x)).collect();
    }
    let joined = Joined(weights.iter().map(|weight| weight.share()).collect());
    let joins = joined
        .repacked()
        .is_some_and(|parts| tallow_quant::joins(&parts));
    let rows = x.elem_count() / x.dims().last().copied().unwrap_or(1).max(1);
    if !joins || rows > FEW_ROWS || x.track_op() {
        return weights.iter().map(|weight| qmatmul(weight, x)).collect();
    }
    let out = apply(joined, &[x])?;
    let mut start = 0;
    let part = |weight: &&QTensor| {
        let rows = weight.shape().dims()[0];
        start += rows;
        out.narrow(D::Minus1, start - rows, rows)
    };
    weights.iter().map(part).collect()
}
