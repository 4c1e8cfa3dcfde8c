//! The derivatives of the binary functions: the gradients with respect to both operands, from that
//! with respect to the result, `u`.

use crate::{Result, Tensor};

/// From the operands, the result and the gradient with respect to the result, those with respect to
/// the operands.
pub(super) type Slopes = fn([&Tensor; 2], &Tensor, &Tensor) -> Result<[Tensor; 2]>;

pub(super) fn add(_: [&Tensor; 2], _: &Tensor, u: &Tensor) -> Result<[Tensor; 2]> {
    Ok([u.clone(), u.clone()])
}

pub(super) fn sub(_: [&Tensor; 2], _: &Tensor, u: &Tensor) -> Result<[Tensor; 2]> {
    Ok([u.clone(), u.neg()?])
}

pub(super) fn mul([a, b]: [&Tensor; 2], _: &Tensor, u: &Tensor) -> Result<[Tensor; 2]> {
    Ok([u.mul(b)?, u.mul(a)?])
}

/// u / b, and −u · a / b²: of three roundings, the quotient's is the last.
pub(super) fn div([a, b]: [&Tensor; 2], _: &Tensor, u: &Tensor) -> Result<[Tensor; 2]> {
    let for_b = u.mul(a)?.div(&b.mul(b)?)?.neg()?;
    Ok([u.div(b)?, for_b])
}

/// To the operand that was chosen; half to each where they are equal.
pub(super) fn chosen([a, b]: [&Tensor; 2], y: &Tensor, u: &Tensor) -> Result<[Tensor; 2]> {
    let share = a.eq(b)?.where_cond(&u.affine(0.5, 0.0)?, u)?;
    let zeros = u.zeros_like()?;
    let of = |operand: &Tensor| operand.eq(y)?.where_cond(&share, &zeros);
    Ok([of(a)?, of(b)?])
}

/// b · aᵇ⁻¹, which is 0 for b = 0; and aᵇ · ln a, which is 0 for a = 0 below a positive b.
pub(super) fn pow([a, b]: [&Tensor; 2], y: &Tensor, u: &Tensor) -> Result<[Tensor; 2]> {
    let zeros = u.zeros_like()?;
    let slope = b.mul(&a.pow(&b.affine(1.0, -1.0)?)?)?;
    let for_a = b.eq(0.0)?.where_cond(&zeros, &u.mul(&slope)?)?;
    let at_zero = a.eq(0.0)?.mul(&b.ge(0.0)?)?;
    let for_b = at_zero.where_cond(&zeros, &u.mul(&y.mul(&a.log()?)?)?)?;
    Ok([for_a, for_b])
}
