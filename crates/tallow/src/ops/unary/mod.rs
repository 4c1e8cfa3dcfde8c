//! Unary functions, element by element: `y[i] = f(x[i])`.
//!
//! [`formulas`] is the table: each function is written once for vectors of f32 (which also serve
//! f16, bf16 and f8e4m3: widened in registers, rounded once), once for f64, and, where integers
//! have an exact answer, once for them. Everything else here serves all of them alike.
//!
//! NaN gives NaN. Integers are refused by the functions that have no exact integer answer; where
//! they are taken, overflow wraps (`-i64::MIN` is `i64::MIN`).

mod cases;
mod cpu;
mod formulas;
mod gpu;
mod slopes;

pub use formulas::FAMILY;

use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor};
use formulas::Formula;
use smallvec::smallvec;

/// A formula as an operation.
struct Unary<F>(F);

impl<F: Formula> Op for Unary<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (shape, dtype) = (inputs[0].shape().clone(), inputs[0].dtype());
        match F::DTYPES.contains(&dtype) {
            true => Ok((shape, dtype)),
            false => Err(Error::UnsupportedDTypeForOp(dtype, F::NAME)),
        }
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::run(self.0, inputs[0], out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::run(F::NAME, F::KERNEL, inputs[0], out)
    }
    fn gradient(&self, inputs: &[&Tensor], y: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        Ok(smallvec![Some(F::gradient(inputs[0], y, upstream)?)])
    }
}

fn unary<F: Formula>(formula: F, x: &Tensor) -> Result<Tensor> {
    apply(Unary(formula), &[x])
}
