//! Functions of one tensor with numbers as parameters: `affine`, `powf`, `elu`, `clamp`.
//!
//! f16, bf16 and f8e4m3 compute in f32, with the parameters as f32, and round once. Integers are
//! exact: whole parameters wrap like the type's arithmetic; a result that is not whole is an error.

mod cases;
mod cpu;
mod gpu;
mod slopes;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::scalar::{Place, Scalar, TensorOrScalar, TensorScalar};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor};
use cpu::Formula;
use slopes::Slope;
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "affine",
    ops: &[info("affine"), info("powf"), info("elu"), info("clamp")],
    cases: cases::cases,
    draw: cases::draw,
};

const fn info(name: &'static str) -> OpInfo {
    OpInfo {
        name,
        dtypes: &DType::COMPUTE,
    }
}

/// x · scale + shift; `whole` has both as integers, if both are.
#[derive(Clone, Copy)]
struct Affine {
    scale: f64,
    shift: f64,
    whole: Option<(i64, i64)>,
}

/// x to the power of a number; `whole` has it as an integer, if it is one.
#[derive(Clone, Copy)]
struct Powf {
    exponent: f64,
    whole: Option<i64>,
}

/// x from 0 on, alpha · (eˣ - 1) below.
#[derive(Clone, Copy)]
struct Elu {
    alpha: f64,
}

/// x, but at least one number and at most another; `whole` has both as the dtype's integers.
#[derive(Clone, Copy)]
struct Clamp {
    least: f64,
    most: f64,
    whole: (i64, i64),
}

/// A formula as an operation.
struct Parametric<F>(F);

impl<F: Formula + Slope + gpu::Parameters + 'static> Op for Parametric<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let dtype = inputs[0].dtype();
        match DType::COMPUTE.contains(&dtype) {
            true => Ok((inputs[0].shape().clone(), dtype)),
            false => Err(Error::UnsupportedDTypeForOp(dtype, F::NAME)),
        }
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::run(self.0, inputs[0], out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::run(self.0, inputs[0], out)
    }
    fn gradient(&self, inputs: &[&Tensor], out: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        Ok(smallvec![Some(self.0.gradient(inputs[0], out, upstream)?)])
    }
}

fn whole(value: f64) -> Option<i64> {
    match Scalar::F64(value).among_integers() {
        Place::At(value) => Some(value),
        _ => None,
    }
}

impl Tensor {
    /// x · mul + add, rounded once where the processor can. For integers whole numbers wrap, and a
    /// result that is not whole is an error.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
    /// assert_eq!(x.affine(2., 1.)?.to_vec1::<f32>()?, [3., 5.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn affine(&self, mul: f64, add: f64) -> Result<Self> {
        let whole = whole(mul).zip(whole(add));
        apply(
            Parametric(Affine {
                scale: mul,
                shift: add,
                whole,
            }),
            &[self],
        )
    }

    /// Each element to the power of a number, with the special values of IEEE 754's pow (see
    /// [`pow`](Self::pow)). For integers a result that is not whole is an error, and so is a power
    /// that is not whole.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[4f32, -2.], &Device::Cpu)?;
    /// assert_eq!(x.powf(3.)?.to_vec1::<f32>()?, [64., -8.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn powf(&self, e: f64) -> Result<Self> {
        apply(
            Parametric(Powf {
                exponent: e,
                whole: whole(e),
            }),
            &[self],
        )
    }

    /// The exponential linear unit: x where it is positive, else alpha · (eˣ - 1) (Clevert,
    /// Unterthiner and Hochreiter 2015). Negative integers are an error unless alpha is 0.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[2f32, f32::NEG_INFINITY], &Device::Cpu)?;
    /// assert_eq!(x.elu(0.5)?.to_vec1::<f32>()?, [2., -0.5]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn elu(&self, alpha: f64) -> Result<Self> {
        apply(Parametric(Elu { alpha }), &[self])
    }

    /// At least `min`, and then at most `max`, each a number or a tensor of this shape; NaN stays.
    /// Errors for integers beside a number with a fraction.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[-3f32, 0.5, 9.], &Device::Cpu)?;
    /// assert_eq!(x.clamp(0f32, 1f32)?.to_vec1::<f32>()?, [0., 0.5, 1.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn clamp<T1: TensorOrScalar, T2: TensorOrScalar>(&self, min: T1, max: T2) -> Result<Self> {
        match (min.to_tensor_scalar()?, max.to_tensor_scalar()?) {
            (TensorScalar::Scalar(min), TensorScalar::Scalar(max)) => {
                self.clamp_numbers(&min, &max)
            }
            (TensorScalar::Tensor(min), TensorScalar::Tensor(max)) => {
                self.maximum(&min)?.minimum(&max)
            }
            (TensorScalar::Scalar(min), TensorScalar::Tensor(max)) => self
                .clamp_numbers(&min, &Tensor::new(f64::INFINITY, self.device())?)?
                .minimum(&max),
            (TensorScalar::Tensor(min), TensorScalar::Scalar(max)) => {
                let least = Tensor::new(f64::NEG_INFINITY, self.device())?;
                self.maximum(&min)?.clamp_numbers(&least, &max)
            }
        }
    }

    fn clamp_numbers(&self, min: &Tensor, max: &Tensor) -> Result<Self> {
        let bound = |bound: &Tensor| {
            Scalar::of(&Scalar::of(bound)?.beside(self.dtype(), self.device(), "clamp")?)
        };
        let (least, most) = (bound(min)?, bound(max)?);
        // Bounds of integers are integers here; floats do not look at these.
        let whole = match (least.among_integers(), most.among_integers()) {
            (Place::At(least), Place::At(most)) => (least, most),
            _ => (0, 0),
        };
        let (least, most) = (least.to_f64(), most.to_f64());
        apply(Parametric(Clamp { least, most, whole }), &[self])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn integers_are_exact_or_refused() -> Result<()> {
        let x = Tensor::new(&[2i64, -4], &Device::Cpu)?;
        assert_eq!(x.affine(0.5, 1.0)?.to_vec1::<i64>()?, [2, -1]);
        let error = x
            .affine(0.25, 0.0)
            .map(|_| ())
            .map_err(|error| error.to_string());
        let want = "affine: x · 0.25 + 0 of i64 values is not whole; cast to a float dtype";
        assert_eq!(error, Err(want.to_string()));
        let big = Tensor::new(&[i64::MAX], &Device::Cpu)?;
        assert_eq!(big.affine(2.0, 1.0)?.to_vec1::<i64>()?, [-1]);
        assert!(big.affine(0.5, 0.0).is_err() && x.affine(f64::NAN, 0.0).is_err());
        Ok(())
    }

    #[test]
    fn powers_and_elu_of_integers_are_exact_or_refused() -> Result<()> {
        let x = Tensor::new(&[3i32, -1, 0], &Device::Cpu)?;
        assert_eq!(x.powf(2.0)?.to_vec1::<i32>()?, [9, 1, 0]);
        assert!(x.powf(0.5).is_err() && x.powf(-1.0).is_err());
        assert!(x.elu(1.0).is_err());
        assert_eq!(x.elu(0.0)?.to_vec1::<i32>()?, [3, 0, 0]);
        Ok(())
    }

    #[test]
    fn clamp_takes_numbers_and_tensors() -> Result<()> {
        let x = Tensor::new(&[0u8, 100, 255], &Device::Cpu)?;
        assert_eq!(x.clamp(-5i64, 300f32)?.to_vec1::<u8>()?, [0, 100, 255]);
        assert_eq!(x.clamp(7u8, &x)?.to_vec1::<u8>()?, [0, 100, 255]);
        assert_eq!(x.clamp(&x, 30u8)?.to_vec1::<u8>()?, [0, 30, 30]);
        assert!(x.clamp(0.5, 9.0).is_err());
        let big = Tensor::new(&[i64::MAX, 5], &Device::Cpu)?;
        assert_eq!(
            big.clamp(i64::MAX - 1, i64::MAX)?.to_vec1::<i64>()?,
            [i64::MAX, i64::MAX - 1]
        );
        let nan = Tensor::new(&[f64::NAN], &Device::Cpu)?.clamp(0.0, 1.0)?;
        assert!(nan.to_vec1::<f64>()?[0].is_nan());
        Ok(())
    }
}
