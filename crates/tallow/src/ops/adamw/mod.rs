//! A step of Adam with weight decay apart from the gradient (Loshchilov and Hutter 2019).
//!
//! Of a variable x, its gradient g, and the running means m and v:
//!
//! ```text
//! m′ = β₁ m + (1 − β₁) g        v′ = β₂ v + (1 − β₂) g²
//! x′ = x · keep − m′ · length / (√v′ · root + eps)
//! ```
//!
//! where keep is 1 − lr λ, length lr / (1 − β₁ᵗ) and root 1 / √(1 − β₂ᵗ). Step by step that is
//! fourteen passes over memory; here it is one, on the processor. A GPU composes it.

mod cases;
mod cpu;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Device, Error, Result, Shape, Tensor};
use smallvec::smallvec;

const NAME: &str = "adamw_step";

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "adamw",
    ops: &[OpInfo {
        name: NAME,
        dtypes: &[DType::F32, DType::F64],
    }],
    cases: cases::cases,
    draw: cases::draw,
};

/// The numbers of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamwStep {
    /// The share of the mean gradient that is kept.
    pub beta1: f64,
    /// The share of the mean squared gradient that is kept.
    pub beta2: f64,
    /// Added to the root.
    pub eps: f64,
    /// The share of the variable that is kept.
    pub keep: f64,
    /// How far the mean gradient moves the variable.
    pub length: f64,
    /// The factor of the mean square's root.
    pub root: f64,
}

/// What a step makes of its operands.
#[derive(Clone, Debug)]
pub struct Stepped {
    /// The variable.
    pub value: Tensor,
    /// The mean gradient.
    pub first: Tensor,
    /// The mean squared gradient.
    pub second: Tensor,
}

/// One step. All four are of one shape and of f32 or f64.
///
/// ```
/// use tallow::{Device, Tensor, ops::{AdamwStep, adamw_step}};
/// let [x, zero] = [3f32, 0.].map(|value| Tensor::new(value, &Device::Cpu));
/// let (x, zero) = (x?, zero?);
/// let (beta1, beta2) = (0.5, 0.75);
/// let numbers = AdamwStep { beta1, beta2, eps: 0., keep: 1., length: 2., root: 2. };
/// let stepped = adamw_step(&x, &x, &zero, &zero, numbers)?;
/// assert_eq!(stepped.first.to_scalar::<f32>()?, 1.5);
/// assert_eq!(stepped.second.to_scalar::<f32>()?, 2.25);
/// assert_eq!(stepped.value.to_scalar::<f32>()?, 3. - 1.5 * 2. / (1.5 * 2.));
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn adamw_step(
    value: &Tensor,
    gradient: &Tensor,
    first: &Tensor,
    second: &Tensor,
    numbers: AdamwStep,
) -> Result<Stepped> {
    let inputs = [value, gradient, first, second];
    let [value, first, second] = match value.device() {
        Device::Cpu => {
            let all = apply(numbers, &inputs)?;
            [all.get(0)?, all.get(1)?, all.get(2)?]
        }
        Device::Cuda(_) | Device::Metal(_) | Device::OpenCl(_) => {
            numbers.infer(&inputs)?;
            composed(inputs, numbers)?
        }
    };
    Ok(Stepped {
        value,
        first,
        second,
    })
}

fn composed([x, g, m, v]: [&Tensor; 4], numbers: AdamwStep) -> Result<[Tensor; 3]> {
    let mixed = |mean: &Tensor, new: &Tensor, beta: f64| {
        mean.affine(beta, 0.0)?.add(&new.affine(1.0 - beta, 0.0)?)
    };
    let m = mixed(m, g, numbers.beta1)?;
    let v = mixed(v, &g.sqr()?, numbers.beta2)?;
    let divisor = v.sqrt()?.affine(numbers.root, numbers.eps)?;
    let step = m.affine(numbers.length, 0.0)?.div(&divisor)?;
    let x = x.affine(numbers.keep, 0.0)?.sub(&step)?;
    Ok([x, m, v])
}

impl Op for AdamwStep {
    fn name(&self) -> &'static str {
        NAME
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let value = inputs[0];
        for other in &inputs[1..] {
            super::binary::same_shape(value, other, NAME)?;
        }
        match value.dtype() {
            dtype @ (DType::F32 | DType::F64) => {
                let dims = [&[3], value.dims()].concat();
                Ok((Shape::from(dims), dtype))
            }
            other => Err(Error::UnsupportedDTypeForOp(other, NAME)),
        }
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::run(*self, [inputs[0], inputs[1], inputs[2], inputs[3]], out)
    }

    fn gradient(
        &self,
        inputs: &[&Tensor],
        output: &Tensor,
        upstream: &Tensor,
    ) -> Result<Gradients> {
        let [_, g, m, v] = [inputs[0], inputs[1], inputs[2], inputs[3]];
        let mean = output.get(1)?;
        let [for_x, for_m, for_v] = [upstream.get(0)?, upstream.get(1)?, upstream.get(2)?];
        let root = output.get(2)?.sqrt()?;
        let divisor = root.affine(self.root, self.eps)?;
        // By m′: 1 of its own, and −length / divisor of x′.
        let share = for_x.affine(self.length, 0.0)?.div(&divisor)?;
        let by_mean = for_m.sub(&share)?;
        // By v′: the root's slope is 1 / (2 √v′).
        let slope = mean
            .div(&divisor)?
            .div(&root)?
            .affine(self.root * 0.5, 0.0)?;
        let by_square = for_v.add(&share.mul(&slope)?)?;
        let by_gradient = by_square.mul(g)?.affine(2.0 * (1.0 - self.beta2), 0.0)?;
        let by_gradient = by_gradient.add(&by_mean.affine(1.0 - self.beta1, 0.0)?)?;
        let wanted = |x: &Tensor, gradient: Tensor| x.track_op().then_some(gradient);
        Ok(smallvec![
            Some(for_x.affine(self.keep, 0.0)?),
            Some(by_gradient),
            wanted(m, by_mean.affine(self.beta1, 0.0)?),
            wanted(v, by_square.affine(self.beta2, 0.0)?),
        ])
    }
}
