//! Optimizers: they move variables against the gradients of a loss.
//!
//! Variables of an integer dtype are left alone, and so is a variable that the loss does not depend
//! on. States and steps of f16, bf16 and f8 variables are computed in f32.

use crate::wide::wide;
use tallow::backprop::GradStore;
use tallow::ops::{AdamwStep, adamw_step};
use tallow::{Result, Tensor, Var};

/// What optimizers have in common.
pub trait Optimizer: Sized {
    /// The numbers that steer the optimizer.
    type Config: Sized;

    /// An optimizer of some variables.
    fn new(vars: Vec<Var>, config: Self::Config) -> Result<Self>;

    /// Moves each variable once, by its gradient.
    fn step(&mut self, grads: &GradStore) -> Result<()>;

    /// How far a step goes.
    fn learning_rate(&self) -> f64;

    /// Sets how far a step goes.
    fn set_learning_rate(&mut self, lr: f64);

    /// An optimizer without variables.
    fn empty(config: Self::Config) -> Result<Self> {
        Self::new(Vec::new(), config)
    }

    /// [`step`](Self::step) by the gradients of a loss.
    fn backward_step(&mut self, loss: &Tensor) -> Result<()> {
        self.step(&loss.backward()?)
    }

    /// An optimizer of some variables.
    fn from_slice(vars: &[&Var], config: Self::Config) -> Result<Self> {
        Self::new(vars.iter().map(|&var| var.clone()).collect(), config)
    }
}

/// A variable and its gradient, both in the dtype that steps are computed in; none where the
/// variable has no gradient. Neither is tracked.
fn wide_with_gradient(var: &Var, grads: &GradStore) -> Result<Option<(Tensor, Tensor)>> {
    let Some(gradient) = grads.get(var) else {
        return Ok(None);
    };
    let dtype = wide(var.dtype());
    let value = var.as_detached_tensor().to_dtype(dtype)?;
    Ok(Some((value, gradient.detach().to_dtype(dtype)?)))
}

/// Steps straight down the gradient: `x − lr · g`. There is no momentum.
///
/// ```
/// use tallow::{Device, Var};
/// use tallow_nn::{Optimizer, SGD};
/// let x = Var::new(3f32, &Device::Cpu)?;
/// SGD::from_slice(&[&x], 0.1)?.backward_step(&x.sqr()?)?;
/// assert_eq!(x.to_scalar::<f32>()?, 3. - 0.1 * 6.);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Debug)]
pub struct SGD {
    vars: Vec<Var>,
    learning_rate: f64,
}

impl SGD {
    /// The variables.
    pub fn into_inner(self) -> Vec<Var> {
        self.vars
    }

    /// Takes one more variable.
    pub fn push(&mut self, var: &Var) {
        self.vars.push(var.clone());
    }
}

impl Optimizer for SGD {
    /// The learning rate.
    type Config = f64;

    fn new(vars: Vec<Var>, learning_rate: f64) -> Result<Self> {
        let vars = vars
            .into_iter()
            .filter(|var| var.dtype().is_float())
            .collect();
        Ok(Self {
            vars,
            learning_rate,
        })
    }

    fn step(&mut self, grads: &GradStore) -> Result<()> {
        for var in &self.vars {
            let Some((value, gradient)) = wide_with_gradient(var, grads)? else {
                continue;
            };
            let moved = value.sub(&gradient.affine(self.learning_rate, 0.0)?)?;
            var.set(&moved.to_dtype(var.dtype())?)?;
        }
        Ok(())
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    fn set_learning_rate(&mut self, lr: f64) {
        self.learning_rate = lr;
    }
}

/// The numbers that steer [`AdamW`].
#[derive(Clone, Debug)]
pub struct ParamsAdamW {
    /// How far a step goes.
    pub lr: f64,
    /// How much of the mean gradient is kept from step to step.
    pub beta1: f64,
    /// How much of the mean squared gradient is kept.
    pub beta2: f64,
    /// Added to the root of the mean square.
    pub eps: f64,
    /// The share of a variable that a step of length 1 takes away.
    pub weight_decay: f64,
}

impl Default for ParamsAdamW {
    fn default() -> Self {
        Self {
            lr: 0.001,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.01,
        }
    }
}

/// A variable and its running means.
#[derive(Debug)]
struct Moments {
    var: Var,
    first: Tensor,
    second: Tensor,
}

/// Adam with weight decay apart from the gradient (Loshchilov and Hutter 2019). In step t
///
/// ```text
/// m ← β₁ m + (1 − β₁) g        v ← β₂ v + (1 − β₂) g²
/// x ← x (1 − lr λ) − lr · m / (1 − β₁ᵗ) / (√(v / (1 − β₂ᵗ)) + eps)
/// ```
///
/// where g is the gradient and λ the weight decay.
///
/// ```
/// use tallow::{Device, Var};
/// use tallow_nn::{AdamW, Optimizer, ParamsAdamW};
/// let x = Var::new(3f32, &Device::Cpu)?;
/// let params = ParamsAdamW { lr: 0.5, weight_decay: 0.0, ..Default::default() };
/// AdamW::new(vec![x.clone()], params)?.backward_step(&x.sqr()?)?;
/// assert!((x.to_scalar::<f32>()? - 2.5).abs() < 1e-5);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Debug)]
pub struct AdamW {
    moments: Vec<Moments>,
    steps: usize,
    params: ParamsAdamW,
}

impl AdamW {
    /// An optimizer of some variables; everything but the learning rate has its default.
    pub fn new_lr(vars: Vec<Var>, learning_rate: f64) -> Result<Self> {
        Self::new(
            vars,
            ParamsAdamW {
                lr: learning_rate,
                ..Default::default()
            },
        )
    }

    /// The numbers that steer it.
    pub fn params(&self) -> &ParamsAdamW {
        &self.params
    }

    /// Sets the numbers that steer it; the running means stay.
    pub fn set_params(&mut self, params: ParamsAdamW) {
        self.params = params;
    }
}

impl Optimizer for AdamW {
    type Config = ParamsAdamW;

    fn new(vars: Vec<Var>, params: ParamsAdamW) -> Result<Self> {
        let moments = |var: Var| {
            let zeros = || Tensor::zeros(var.shape(), wide(var.dtype()), var.device());
            let (first, second) = (zeros()?, zeros()?);
            Ok(Moments { var, first, second })
        };
        let vars = vars.into_iter().filter(|var| var.dtype().is_float());
        Ok(Self {
            moments: vars.map(moments).collect::<Result<_>>()?,
            steps: 0,
            params,
        })
    }

    fn step(&mut self, grads: &GradStore) -> Result<()> {
        self.steps += 1;
        let ParamsAdamW {
            lr,
            beta1,
            beta2,
            eps,
            weight_decay,
        } = self.params;
        let steps = self.steps as f64;
        // Both means start at 0; the divisions make up for it.
        let numbers = AdamwStep {
            beta1,
            beta2,
            eps,
            keep: 1.0 - lr * weight_decay,
            length: lr / (1.0 - beta1.powf(steps)),
            root: (1.0 - beta2.powf(steps)).sqrt().recip(),
        };
        for Moments { var, first, second } in &mut self.moments {
            let Some((value, gradient)) = wide_with_gradient(var, grads)? else {
                continue;
            };
            let stepped = adamw_step(&value, &gradient, first, second, numbers)?;
            (*first, *second) = (stepped.first, stepped.second);
            var.set(&stepped.value.to_dtype(var.dtype())?)?;
        }
        Ok(())
    }

    fn learning_rate(&self) -> f64 {
        self.params.lr
    }

    fn set_learning_rate(&mut self, lr: f64) {
        self.params.lr = lr;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, values};
    use tallow::{DType, Device};

    const START: [f64; 3] = [1., -2., 0.5];

    /// The loss Σ k xᵏ⁺¹ / (k + 1) … of which the gradients are x² + x.
    fn loss(x: &Var) -> Result<Tensor> {
        let cubes = x.sqr()?.mul(x.as_tensor())?.affine(1. / 3., 0.)?;
        cubes.add(&x.sqr()?.affine(0.5, 0.)?)?.sum_all()
    }

    fn gradient(x: f64) -> f64 {
        x * x + x
    }

    #[test]
    fn sgd_takes_the_steps_of_its_formula() -> Result<()> {
        for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-6), (DType::BF16, 2e-2)] {
            let x = Var::from_tensor(&Tensor::new(&START, &Device::Cpu)?.to_dtype(dtype)?)?;
            let mut want = values(&x)?;
            let mut sgd = SGD::new(vec![x.clone()], 0.1)?;
            for lr in [0.1, 0.1, 0.05] {
                sgd.set_learning_rate(lr);
                sgd.backward_step(&loss(&x)?)?;
                want.iter_mut().for_each(|x| *x -= lr * gradient(*x));
            }
            assert_near(&x, &[3], &want, tolerance);
            assert_eq!((sgd.learning_rate(), x.dtype()), (0.05, dtype));
        }
        Ok(())
    }

    #[test]
    fn adamw_takes_the_steps_of_its_formula() -> Result<()> {
        let params = ParamsAdamW {
            lr: 0.1,
            beta1: 0.8,
            beta2: 0.95,
            eps: 1e-3,
            weight_decay: 0.3,
        };
        for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-6), (DType::F16, 4e-3)] {
            let x = Var::from_tensor(&Tensor::new(&START, &Device::Cpu)?.to_dtype(dtype)?)?;
            let mut adamw = AdamW::new(vec![x.clone()], params.clone())?;
            let mut want: Vec<[f64; 3]> = values(&x)?.into_iter().map(|x| [x, 0., 0.]).collect();
            for step in 1..=5 {
                adamw.backward_step(&loss(&x)?)?;
                for [x, m, v] in &mut want {
                    let g = gradient(*x);
                    *m = 0.8 * *m + 0.2 * g;
                    *v = 0.95 * *v + 0.05 * g * g;
                    let mean = *m / (1. - 0.8f64.powi(step));
                    let root = (*v / (1. - 0.95f64.powi(step))).sqrt();
                    *x = *x * (1. - 0.1 * 0.3) - 0.1 * mean / (root + 1e-3);
                }
            }
            let want: Vec<f64> = want.into_iter().map(|[x, _, _]| x).collect();
            assert_near(&x, &[3], &want, tolerance);
        }
        Ok(())
    }

    #[test]
    fn steps_leave_no_graph_and_share_the_variable() -> Result<()> {
        let x = Var::new(&START, &Device::Cpu)?;
        let view = x.as_tensor().clone();
        let mut adamw = AdamW::new_lr(vec![x.clone()], 0.1)?;
        adamw.backward_step(&loss(&x)?)?;
        assert_eq!(view.to_vec1::<f64>()?, x.to_vec1::<f64>()?);
        assert!(!adamw.moments[0].first.track_op() && !adamw.moments[0].second.track_op());
        Ok(())
    }

    #[test]
    fn integers_and_strangers_to_the_loss_stay() -> Result<()> {
        let (x, stranger) = (
            Var::new(&START, &Device::Cpu)?,
            Var::new(7f32, &Device::Cpu)?,
        );
        let whole = Var::new(&[3u32], &Device::Cpu)?;
        let all = [&x, &stranger, &whole];
        let mut sgd = SGD::from_slice(&all, 0.5)?;
        let mut adamw = AdamW::from_slice(&all, ParamsAdamW::default())?;
        sgd.backward_step(&loss(&x)?)?;
        adamw.backward_step(&loss(&x)?)?;
        assert_eq!(stranger.to_scalar::<f32>()?, 7.);
        assert_eq!(whole.to_vec1::<u32>()?, [3]);
        assert_eq!(sgd.into_inner().len(), 2);
        let mut pushed = SGD::empty(0.5)?;
        pushed.push(&stranger);
        assert_eq!(pushed.into_inner().len(), 1);
        adamw.set_params(ParamsAdamW {
            lr: 2.0,
            ..adamw.params().clone()
        });
        assert_eq!(adamw.learning_rate(), 2.0);
        Ok(())
    }
}
