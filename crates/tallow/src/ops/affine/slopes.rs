//! The derivatives: from the operand `x`, the result `y` and the gradient with respect to the
//! result, `u`, that with respect to the operand.

use super::{Affine, Clamp, Elu, Powf};
use crate::{Result, Tensor};

/// The slope of a function of one number with parameters.
pub(super) trait Slope {
    fn gradient(&self, x: &Tensor, y: &Tensor, u: &Tensor) -> Result<Tensor>;
}

impl Slope for Affine {
    fn gradient(&self, _: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
        u.affine(self.scale, 0.0)
    }
}

impl Slope for Powf {
    fn gradient(&self, x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
        // x⁰ is 1 everywhere, at 0 as well.
        if self.exponent == 0.0 {
            return u.zeros_like();
        }
        let slope = x.powf(self.exponent - 1.0)?;
        u.mul(&slope.affine(self.exponent, 0.0)?)
    }
}

impl Slope for Elu {
    fn gradient(&self, x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
        let below = x.minimum(0.0)?.exp()?.affine(self.alpha, 0.0)?;
        x.gt(0.0)?.where_cond(u, &u.mul(&below)?)
    }
}

impl Slope for Clamp {
    fn gradient(&self, x: &Tensor, _: &Tensor, u: &Tensor) -> Result<Tensor> {
        let within = x.ge(self.least)?.mul(&x.le(self.most)?)?;
        within.where_cond(u, &u.zeros_like()?)
    }
}
