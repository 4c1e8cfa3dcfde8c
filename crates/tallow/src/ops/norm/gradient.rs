//! The gradients of the norms. With x̂ the normalised x, r the factor 1 / √(… + eps), and g = u · w
//! the gradient with respect to x̂:
//!
//! - rms norm: r · (g − x̂ · mean(g · x̂));
//! - layer norm: r · (g − mean(g) − x̂ · mean(g · x̂));
//! - weight: Σ u · x̂ over all rows; bias: Σ u.

use crate::op::Gradients;
use crate::{D, DType, Result, Tensor};
use smallvec::smallvec;

pub(super) fn norm(name: &str, eps: f32, inputs: &[&Tensor], u: &Tensor) -> Result<Gradients> {
    let dtype = u.dtype();
    // Sums of narrow floats are kept in f32, as in the norm itself.
    let wide = |x: &Tensor| match dtype {
        DType::F64 => Ok(x.clone()),
        _ => x.to_dtype(DType::F32),
    };
    let (x, weight, u) = (wide(inputs[0])?, wide(inputs[1])?, wide(u)?);
    let without_mean = |x: &Tensor| x.broadcast_sub(&x.mean_keepdim(D::Minus1)?);
    let centred = match name {
        // Twice: what the mean loses when it is rounded shows where a row is nearly constant.
        "layer_norm" => without_mean(&without_mean(&x)?)?,
        _ => x,
    };
    let mean_square = centred.sqr()?.mean_keepdim(D::Minus1)?;
    let factor = mean_square.affine(1.0, f64::from(eps))?.rsqrt()?;
    let unit = centred.broadcast_mul(&factor)?;
    let g = u.broadcast_mul(&weight)?;
    let along = unit.broadcast_mul(&g.mul(&unit)?.mean_keepdim(D::Minus1)?)?;
    let mut for_x = g.sub(&along)?;
    if name == "layer_norm" {
        for_x = for_x.broadcast_sub(&g.mean_keepdim(D::Minus1)?)?;
    }
    let for_x = for_x.broadcast_mul(&factor)?.to_dtype(dtype)?;
    let for_weight = u.mul(&unit)?.sum_to(weight.shape())?.to_dtype(dtype)?;
    if inputs.len() < 3 {
        return Ok(smallvec![Some(for_x), Some(for_weight)]);
    }
    let for_bias = u.sum_to(weight.shape())?.to_dtype(dtype)?;
    Ok(smallvec![Some(for_x), Some(for_weight), Some(for_bias)])
}
