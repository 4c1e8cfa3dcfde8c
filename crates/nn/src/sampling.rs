//! Drawing from distributions that are given by logits.

use crate::wide::wide;
use tallow::Dim;
use tallow::{Result, Tensor};

/// An index drawn along a dimension, with probabilities softmax(logits / temperature); the place of
/// the greatest logit if the temperature is 0 or less. The result is u32, without the dimension.
///
/// The greatest of `logits / temperature + g` is such a draw, where each g is −ln(−ln u) for a u
/// that is uniform between 0 and 1 (Gumbel's trick).
///
/// ```
/// use tallow::{D, Device, Tensor};
/// let logits = Tensor::new(&[[f32::NEG_INFINITY, 0.], [7., f32::NEG_INFINITY]], &Device::Cpu)?;
/// let drawn = tallow_nn::sampling::gumbel_softmax(&logits, 0.8, D::Minus1)?;
/// assert_eq!(drawn.to_vec1::<u32>()?, [1, 0]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn gumbel_softmax<D: Dim>(logits: &Tensor, temperature: f64, dim: D) -> Result<Tensor> {
    if temperature <= 0.0 {
        return logits.argmax(dim);
    }
    let dtype = wide(logits.dtype());
    let uniform = Tensor::rand(0f32, 1f32, logits.shape(), logits.device())?;
    let noise = uniform.log()?.neg()?.log()?.affine(-temperature, 0.0)?;
    logits
        .detach()
        .to_dtype(dtype)?
        .add(&noise.to_dtype(dtype)?)?
        .argmax(dim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallow::{D, DType, Device};

    #[test]
    fn draws_come_as_often_as_their_probability() -> Result<()> {
        const DRAWS: usize = 10_000;
        let logits = Tensor::new(&[1f32.ln(), 2f32.ln(), 5f32.ln()], &Device::Cpu)?;
        for (temperature, shares) in [
            (1.0, [0.125, 0.25, 0.625]),
            (0.5, [1. / 30., 4. / 30., 25. / 30.]),
        ] {
            for dtype in [DType::F32, DType::F64, DType::F16] {
                let rows = logits.to_dtype(dtype)?.broadcast_as((DRAWS, 3))?;
                let drawn = gumbel_softmax(&rows, temperature, D::Minus1)?.to_vec1::<u32>()?;
                for (index, share) in (0..).zip(shares) {
                    let count = drawn.iter().filter(|&&drawn| drawn == index).count() as f64;
                    // A share's standard deviation is at most 0.005.
                    assert!(
                        (count / DRAWS as f64 - share).abs() < 0.03,
                        "{index}: {count}"
                    );
                }
            }
        }
        Ok(())
    }

    #[test]
    fn without_temperature_it_is_the_greatest() -> Result<()> {
        let logits = Tensor::new(&[[1f32, 3., 2.], [9., 3., 4.]], &Device::Cpu)?;
        assert_eq!(gumbel_softmax(&logits, 0.0, 1)?.to_vec1::<u32>()?, [1, 0]);
        assert_eq!(
            gumbel_softmax(&logits, 0.0, 0)?.to_vec1::<u32>()?,
            [1, 0, 1]
        );
        assert!(gumbel_softmax(&logits, 1.0, 2).is_err());
        Ok(())
    }
}
