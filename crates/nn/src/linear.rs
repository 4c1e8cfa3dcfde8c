//! The fully connected layer: `y = x · Wᵀ + b`.
//!
//! W is `[out, in]` and b `[out]`, named `weight` and `bias` in checkpoints. New weights are drawn
//! from the Kaiming normal distribution, new biases uniformly from ±1/√in.

use crate::{Init, VarBuilder, init};
use tallow::{D, Module, Result, Tensor, bail};

/// `y = x · Wᵀ + b`.
#[derive(Clone, Debug)]
pub struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Linear {
    /// A layer of a weight `[out, in]` and a bias `[out]`.
    pub fn new(weight: Tensor, bias: Option<Tensor>) -> Self {
        Self { weight, bias }
    }

    /// The weight, `[out, in]`.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// The bias, `[out]`.
    pub fn bias(&self) -> Option<&Tensor> {
        self.bias.as_ref()
    }
}

impl Module for Linear {
    /// x `[…, in]` gives `[…, out]`. Errors for a scalar, and where the sizes differ.
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let (rows, features) = match xs.dims() {
            [] => bail!(
                "linear: x is a scalar; wants [..., in], weight {:?}",
                self.weight.shape()
            ),
            [rows @ .., features] => (rows, *features),
        };
        let weight = self.weight.t()?;
        let y = match rows.len() {
            1 => xs.matmul(&weight)?,
            _ => {
                // The count of rows is not left to reshape: features may be 0.
                let flat = xs.reshape((rows.iter().product::<usize>(), features))?;
                let y = flat.matmul(&weight)?;
                y.reshape([rows, &[weight.dim(D::Minus1)?]].concat())?
            }
        };
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

/// The bound of uniform biases of a layer that adds up `fan_in` products: 1/√fan_in.
pub(crate) fn bias_init(fan_in: usize) -> Init {
    let bound = 1.0 / (fan_in.max(1) as f64).sqrt();
    Init::Uniform {
        lo: -bound,
        up: bound,
    }
}

/// A layer with a bias, from `weight` and `bias` of the builder.
///
/// ```
/// use tallow::{DType, Device, Tensor};
/// use tallow_nn::{Module, VarBuilder, linear};
/// let layer = linear(3, 5, VarBuilder::zeros(DType::F32, &Device::Cpu))?;
/// let x = Tensor::ones((2, 4, 3), DType::F32, &Device::Cpu)?;
/// assert_eq!(layer.forward(&x)?.dims(), [2, 4, 5]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn linear(in_dim: usize, out_dim: usize, vb: VarBuilder<'_>) -> Result<Linear> {
    let weight = vb.get_with_hints((out_dim, in_dim), "weight", init::DEFAULT_KAIMING_NORMAL)?;
    let bias = vb.get_with_hints(out_dim, "bias", bias_init(in_dim))?;
    Ok(Linear::new(weight, Some(bias)))
}

/// A layer without a bias, from `weight` of the builder.
pub fn linear_no_bias(in_dim: usize, out_dim: usize, vb: VarBuilder<'_>) -> Result<Linear> {
    let weight = vb.get_with_hints((out_dim, in_dim), "weight", init::DEFAULT_KAIMING_NORMAL)?;
    Ok(Linear::new(weight, None))
}

/// [`linear`] or [`linear_no_bias`].
pub fn linear_b(in_dim: usize, out_dim: usize, bias: bool, vb: VarBuilder<'_>) -> Result<Linear> {
    match bias {
        true => linear(in_dim, out_dim, vb),
        false => linear_no_bias(in_dim, out_dim, vb),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, check_gradients, numbers};
    use tallow::{DType, Device};

    #[test]
    fn values_by_hand() -> Result<()> {
        let weight = Tensor::new(&[[1f32, 2.], [3., 4.], [5., 6.]], &Device::Cpu)?;
        let bias = Tensor::new(&[1f32, 10., 100.], &Device::Cpu)?;
        let layer = Linear::new(weight, Some(bias));
        let x = Tensor::new(&[[10f32, 100.], [1., -1.]], &Device::Cpu)?;
        let want = [211., 440., 750., 0., 9., 99.];
        assert_near(&layer.forward(&x)?, &[2, 3], &want, 0.0);
        assert_near(&layer.forward(&x.get(0)?)?, &[3], &want[..3], 0.0);
        assert_near(
            &layer.forward(&x.reshape((2, 1, 1, 2))?)?,
            &[2, 1, 1, 3],
            &want,
            0.0,
        );
        // The same rows, read through a transposed view.
        let turned = x.t()?.contiguous()?.t()?.unsqueeze(0)?;
        assert_near(&layer.forward(&turned)?, &[1, 2, 3], &want, 0.0);
        Ok(())
    }

    #[test]
    fn no_rows_and_no_features() -> Result<()> {
        let bias = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
        let layer = |features| -> Result<Linear> {
            let weight = Tensor::zeros((2, features), DType::F32, &Device::Cpu)?;
            Ok(Linear::new(weight, Some(bias.clone())))
        };
        let rows = Tensor::zeros((0, 4, 3), DType::F32, &Device::Cpu)?;
        assert_eq!(layer(3)?.forward(&rows)?.dims(), [0, 4, 2]);
        let empty = Tensor::zeros((1, 2, 0), DType::F32, &Device::Cpu)?;
        assert_near(
            &layer(0)?.forward(&empty)?,
            &[1, 2, 2],
            &[1., 2., 1., 2.],
            0.0,
        );
        assert!(layer(3)?.forward(&empty).is_err());
        assert!(
            layer(3)?
                .forward(&Tensor::new(1f32, &Device::Cpu)?)
                .is_err()
        );
        Ok(())
    }

    #[test]
    fn gradients() -> Result<()> {
        let f64 = DType::F64;
        let operands = [
            numbers(&[2, 2, 3], f64)?,
            numbers(&[4, 3], f64)?,
            numbers(&[4], f64)?,
        ];
        check_gradients(&operands, |x| {
            Linear::new(x[1].clone(), Some(x[2].clone())).forward(&x[0])
        })
    }
}
