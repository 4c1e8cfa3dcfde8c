//! Dropout: while training, elements are set to 0 at random and the rest scaled, so that the mean
//! stays (Srivastava et al. 2014).

use crate::wide::wide;
use tallow::{ModuleT, Result, Tensor, bail};

/// Each element is 0 with probability `drop_p`, otherwise divided by `1 − drop_p`. Errors unless
/// the probability is in [0, 1).
///
/// ```
/// use tallow::{DType, Device, Tensor};
/// let x = Tensor::ones(1000, DType::F32, &Device::Cpu)?;
/// let y = tallow_nn::ops::dropout(&x, 0.5)?.to_vec1::<f32>()?;
/// assert!(y.iter().all(|&y| y == 0. || y == 2.) && y.contains(&0.));
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn dropout(xs: &Tensor, drop_p: f32) -> Result<Tensor> {
    if !(0.0..1.0).contains(&drop_p) {
        bail!("dropout: probability {drop_p}; wants 0 or more and less than 1");
    }
    if drop_p == 0.0 {
        return Ok(xs.clone());
    }
    let dtype = wide(xs.dtype());
    let kept = Tensor::rand(0f32, 1f32, xs.shape(), xs.device())?.ge(drop_p)?;
    let scaled = xs
        .to_dtype(dtype)?
        .affine(1.0 / (1.0 - f64::from(drop_p)), 0.0)?;
    // A choice, not a product with 0: what is dropped may be infinite.
    kept.where_cond(&scaled.to_dtype(xs.dtype())?, &xs.detach().zeros_like()?)
}

/// A layer that drops elements while it is trained, and gives back its input otherwise.
#[derive(Clone, Debug)]
pub struct Dropout {
    drop_p: f32,
}

impl Dropout {
    /// A layer that sets elements to 0 with probability `drop_p`.
    pub fn new(drop_p: f32) -> Dropout {
        Self { drop_p }
    }

    /// [`dropout`] if `train`; the input otherwise.
    pub fn forward(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        match train {
            true => dropout(xs, self.drop_p),
            false => Ok(xs.clone()),
        }
    }
}

impl ModuleT for Dropout {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        self.forward(xs, train)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::values;
    use tallow::{DType, Device, Var};

    #[test]
    fn the_share_that_is_kept_is_scaled() -> Result<()> {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let x = Tensor::ones((100, 100), dtype, &Device::Cpu)?;
            let y = values(&dropout(&x, 0.2)?)?;
            assert!(y.iter().all(|&y| y == 0.0 || (y - 1.25).abs() < 1e-6));
            // The count of zeros has a standard deviation of 40.
            let dropped = y.iter().filter(|&&y| y == 0.0).count();
            assert!(
                (1750..2250).contains(&dropped),
                "{dropped} of 10000 dropped"
            );
        }
        Ok(())
    }

    #[test]
    fn it_only_drops_in_training() -> Result<()> {
        let x = Tensor::new(&[f32::INFINITY; 64], &Device::Cpu)?;
        let layer = Dropout::new(0.5);
        assert_eq!(
            layer.forward_t(&x, false)?.to_vec1::<f32>()?,
            [f32::INFINITY; 64]
        );
        let y = layer.forward_t(&x, true)?.to_vec1::<f32>()?;
        assert!(y.iter().all(|&y| y == 0.0 || y == f32::INFINITY));
        assert_eq!(dropout(&x, 0.0)?.to_vec1::<f32>()?, [f32::INFINITY; 64]);
        for bad in [1.0, -0.1, 2.0, f32::NAN] {
            assert!(dropout(&x, bad).is_err());
        }
        Ok(())
    }

    #[test]
    fn gradients_pass_what_was_kept() -> Result<()> {
        let x = Var::ones(64, DType::F32, &Device::Cpu)?;
        let y = dropout(&x, 0.5)?;
        let gradient = y.sum_all()?.backward()?.get(&x).unwrap().to_vec1::<f32>()?;
        assert_eq!(gradient, y.to_vec1::<f32>()?);
        Ok(())
    }
}
