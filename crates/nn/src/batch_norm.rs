//! Batch normalisation (Ioffe and Szegedy 2015): each channel is normalised, in training by the
//! mean and variance of the batch, otherwise by those that training has kept.
//!
//! x is `[batch, channels, …]`. In training the kept statistics move by `momentum` towards the
//! batch's, whose variance is then the unbiased one. No gradient flows into the kept statistics.

use crate::layer_norm::{scale, shift};
use crate::wide::in_wide;
use crate::{VarBuilder, init};
use tallow::{ModuleT, Result, Tensor, Var, bail};

/// What a batch norm has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNormConfig {
    /// Added to the variance.
    pub eps: f64,
    /// Whether the mean is subtracted.
    pub remove_mean: bool,
    /// Whether there are a scale and a shift.
    pub affine: bool,
    /// The weight of a batch in the kept statistics: `kept · (1 − momentum) + batch · momentum`.
    pub momentum: f64,
}

impl Default for BatchNormConfig {
    fn default() -> Self {
        Self {
            eps: 1e-5,
            remove_mean: true,
            affine: true,
            momentum: 0.1,
        }
    }
}

impl From<f64> for BatchNormConfig {
    fn from(eps: f64) -> Self {
        Self {
            eps,
            ..Self::default()
        }
    }
}

/// The layer. [`forward_t`](ModuleT::forward_t) takes the batch's statistics if it trains.
#[derive(Clone, Debug)]
pub struct BatchNorm {
    running_mean: Var,
    running_var: Var,
    weight_and_bias: Option<(Tensor, Tensor)>,
    remove_mean: bool,
    eps: f64,
    momentum: f64,
}

impl BatchNorm {
    /// A layer of kept statistics, a scale and a shift, `[num_features]` each, with a momentum of
    /// 0.1. Errors if a shape differs, or eps is negative.
    pub fn new(
        num_features: usize,
        running_mean: Tensor,
        running_var: Tensor,
        weight: Tensor,
        bias: Tensor,
        eps: f64,
    ) -> Result<Self> {
        let statistics = [running_mean, running_var];
        Self::checked(num_features, statistics, Some((weight, bias)), eps.into())
    }

    /// A layer without scale and shift.
    pub fn new_no_bias(
        num_features: usize,
        running_mean: Tensor,
        running_var: Tensor,
        eps: f64,
    ) -> Result<Self> {
        Self::checked(num_features, [running_mean, running_var], None, eps.into())
    }

    /// [`new`](Self::new), with a momentum in [0, 1].
    pub fn new_with_momentum(
        num_features: usize,
        running_mean: Tensor,
        running_var: Tensor,
        weight: Tensor,
        bias: Tensor,
        eps: f64,
        momentum: f64,
    ) -> Result<Self> {
        let config = BatchNormConfig {
            eps,
            momentum,
            ..Default::default()
        };
        let statistics = [running_mean, running_var];
        Self::checked(num_features, statistics, Some((weight, bias)), config)
    }

    /// [`new_no_bias`](Self::new_no_bias), with a momentum in [0, 1].
    pub fn new_no_bias_with_momentum(
        num_features: usize,
        running_mean: Tensor,
        running_var: Tensor,
        eps: f64,
        momentum: f64,
    ) -> Result<Self> {
        let config = BatchNormConfig {
            eps,
            momentum,
            ..Default::default()
        };
        Self::checked(num_features, [running_mean, running_var], None, config)
    }

    fn checked(
        num_features: usize,
        [mean, variance]: [Tensor; 2],
        weight_and_bias: Option<(Tensor, Tensor)>,
        config: BatchNormConfig,
    ) -> Result<Self> {
        let BatchNormConfig {
            eps,
            momentum,
            remove_mean,
            ..
        } = config;
        if eps < 0.0 {
            bail!("batch_norm: eps {eps}; wants 0 or more");
        }
        if !(0.0..=1.0).contains(&momentum) {
            bail!("batch_norm: momentum {momentum}; wants 0 to 1");
        }
        let scales = weight_and_bias
            .iter()
            .flat_map(|(weight, bias)| [weight, bias]);
        for tensor in [&mean, &variance].into_iter().chain(scales) {
            if tensor.dims() != [num_features] {
                bail!(
                    "batch_norm: a parameter is {:?}; wants [{num_features}]",
                    tensor.shape()
                );
            }
        }
        let (running_mean, running_var) = (Var::from_tensor(&mean)?, Var::from_tensor(&variance)?);
        Ok(Self {
            running_mean,
            running_var,
            weight_and_bias,
            remove_mean,
            eps,
            momentum,
        })
    }

    /// The kept mean.
    pub fn running_mean(&self) -> &Tensor {
        self.running_mean.as_tensor()
    }

    /// The kept variance.
    pub fn running_var(&self) -> &Tensor {
        self.running_var.as_tensor()
    }

    /// What is added to the variance.
    pub fn eps(&self) -> f64 {
        self.eps
    }

    /// Scale and shift.
    pub fn weight_and_bias(&self) -> Option<(&Tensor, &Tensor)> {
        self.weight_and_bias
            .as_ref()
            .map(|(weight, bias)| (weight, bias))
    }

    /// The weight of a batch in the kept statistics.
    pub fn momentum(&self) -> f64 {
        self.momentum
    }

    /// Normalises by the batch's statistics and moves the kept ones. x `[batch, channels, …]`.
    pub fn forward_train(&self, x: &Tensor) -> Result<Tensor> {
        let each_channel = self.each_channel(x)?;
        let others: Vec<usize> = (0..x.rank()).filter(|&dim| dim != 1).collect();
        let count = x.elem_count() / x.dims()[1].max(1);
        if count == 0 {
            bail!(
                "batch_norm: x {:?} has no elements to take statistics of",
                x.shape()
            );
        }
        in_wide(x, |x| {
            let mean = x.mean_keepdim(others.clone())?;
            let centred = x.broadcast_sub(&mean)?;
            let variance = centred.sqr()?.mean_keepdim(others)?;
            // One element says nothing of a variance; the batch's own is then kept.
            let unbiased = count as f64 / (count - 1).max(1) as f64;
            self.keep(&self.running_mean, &mean, 1.0)?;
            self.keep(&self.running_var, &variance, unbiased)?;
            let numerator = if self.remove_mean { &centred } else { x };
            self.scaled(numerator, &variance, &each_channel)
        })
    }

    fn forward_eval(&self, x: &Tensor) -> Result<Tensor> {
        let each_channel = self.each_channel(x)?;
        in_wide(x, |x| {
            let kept = |statistic: &Var| {
                let statistic = statistic.as_detached_tensor().to_dtype(x.dtype())?;
                statistic.reshape(each_channel.clone())
            };
            let variance = kept(&self.running_var)?;
            match self.remove_mean {
                true => {
                    let centred = x.broadcast_sub(&kept(&self.running_mean)?)?;
                    self.scaled(&centred, &variance, &each_channel)
                }
                false => self.scaled(x, &variance, &each_channel),
            }
        })
    }

    /// `numerator / √(variance + eps) · weight + bias`.
    fn scaled(
        &self,
        numerator: &Tensor,
        variance: &Tensor,
        each_channel: &[usize],
    ) -> Result<Tensor> {
        let normal = numerator.broadcast_div(&variance.affine(1.0, self.eps)?.sqrt()?)?;
        let Some((weight, bias)) = &self.weight_and_bias else {
            return Ok(normal);
        };
        let fitted = |x: &Tensor| x.to_dtype(normal.dtype())?.reshape(each_channel);
        normal
            .broadcast_mul(&fitted(weight)?)?
            .broadcast_add(&fitted(bias)?)
    }

    fn keep(&self, kept: &Var, batch: &Tensor, factor: f64) -> Result<()> {
        let batch = batch
            .detach()
            .flatten_all()?
            .affine(factor * self.momentum, 0.0)?;
        let before = kept.as_detached_tensor().to_dtype(batch.dtype())?;
        let after = before.affine(1.0 - self.momentum, 0.0)?.add(&batch)?;
        kept.set(&after.to_dtype(kept.dtype())?)
    }

    /// The shape in which a value for each channel goes with x.
    fn each_channel(&self, x: &Tensor) -> Result<Vec<usize>> {
        let channels = self.running_mean.elem_count();
        match *x.dims() {
            [_, found, ..] if found == channels => {
                let mut dims = vec![1; x.rank() - 1];
                dims[0] = channels;
                Ok(dims)
            }
            _ => bail!(
                "batch_norm: x {:?}; wants [batch, {channels}, ...]",
                x.shape()
            ),
        }
    }
}

impl ModuleT for BatchNorm {
    fn forward_t(&self, x: &Tensor, train: bool) -> Result<Tensor> {
        match train {
            true => self.forward_train(x),
            false => self.forward_eval(x),
        }
    }
}

/// A batch norm, from `running_mean`, `running_var`, `weight` and `bias` of the builder; new ones
/// are 0, 1, 1 and 0.
///
/// ```
/// use tallow::{DType, Device, Tensor};
/// use tallow_nn::{ModuleT, VarBuilder, VarMap, batch_norm};
/// let variables = VarMap::new();
/// let builder = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
/// let layer = batch_norm(2, 0.0, builder)?;
/// let x = Tensor::new(&[[1f32, 5.], [3., 9.]], &Device::Cpu)?;
/// assert_eq!(layer.forward_t(&x, true)?.to_vec2::<f32>()?, [[-1., -1.], [1., 1.]]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn batch_norm<C: Into<BatchNormConfig>>(
    num_features: usize,
    config: C,
    vb: VarBuilder<'_>,
) -> Result<BatchNorm> {
    let config = config.into();
    let mean = vb.get_with_hints(num_features, "running_mean", init::ZERO)?;
    let variance = vb.get_with_hints(num_features, "running_var", init::ONE)?;
    let weight_and_bias = match config.affine {
        true => Some((scale(num_features, &vb)?, shift(num_features, &vb)?)),
        false => None,
    };
    BatchNorm::checked(num_features, [mean, variance], weight_and_bias, config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VarMap;
    use crate::differences::{assert_near, check_gradients, numbers, values};
    use tallow::{DType, Device};

    fn layer(scales: &[Tensor], statistics: [&Tensor; 2]) -> Result<BatchNorm> {
        let [mean, variance] = statistics.map(Tensor::clone);
        let channels = mean.elem_count();
        BatchNorm::new(
            channels,
            mean,
            variance,
            scales[0].clone(),
            scales[1].clone(),
            1e-5,
        )
    }

    #[test]
    fn training_and_use_by_a_loop() -> Result<()> {
        let x = numbers(&[2, 3, 2], DType::F64)?;
        let (x_values, weight) = (values(&x)?, numbers(&[3], DType::F64)?);
        let bias = weight.affine(-1.0, 2.0)?;
        let mean = Tensor::new(&[0.5, 0.1, -0.2], &Device::Cpu)?;
        let variance = Tensor::new(&[1.5, 0.4, 2.], &Device::Cpu)?;
        let (w, b) = (values(&weight)?, values(&bias)?);
        let bn = layer(&[weight, bias], [&mean, &variance])?;
        let channel = |at: usize| at / 2 % 3;
        let normal = |mean: &[f64], variance: &[f64]| -> Vec<f64> {
            let of = |(at, x): (usize, &f64)| {
                let c = channel(at);
                (x - mean[c]) / (variance[c] + 1e-5).sqrt() * w[c] + b[c]
            };
            x_values.iter().enumerate().map(of).collect()
        };
        let (kept_mean, kept_variance) = (values(&mean)?, values(&variance)?);
        let used = bn.forward_t(&x, false)?;
        assert_near(
            &used,
            &[2, 3, 2],
            &normal(&kept_mean, &kept_variance),
            1e-12,
        );

        let of = |c: usize| {
            x_values
                .iter()
                .enumerate()
                .filter(move |(at, _)| channel(*at) == c)
        };
        let means: Vec<f64> = (0..3)
            .map(|c| of(c).map(|(_, x)| x).sum::<f64>() / 4.0)
            .collect();
        let squares = |c: usize| of(c).map(|(_, x)| (x - means[c]).powi(2)).sum::<f64>();
        let variances: Vec<f64> = (0..3).map(|c| squares(c) / 4.0).collect();
        let trained = bn.forward_t(&x, true)?;
        assert_near(&trained, &[2, 3, 2], &normal(&means, &variances), 1e-12);
        let moved = |kept: &[f64], batch: Vec<f64>| -> Vec<f64> {
            kept.iter()
                .zip(batch)
                .map(|(kept, batch)| 0.9 * kept + 0.1 * batch)
                .collect()
        };
        let unbiased = (0..3).map(|c| squares(c) / 3.0).collect();
        assert_near(bn.running_mean(), &[3], &moved(&kept_mean, means), 1e-12);
        assert_near(
            bn.running_var(),
            &[3],
            &moved(&kept_variance, unbiased),
            1e-12,
        );
        Ok(())
    }

    #[test]
    fn statistics_of_a_map_are_kept_in_the_map() -> Result<()> {
        let map = VarMap::new();
        let vb = VarBuilder::from_varmap(&map, DType::F32, &Device::Cpu);
        let bn = batch_norm(1, 1e-5, vb)?;
        bn.forward_t(&Tensor::new(&[[10f32], [30.]], &Device::Cpu)?, true)?;
        let map = map.data().lock().unwrap();
        assert_near(map["running_mean"].as_tensor(), &[1], &[2.], 1e-6);
        assert_near(map["running_var"].as_tensor(), &[1], &[0.9 + 20.], 1e-6);
        Ok(())
    }

    #[test]
    fn narrow_floats_keep_their_dtype() -> Result<()> {
        let x = numbers(&[4, 2, 3], DType::F16)?;
        let ones = Tensor::ones(2, DType::F16, &Device::Cpu)?;
        let zeros = ones.zeros_like()?;
        let bn = layer(&[ones.clone(), zeros.clone()], [&zeros, &ones])?;
        let y = bn.forward_t(&x, true)?;
        assert_eq!(
            (y.dtype(), bn.running_var().dtype()),
            (DType::F16, DType::F16)
        );
        assert!(values(&y.sum_all()?)?[0].abs() < 0.05);
        Ok(())
    }

    #[test]
    fn wrong_parameters_are_errors() -> Result<()> {
        let one = |size: usize| Tensor::ones(size, DType::F32, &Device::Cpu);
        let new = |size: usize, eps: f64, momentum: f64| {
            BatchNorm::new_no_bias_with_momentum(size, one(2)?, one(2)?, eps, momentum)
        };
        assert!(new(2, 1e-5, 0.5).is_ok() && new(3, 1e-5, 0.5).is_err());
        assert!(new(2, -1e-5, 0.5).is_err() && new(2, 1e-5, 1.5).is_err());
        let bn = new(2, 1e-5, 0.5)?;
        for train in [true, false] {
            assert!(bn.forward_t(&one(2)?, train).is_err());
            assert!(bn.forward_t(&one(12)?.reshape((4, 3))?, train).is_err());
        }
        assert!(bn.forward_t(&one(0)?.reshape((0, 2))?, true).is_err());
        assert_eq!(
            bn.forward_t(&one(0)?.reshape((0, 2))?, false)?.dims(),
            [0, 2]
        );
        Ok(())
    }

    #[test]
    fn gradients() -> Result<()> {
        let operands = [
            numbers(&[3, 2, 2], DType::F64)?,
            numbers(&[2], DType::F64)?,
            numbers(&[2], DType::F64)?,
        ];
        let statistics = Tensor::new(&[0.7, 1.3], &Device::Cpu)?;
        for train in [true, false] {
            check_gradients(&operands, |x| {
                layer(&x[1..], [&statistics, &statistics])?.forward_t(&x[0], train)
            })?;
        }
        Ok(())
    }
}
