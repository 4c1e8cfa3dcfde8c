//! Group normalisation (Wu and He 2018): channels are cut into groups, and each group of an example
//! is normalised as a whole; then each channel is scaled and shifted.

use crate::layer_norm::{scale, shift};
use crate::wide::in_wide;
use crate::{VarBuilder, ops};
use tallow::{Module, Result, Tensor, bail};

/// The layer. x is `[batch, channels, …]`.
#[derive(Clone, Debug)]
pub struct GroupNorm {
    weight: Tensor,
    bias: Tensor,
    eps: f64,
    num_channels: usize,
    num_groups: usize,
}

impl GroupNorm {
    /// A layer of a scale and a shift, `[num_channels]` each. Errors if the groups do not divide
    /// the channels.
    pub fn new(
        weight: Tensor,
        bias: Tensor,
        num_channels: usize,
        num_groups: usize,
        eps: f64,
    ) -> Result<Self> {
        if num_groups == 0 || !num_channels.is_multiple_of(num_groups) {
            bail!("group_norm: {num_channels} channels, {num_groups} groups; wants a multiple");
        }
        Ok(Self {
            weight,
            bias,
            eps,
            num_channels,
            num_groups,
        })
    }
}

impl Module for GroupNorm {
    /// Errors below rank 2, and where the channels differ.
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let &[batch, channels, ref rest @ ..] = xs.dims() else {
            bail!(
                "group_norm: x {:?}; wants [batch, channels, ...]",
                xs.shape()
            );
        };
        if channels != self.num_channels {
            bail!(
                "group_norm: x {:?} has {channels} channels, the layer {}",
                xs.shape(),
                self.num_channels
            );
        }
        let group = channels / self.num_groups * rest.iter().product::<usize>();
        let mut each_channel = vec![1; rest.len() + 1];
        each_channel[0] = channels;
        in_wide(xs, |x| {
            let groups = x.reshape((batch, self.num_groups, group))?;
            let one = Tensor::ones(1, x.dtype(), x.device())?.broadcast_as(group)?;
            let zero = Tensor::zeros(1, x.dtype(), x.device())?.broadcast_as(group)?;
            let normal = ops::layer_norm(&groups, &one, &zero, self.eps as f32)?;
            let weight = self
                .weight
                .to_dtype(x.dtype())?
                .reshape(each_channel.clone())?;
            let bias = self.bias.to_dtype(x.dtype())?.reshape(each_channel)?;
            normal
                .reshape(x.shape())?
                .broadcast_mul(&weight)?
                .broadcast_add(&bias)
        })
    }
}

/// A group norm, from `weight` and `bias` of the builder; new ones are 1 and 0.
///
/// ```
/// use tallow::{DType, Device, Tensor};
/// use tallow_nn::{Module, VarBuilder, VarMap, group_norm};
/// let variables = VarMap::new();
/// let builder = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
/// let layer = group_norm(2, 4, 1e-5, builder)?;
/// let x = Tensor::ones((1, 4, 3, 3), DType::F32, &Device::Cpu)?;
/// assert_eq!(layer.forward(&x)?.sum_all()?.to_scalar::<f32>()?, 0.);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn group_norm(
    num_groups: usize,
    num_channels: usize,
    eps: f64,
    vb: VarBuilder<'_>,
) -> Result<GroupNorm> {
    let (weight, bias) = (scale(num_channels, &vb)?, shift(num_channels, &vb)?);
    GroupNorm::new(weight, bias, num_channels, num_groups, eps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, check_gradients, numbers, values};
    use tallow::{DType, Device};

    /// The definition, for x `[batch, channels, pixels]`.
    fn by_a_loop(x: &[f64], w: &[f64], b: &[f64], groups: usize, pixels: usize) -> Vec<f64> {
        let (channels, size) = (w.len(), w.len() / groups * pixels);
        let normal = x.chunks(size).flat_map(|group| {
            let mean = group.iter().sum::<f64>() / size as f64;
            let variance = group.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / size as f64;
            group
                .iter()
                .map(move |x| (x - mean) / (variance + 1e-5).sqrt())
        });
        let channel = |at: usize| at / pixels % channels;
        normal
            .enumerate()
            .map(|(at, x)| x * w[channel(at)] + b[channel(at)])
            .collect()
    }

    #[test]
    fn values_by_a_loop() -> Result<()> {
        let x = numbers(&[2, 6, 2, 2], DType::F64)?;
        let (weight, bias) = (numbers(&[6], DType::F64)?, numbers(&[6], DType::F64)?);
        let bias = bias.affine(0.5, 1.0)?;
        let (x_values, w, b) = (values(&x)?, values(&weight)?, values(&bias)?);
        for groups in [1, 2, 3, 6] {
            let want = by_a_loop(&x_values, &w, &b, groups, 4);
            for (dtype, tolerance) in [(DType::F64, 1e-6), (DType::F32, 1e-5), (DType::F16, 4e-3)] {
                let [weight, bias] = [&weight, &bias].map(|x| x.to_dtype(dtype));
                let layer = GroupNorm::new(weight?, bias?, 6, groups, 1e-5)?;
                let y = layer.forward(&x.to_dtype(dtype)?)?;
                assert_eq!(y.dtype(), dtype);
                assert_near(&y, &[2, 6, 2, 2], &want, tolerance);
            }
        }
        let want = by_a_loop(&x_values[..12], &w, &b, 3, 1);
        let layer = GroupNorm::new(weight, bias, 6, 3, 1e-5)?;
        assert_near(
            &layer.forward(&x.flatten_all()?.narrow(0, 0, 12)?.reshape((2, 6))?)?,
            &[2, 6],
            &want,
            1e-6,
        );
        Ok(())
    }

    #[test]
    fn what_does_not_divide_is_an_error() -> Result<()> {
        let ones = Tensor::ones(4, DType::F32, &Device::Cpu)?;
        for groups in [0, 3, 8] {
            assert!(GroupNorm::new(ones.clone(), ones.clone(), 4, groups, 1e-5).is_err());
        }
        let layer = GroupNorm::new(ones.clone(), ones.clone(), 4, 2, 1e-5)?;
        assert!(layer.forward(&ones).is_err());
        assert!(
            layer
                .forward(&Tensor::ones((1, 2, 3), DType::F32, &Device::Cpu)?)
                .is_err()
        );
        let none = Tensor::ones((0, 4, 3), DType::F32, &Device::Cpu)?;
        assert_eq!(layer.forward(&none)?.dims(), [0, 4, 3]);
        let no_pixels = Tensor::ones((2, 4, 0), DType::F32, &Device::Cpu)?;
        assert_eq!(layer.forward(&no_pixels)?.dims(), [2, 4, 0]);
        Ok(())
    }

    #[test]
    fn gradients() -> Result<()> {
        let operands = [
            numbers(&[2, 4, 3], DType::F64)?,
            numbers(&[4], DType::F64)?,
            numbers(&[4], DType::F64)?,
        ];
        check_gradients(&operands, |x| {
            GroupNorm::new(x[1].clone(), x[2].clone(), 4, 2, 1e-5)?.forward(&x[0])
        })
    }
}
