//! Layer and RMS normalisation as layers, over the last dimension.
//!
//! Checkpoints name the scale `weight` and the shift `bias`; `gamma` and `beta`, as old exports
//! have them, are found too.

use crate::ops;
use crate::{Init, VarBuilder, init};
use tallow::{Module, Result, Shape, Tensor};

/// What a layer norm has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNormConfig {
    /// Added to the variance.
    pub eps: f64,
    /// Whether the mean is subtracted; without it this is RMS normalisation.
    pub remove_mean: bool,
    /// Whether there is a bias.
    pub affine: bool,
}

impl Default for LayerNormConfig {
    fn default() -> Self {
        Self {
            eps: 1e-5,
            remove_mean: true,
            affine: true,
        }
    }
}

impl From<f64> for LayerNormConfig {
    fn from(eps: f64) -> Self {
        Self {
            eps,
            ..Self::default()
        }
    }
}

/// `(x − mean) / √(variance + eps) · weight + bias`, over the last dimension.
///
/// ```
/// use tallow::{Device, Tensor};
/// use tallow_nn::{LayerNorm, Module};
/// let weight = Tensor::new(&[1f32, 1.], &Device::Cpu)?;
/// let layer = LayerNorm::new(weight.clone(), weight, 0.0);
/// let y = layer.forward(&Tensor::new(&[[1f32, 3.]], &Device::Cpu)?)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[0., 2.]]);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LayerNorm {
    weight: Tensor,
    bias: Option<Tensor>,
    remove_mean: bool,
    eps: f64,
}

impl LayerNorm {
    /// A layer of a scale and a shift, both `[n]`.
    pub fn new(weight: Tensor, bias: Tensor, eps: f64) -> Self {
        Self {
            weight,
            bias: Some(bias),
            remove_mean: true,
            eps,
        }
    }

    /// A layer of a scale `[n]`.
    pub fn new_no_bias(weight: Tensor, eps: f64) -> Self {
        Self {
            weight,
            bias: None,
            remove_mean: true,
            eps,
        }
    }

    /// A layer of a scale `[n]` that does not subtract the mean.
    pub fn rms_norm(weight: Tensor, eps: f64) -> Self {
        Self {
            weight,
            bias: None,
            remove_mean: false,
            eps,
        }
    }

    /// The scale.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// The shift.
    pub fn bias(&self) -> Option<&Tensor> {
        self.bias.as_ref()
    }

    /// What is added to the variance.
    pub fn eps(&self) -> f64 {
        self.eps
    }

    /// Whether the mean is subtracted.
    pub fn remove_mean(&self) -> bool {
        self.remove_mean
    }
}

impl Module for LayerNorm {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let (weight, eps) = (&self.weight, self.eps as f32);
        match (self.remove_mean, &self.bias) {
            (true, Some(bias)) => ops::layer_norm_slow(xs, weight, bias, eps),
            (true, None) => {
                let bias = weight.detach().zeros_like()?;
                ops::layer_norm_slow(xs, weight, &bias, eps)
            }
            (false, None) => ops::rms_norm_slow(xs, weight, eps),
            (false, Some(bias)) => crate::wide::in_wide(xs, |x| {
                let scaled = ops::rms_norm_slow(x, weight, eps)?;
                scaled.broadcast_add(&bias.to_dtype(x.dtype())?)
            }),
        }
    }
}

/// A scale by its name, or by the one that old exports give it.
pub(crate) fn scale<S: Into<Shape>>(size: S, vb: &VarBuilder<'_>) -> Result<Tensor> {
    get_by_either_name(size, ["weight", "gamma"], init::ONE, vb)
}

/// A shift by its name, or by the one that old exports give it.
pub(crate) fn shift<S: Into<Shape>>(size: S, vb: &VarBuilder<'_>) -> Result<Tensor> {
    get_by_either_name(size, ["bias", "beta"], init::ZERO, vb)
}

fn get_by_either_name<S: Into<Shape>>(
    size: S,
    [name, old_name]: [&str; 2],
    init: Init,
    vb: &VarBuilder<'_>,
) -> Result<Tensor> {
    let old = !vb.contains_tensor(name) && vb.contains_tensor(old_name);
    vb.get_with_hints(size, if old { old_name } else { name }, init)
}

/// A layer norm of `size` features, from `weight` and `bias` of the builder; new ones are 1 and 0.
pub fn layer_norm<C: Into<LayerNormConfig>>(
    size: usize,
    config: C,
    vb: VarBuilder<'_>,
) -> Result<LayerNorm> {
    let LayerNormConfig {
        eps,
        remove_mean,
        affine,
    } = config.into();
    let weight = scale(size, &vb)?;
    let bias = affine.then(|| shift(size, &vb)).transpose()?;
    Ok(LayerNorm {
        weight,
        bias,
        remove_mean,
        eps,
    })
}

/// A layer norm without a bias.
pub fn layer_norm_no_bias(size: usize, eps: f64, vb: VarBuilder<'_>) -> Result<LayerNorm> {
    let config = LayerNormConfig {
        eps,
        remove_mean: true,
        affine: false,
    };
    layer_norm(size, config, vb)
}

/// `x / √(mean of squares + eps) · weight`, over the last dimension.
#[derive(Clone, Debug)]
pub struct RmsNorm(LayerNorm);

impl RmsNorm {
    /// A layer of a scale `[n]`.
    pub fn new(weight: Tensor, eps: f64) -> Self {
        Self(LayerNorm::rms_norm(weight, eps))
    }

    /// The same as a layer norm that does not subtract the mean.
    pub fn into_inner(self) -> LayerNorm {
        self.0
    }

    /// The scale.
    pub fn weight(&self) -> &Tensor {
        self.0.weight()
    }

    /// What is added to the mean of squares.
    pub fn eps(&self) -> f64 {
        self.0.eps()
    }

    /// [`forward`](Module::forward) by another name: it has gradients too.
    pub fn forward_diff(&self, xs: &Tensor) -> Result<Tensor> {
        self.0.forward(xs)
    }
}

impl Module for RmsNorm {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self.0.forward(xs)
    }
}

/// An RMS norm of `size` features, from `weight` of the builder; a new one is 1.
pub fn rms_norm(size: usize, eps: f64, vb: VarBuilder<'_>) -> Result<RmsNorm> {
    Ok(RmsNorm::new(scale(size, &vb)?, eps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VarMap;
    use crate::differences::{assert_near, check_gradients, numbers};
    use std::collections::HashMap;
    use tallow::{DType, Device, ModuleT};

    fn builder(names: &[&str]) -> Result<VarBuilder<'static>> {
        let named = |name: &&str| -> Result<_> {
            let value = if name.ends_with("gamma") || name.ends_with("weight") {
                2f32
            } else {
                1.
            };
            Ok(((*name).to_string(), Tensor::full(value, 4, &Device::Cpu)?))
        };
        let tensors = names.iter().map(named).collect::<Result<HashMap<_, _>>>()?;
        Ok(VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu))
    }

    #[test]
    fn gamma_and_beta_are_found() -> Result<()> {
        let x = Tensor::new(&[[1f32, 1., 3., 3.]], &Device::Cpu)?;
        for names in [
            ["a.gamma", "a.beta"],
            ["a.weight", "a.bias"],
            ["a.weight", "a.beta"],
        ] {
            let layer = layer_norm(4, 1e-12, builder(&names)?.pp("a"))?;
            assert_near(&layer.forward(&x)?, &[1, 4], &[-1., -1., 3., 3.], 1e-6);
        }
        let both = builder(&["gamma", "weight", "bias", "beta"])?;
        assert!(layer_norm(4, 1e-5, both).is_ok());
        let rms = rms_norm(4, 0.0, builder(&["gamma"])?)?;
        let ones = Tensor::ones((1, 4), DType::F32, &Device::Cpu)?;
        assert_near(&rms.forward(&ones)?, &[1, 4], &[2.; 4], 1e-6);
        assert!(layer_norm(4, 1e-5, builder(&["gamma"])?).is_err());
        assert!(layer_norm(5, 1e-5, builder(&["gamma", "beta"])?).is_err());
        Ok(())
    }

    #[test]
    fn new_variables_have_the_names_of_today() -> Result<()> {
        let map = VarMap::new();
        let vb = VarBuilder::from_varmap(&map, DType::F32, &Device::Cpu);
        layer_norm(3, 1e-5, vb.pp("layer"))?;
        layer_norm_no_bias(3, 1e-5, vb.pp("bare"))?;
        rms_norm(3, 1e-5, vb.pp("rms"))?;
        let mut names: Vec<String> = map.data().lock().unwrap().keys().cloned().collect();
        names.sort();
        assert_eq!(
            names,
            ["bare.weight", "layer.bias", "layer.weight", "rms.weight"]
        );
        Ok(())
    }

    #[test]
    fn each_kind_by_hand() -> Result<()> {
        let x = Tensor::new(&[[1f32, 3.], [4., 8.]], &Device::Cpu)?;
        let weight = Tensor::new(&[2f32, 3.], &Device::Cpu)?;
        let bias = Tensor::new(&[10f32, 20.], &Device::Cpu)?;
        let full = LayerNorm::new(weight.clone(), bias.clone(), 0.0).forward(&x)?;
        assert_near(&full, &[2, 2], &[8., 23., 8., 23.], 1e-6);
        let bare = LayerNorm::new_no_bias(weight.clone(), 0.0).forward(&x)?;
        assert_near(&bare, &[2, 2], &[-2., 3., -2., 3.], 1e-6);
        let (a, b) = (5f64.sqrt(), 40f64.sqrt());
        let want = [2. / a, 9. / a, 8. / b, 24. / b];
        let rms = RmsNorm::new(weight.clone(), 0.0);
        assert_near(&rms.forward(&x)?, &[2, 2], &want, 1e-6);
        assert_near(&rms.forward_diff(&x)?, &[2, 2], &want, 1e-6);
        let shifted = LayerNorm {
            weight,
            bias: Some(bias),
            remove_mean: false,
            eps: 0.0,
        };
        let want = [10. + want[0], 20. + want[1], 10. + want[2], 20. + want[3]];
        assert_near(&shifted.forward(&x)?, &[2, 2], &want, 1e-6);
        let narrow = shifted.forward(&x.to_dtype(DType::F16)?)?;
        assert_eq!(narrow.dtype(), DType::F16);
        assert_near(&narrow, &[2, 2], &want, 1e-3);
        Ok(())
    }

    #[test]
    fn gradients_in_training_and_in_use() -> Result<()> {
        let operands = [
            numbers(&[2, 2, 3], DType::F64)?,
            numbers(&[3], DType::F64)?,
            numbers(&[3], DType::F64)?.affine(0.3, 1.0)?,
        ];
        for train in [true, false] {
            check_gradients(&operands, |x| {
                LayerNorm::new(x[1].clone(), x[2].clone(), 1e-5).forward_t(&x[0], train)
            })?;
            check_gradients(&operands[..2], |x| {
                LayerNorm::new_no_bias(x[1].clone(), 1e-5).forward_t(&x[0], train)
            })?;
            check_gradients(&operands[..2], |x| {
                RmsNorm::new(x[1].clone(), 1e-5).forward_t(&x[0], train)
            })?;
        }
        check_gradients(&operands[..2], |x| {
            RmsNorm::new(x[1].clone(), 1e-5).forward_diff(&x[0])
        })
    }
}
