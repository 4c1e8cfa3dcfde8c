//! The derivatives of the unary functions: upstream `u` times f'(x), where `y` is f(x).

use crate::{Result, Tensor};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

/// From the operand, the result and the gradient with respect to the result, that with respect to
/// the operand.
pub(super) type Slope = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;

pub(super) fn exp(_: &Tensor, y: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.mul(y)
}

pub(super) fn log(x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.div(x)
}

pub(super) fn sin(x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.mul(&x.cos()?)
}

pub(super) fn cos(x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.mul(&x.sin()?)?.neg()
}

pub(super) fn tanh(_: &Tensor, y: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.mul(&y.sqr()?.affine(-1.0, 1.0)?)
}

pub(super) fn erf(x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.mul(&x.sqr()?.neg()?.exp()?)?.affine(FRAC_2_SQRT_PI, 0.0)
}

pub(super) fn sqrt(_: &Tensor, y: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.div(y)?.affine(0.5, 0.0)
}

pub(super) fn rsqrt(x: &Tensor, y: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.mul(&y.div(x)?)?.affine(-0.5, 0.0)
}

pub(super) fn recip(_: &Tensor, y: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.mul(&y.sqr()?)?.neg()
}

pub(super) fn sqr(x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.mul(x)?.affine(2.0, 0.0)
}

/// 0 at 0, the middle of the slopes on either side.
pub(super) fn abs(x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.mul(&x.sign()?)
}

pub(super) fn neg(_: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.neg()
}

/// Of functions that go up in steps.
pub(super) fn flat(_: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.zeros_like()
}

/// 0 at 0.
pub(super) fn relu(x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    x.gt(0.0)?.where_cond(u, &u.zeros_like()?)
}

/// For x · σ(g(x)) with g(x) = 2(a·x + b·x³), the tanh form: σ + x · σ · (1 − σ) · g'(x).
pub(super) fn gelu(x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    let linear = 2.0 * (2.0 / PI).sqrt();
    let square = x.sqr()?;
    let inner = x.mul(&square.affine(0.044715 * linear, linear)?)?;
    let gate = inner.sigmoid()?;
    let slope = square.affine(3.0 * 0.044715 * linear, linear)?;
    gated(x, &gate, &slope, u)
}

/// σ + x · σ · (1 − σ) · slope, times u.
fn gated(x: &Tensor, gate: &Tensor, slope: &Tensor, u: &Tensor) -> Result<Tensor> {
    let growth = gate.mul(&gate.affine(-1.0, 1.0)?)?.mul(slope)?;
    u.mul(&gate.add(&x.mul(&growth)?)?)
}

/// Φ(x) + x · φ(x).
pub(super) fn gelu_erf(x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    let cumulative = x.affine(FRAC_1_SQRT_2, 0.0)?.erf()?.affine(0.5, 0.5)?;
    let density = x.sqr()?.affine(-0.5, 0.0)?.exp()?;
    let density = density.affine((2.0 * PI).sqrt().recip(), 0.0)?;
    u.mul(&cumulative.add(&x.mul(&density)?)?)
}

pub(super) fn silu(x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
    let gate = x.sigmoid()?;
    gated(x, &gate, &x.ones_like()?, u)
}

pub(super) fn sigmoid(_: &Tensor, y: &Tensor, u: &Tensor) -> Result<Tensor> {
    u.mul(&y.mul(&y.affine(-1.0, 1.0)?)?)
}
