//! Selection: `out[i] = condition[i] ≠ 0 ? on_true[i] : on_false[i]`.
//!
//! All three have one shape (broadcast with `broadcast_as` first). The condition is of any integer
//! dtype. Values are moved, never computed with: NaN payloads and zeros' signs survive.

mod cases;
mod cpu;
mod gpu;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor};
use smallvec::smallvec;

const NAME: &str = "where_cond";

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "select",
    ops: &[OpInfo {
        name: NAME,
        dtypes: &DType::COMPUTE,
    }],
    cases: cases::cases,
    draw: cases::draw,
};

struct WhereCond;

impl Op for WhereCond {
    fn name(&self) -> &'static str {
        NAME
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let [condition, on_true, on_false] = [inputs[0], inputs[1], inputs[2]];
        let (shape, dtype) = (
            super::binary::same_shape(on_true, on_false, NAME)?,
            on_true.dtype(),
        );
        if condition.shape() != shape {
            let (lhs, rhs) = (condition.shape().clone(), shape.clone());
            return Err(Error::ShapeMismatchBinaryOp { lhs, rhs, op: NAME });
        }
        if !condition.dtype().is_int() {
            return Err(Error::UnsupportedDTypeForOp(
                condition.dtype(),
                "where_cond: condition",
            ));
        }
        Ok((shape.clone(), dtype))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::run([inputs[0], inputs[1], inputs[2]], out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::run([inputs[0], inputs[1], inputs[2]], out)
    }
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let (condition, zeros) = (inputs[0], upstream.zeros_like()?);
        let for_true = condition.where_cond(upstream, &zeros)?;
        let for_false = condition.where_cond(&zeros, upstream)?;
        Ok(smallvec![None, Some(for_true), Some(for_false)])
    }
}

impl Tensor {
    /// Where this condition is not 0 the elements of `on_true`, elsewhere those of `on_false`. The
    /// condition is of an integer dtype; all three have one shape, the two choices one dtype.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
    /// let y = Tensor::new(&[-1f32, -2.], &Device::Cpu)?;
    /// let condition = Tensor::new(&[0u8, 1], &Device::Cpu)?;
    /// assert_eq!(condition.where_cond(&x, &y)?.to_vec1::<f32>()?, [-1., 2.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn where_cond(&self, on_true: &Self, on_false: &Self) -> Result<Self> {
        apply(WhereCond, &[self, on_true, on_false])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn operands_that_do_not_fit_are_errors() -> Result<()> {
        let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
        let condition = Tensor::new(&[1u8, 0], &Device::Cpu)?;
        assert!(x.where_cond(&x, &x).is_err(), "a float condition");
        assert!(
            condition
                .where_cond(&x, &Tensor::new(&[1f64, 2.], &Device::Cpu)?)
                .is_err()
        );
        assert!(
            condition
                .where_cond(&x, &Tensor::new(&[1f32], &Device::Cpu)?)
                .is_err()
        );
        assert!(Tensor::new(1u8, &Device::Cpu)?.where_cond(&x, &x).is_err());
        Ok(())
    }
}
