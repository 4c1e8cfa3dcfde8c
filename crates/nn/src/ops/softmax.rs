//! Softmax and its logarithm.

use crate::wide::in_wide;
use tallow::Dim;
use tallow::{Result, Tensor, ops};

/// eˣ, divided by its sum over one dimension. A row that is all masked (negative infinities) gives
/// zeros.
///
/// ```
/// use tallow::{Device, Tensor};
/// let x = Tensor::new(&[[0f32, 0.], [f32::NEG_INFINITY, 3.]], &Device::Cpu)?;
/// assert_eq!(tallow_nn::ops::softmax(&x, 1)?.to_vec2::<f32>()?, [[0.5, 0.5], [0., 1.]]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn softmax<D: Dim>(xs: &Tensor, dim: D) -> Result<Tensor> {
    ops::softmax(xs, dim)
}

/// [`softmax`] over the last dimension.
pub fn softmax_last_dim(xs: &Tensor) -> Result<Tensor> {
    ops::softmax_last_dim(xs)
}

/// The logarithm of softmax, `x − ln Σ eˣ`. The greatest element is subtracted first, so that
/// nothing overflows.
///
/// ```
/// use tallow::{Device, Tensor};
/// let x = Tensor::new(&[1000f32, 1000.], &Device::Cpu)?;
/// let y = tallow_nn::ops::log_softmax(&x, 0)?.to_vec1::<f32>()?;
/// assert!((y[0] + 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn log_softmax<D: Dim>(xs: &Tensor, d: D) -> Result<Tensor> {
    let dim = d.to_index(xs.shape(), "log_softmax")?;
    if xs.elem_count() == 0 {
        return Ok(xs.clone());
    }
    in_wide(xs, |x| {
        // The shift cancels, and so does its gradient.
        let shifted = x.broadcast_sub(&x.detach().max_keepdim(dim)?)?;
        shifted.broadcast_sub(&shifted.exp()?.sum_keepdim(dim)?.log()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, check_gradients, numbers, values};
    use tallow::{D, DType, Device};

    #[test]
    fn softmax_of_empty_rows_is_empty() -> Result<()> {
        for dims in [[2, 0, 3], [0, 2, 3], [2, 3, 0]] {
            for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
                let x = Tensor::zeros(dims, dtype, &Device::Cpu)?;
                for dim in 0..3 {
                    assert_eq!(softmax(&x, dim)?.dims(), dims);
                    assert_eq!(log_softmax(&x, dim)?.dims(), dims);
                }
                assert_eq!(softmax_last_dim(&x)?.dims(), dims);
            }
        }
        Ok(())
    }

    #[test]
    fn long_rows_of_narrow_floats_sum_to_one() -> Result<()> {
        for (dtype, len) in [
            (DType::F16, 4096),
            (DType::F16, 70_000),
            (DType::BF16, 4096),
        ] {
            let x = Tensor::zeros((2, len), dtype, &Device::Cpu)?;
            let share = 1.0 / len as f64;
            for y in values(&softmax_last_dim(&x)?)? {
                assert!((y - share).abs() <= share * 0.004, "{y}, wanted {share}");
            }
            let log = share.ln();
            for y in values(&log_softmax(&x, D::Minus1)?)? {
                assert!((y - log).abs() <= log.abs() * 0.004, "{y}, wanted {log}");
            }
        }
        Ok(())
    }

    #[test]
    fn log_softmax_by_a_loop_over_any_dim() -> Result<()> {
        let x = numbers(&[2, 3, 2], DType::F64)?.affine(30.0, 0.0)?;
        let all = values(&x)?;
        let at = |a: usize, b: usize, c: usize| all[(a * 3 + b) * 2 + c];
        let mut want = Vec::new();
        for (a, b, c) in
            (0..2).flat_map(|a| (0..3).flat_map(move |b| (0..2).map(move |c| (a, b, c))))
        {
            let sum: f64 = (0..3).map(|b| at(a, b, c).exp()).sum();
            want.push(at(a, b, c) - sum.ln());
        }
        assert_near(&log_softmax(&x, 1)?, &[2, 3, 2], &want, 1e-12);
        let view = x.transpose(0, 1)?.contiguous()?.transpose(0, 1)?;
        assert_near(&log_softmax(&view, D::Minus2)?, &[2, 3, 2], &want, 1e-12);
        assert_near(
            &log_softmax(&x.to_dtype(DType::F32)?, 1)?,
            &[2, 3, 2],
            &want,
            1e-6,
        );
        assert!(log_softmax(&x, 3).is_err());
        Ok(())
    }

    #[test]
    fn gradients() -> Result<()> {
        let x = [numbers(&[2, 3, 2], DType::F64)?];
        for dim in 0..3 {
            check_gradients(&x, |x| softmax(&x[0], dim))?;
            check_gradients(&x, |x| log_softmax(&x[0], dim))?;
        }
        Ok(())
    }
}
