//! Normalisation over the last dimension.

use crate::wide::wide;
use tallow::{D, Result, Tensor, ops};

/// `x / √(mean of squares + eps) · alpha`, over the last dimension. x `[…, n]`, alpha `[n]`.
pub fn rms_norm(xs: &Tensor, alpha: &Tensor, eps: f32) -> Result<Tensor> {
    ops::rms_norm(xs, alpha, eps)
}

/// [`rms_norm`] for an alpha of any shape and dtype that multiplies x.
///
/// ```
/// use tallow::{Device, Tensor};
/// let x = Tensor::new(&[[3f32, 3.], [2., 2.]], &Device::Cpu)?;
/// let alpha = Tensor::new(&[[1f32, 1.], [5., 7.]], &Device::Cpu)?;
/// let y = tallow_nn::ops::rms_norm_slow(&x, &alpha, 0.0)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[1., 1.], [5., 7.]]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn rms_norm_slow(x: &Tensor, alpha: &Tensor, eps: f32) -> Result<Tensor> {
    if fits(x, alpha) {
        return rms_norm(x, alpha, eps);
    }
    let own = wide(x.dtype());
    let wide_x = x.to_dtype(own)?;
    let mean = wide_x.sqr()?.mean_keepdim(D::Minus1)?;
    let root = mean.affine(1.0, f64::from(eps))?.sqrt()?;
    let scaled = wide_x
        .broadcast_div(&root)?
        .broadcast_mul(&alpha.to_dtype(own)?)?;
    scaled.to_dtype(x.dtype())
}

/// `(x − mean) / √(variance + eps) · alpha + beta`, over the last dimension. x `[…, n]`, alpha and
/// beta `[n]`.
pub fn layer_norm(xs: &Tensor, alpha: &Tensor, beta: &Tensor, eps: f32) -> Result<Tensor> {
    ops::layer_norm(xs, alpha, beta, eps)
}

/// [`layer_norm`] for alpha and beta of any shape and dtype that go with x.
pub fn layer_norm_slow(x: &Tensor, alpha: &Tensor, beta: &Tensor, eps: f32) -> Result<Tensor> {
    if fits(x, alpha) && fits(x, beta) {
        return layer_norm(x, alpha, beta, eps);
    }
    let own = wide(x.dtype());
    let wide_x = x.to_dtype(own)?;
    let centred = wide_x.broadcast_sub(&wide_x.mean_keepdim(D::Minus1)?)?;
    let variance = centred.sqr()?.mean_keepdim(D::Minus1)?;
    let normal = centred.broadcast_div(&variance.affine(1.0, f64::from(eps))?.sqrt()?)?;
    let scaled = normal.broadcast_mul(&alpha.to_dtype(own)?)?;
    scaled
        .broadcast_add(&beta.to_dtype(own)?)?
        .to_dtype(x.dtype())
}

fn fits(x: &Tensor, scale: &Tensor) -> bool {
    scale.dtype() == x.dtype() && scale.rank() == 1 && scale.dims().last() == x.dims().last()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, check_gradients, numbers, values};
    use tallow::DType;

    const EPS: f64 = 1e-5;

    /// Both norms of rows of 4, by a loop.
    fn by_a_loop(x: &[f64], alpha: &[f64], beta: Option<&[f64]>) -> Vec<f64> {
        let row = |x: &[f64]| -> Vec<f64> {
            let mean = beta.map_or(0.0, |_| x.iter().sum::<f64>() / 4.0);
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4.0;
            let normal = |at: usize| (x[at] - mean) / (variance + EPS).sqrt() * alpha[at];
            (0..4)
                .map(|at| normal(at) + beta.map_or(0.0, |beta| beta[at]))
                .collect()
        };
        x.chunks(4).flat_map(row).collect()
    }

    #[test]
    fn both_ways_give_what_a_loop_gives() -> Result<()> {
        let (x, alpha) = (numbers(&[2, 3, 4], DType::F64)?, numbers(&[4], DType::F64)?);
        let beta = alpha.affine(-2.0, 1.0)?;
        let (x_values, a, b) = (values(&x)?, values(&alpha)?, values(&beta)?);
        let rms = by_a_loop(&x_values, &a, None);
        let layer = by_a_loop(&x_values, &a, Some(&b));
        for (dtype, tolerance) in [(DType::F64, 1e-6), (DType::F32, 1e-5), (DType::F16, 4e-3)] {
            let [x, alpha, beta] = [&x, &alpha, &beta].map(|x| x.to_dtype(dtype));
            let (x, alpha, beta) = (x?, alpha?, beta?);
            let (row_a, row_b) = (alpha.unsqueeze(0)?, beta.unsqueeze(0)?);
            let eps = EPS as f32;
            assert_near(&rms_norm(&x, &alpha, eps)?, &[2, 3, 4], &rms, tolerance);
            assert_near(
                &rms_norm_slow(&x, &alpha, eps)?,
                &[2, 3, 4],
                &rms,
                tolerance,
            );
            assert_near(
                &rms_norm_slow(&x, &row_a, eps)?,
                &[2, 3, 4],
                &rms,
                tolerance,
            );
            let fast = layer_norm(&x, &alpha, &beta, eps)?;
            assert_near(&fast, &[2, 3, 4], &layer, tolerance);
            let slow = layer_norm_slow(&x, &row_a, &row_b, eps)?;
            assert_near(&slow, &[2, 3, 4], &layer, tolerance);
            assert_eq!(slow.dtype(), dtype);
            assert!(rms_norm(&x, &row_a, eps).is_err());
        }
        Ok(())
    }

    #[test]
    fn gradients() -> Result<()> {
        let operands = [
            numbers(&[2, 3, 4], DType::F64)?,
            numbers(&[4], DType::F64)?,
            numbers(&[4], DType::F64)?.affine(0.5, 0.2)?,
        ];
        let eps = EPS as f32;
        check_gradients(&operands[..2], |x| rms_norm(&x[0], &x[1], eps))?;
        check_gradients(&operands[..2], |x| {
            rms_norm_slow(&x[0], &x[1].unsqueeze(0)?, eps)
        })?;
        check_gradients(&operands, |x| layer_norm(&x[0], &x[1], &x[2], eps))?;
        check_gradients(&operands, |x| {
            layer_norm_slow(&x[0], &x[1].unsqueeze(0)?, &x[2], eps)
        })?;
        // The gradient of a view that is not contiguous.
        check_gradients(&operands[..2], |x| {
            rms_norm(&x[0].transpose(0, 1)?.narrow(0, 1, 2)?, &x[1], eps)?
                .broadcast_mul(&x[0].narrow(1, 0, 2)?.transpose(0, 1)?)
        })
    }
}
