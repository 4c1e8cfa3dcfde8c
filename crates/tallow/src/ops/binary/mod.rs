//! Functions of two tensors, element by element: `out[i] = f(lhs[i], rhs[i])`.
//!
//! [`formulas`] is the table. Both operands have one dtype. `add` and its like want one shape;
//! `broadcast_add` and its like stretch sizes of 1 by numpy's rule. Operators (`&a + &b`, `&a *
//! 2.`) are in [`operators`].
//!
//! f16, bf16 and f8e4m3 compute in f32 and round once. NaN propagates, through `maximum` and
//! `minimum` too. Integers wrap; where they have no answer (division by 0, negative powers) the
//! operation is an error.

mod cases;
mod cpu;
mod formulas;
mod gpu;
mod operators;
mod slopes;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::scalar::{Scalar, TensorOrScalar, TensorScalar};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor};
use formulas::{Add, Div, Formula, Maximum, Minimum, Mul, Pow, Sub};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "binary",
    ops: &[
        info("add"),
        info("sub"),
        info("mul"),
        info("div"),
        info("maximum"),
        info("minimum"),
        info("pow"),
        info("broadcast_add"),
        info("broadcast_sub"),
        info("broadcast_mul"),
        info("broadcast_div"),
        info("broadcast_maximum"),
        info("broadcast_minimum"),
        info("broadcast_pow"),
    ],
    cases: cases::cases,
    draw: cases::draw,
};

const fn info(name: &'static str) -> OpInfo {
    OpInfo {
        name,
        dtypes: &DType::COMPUTE,
    }
}

/// A formula as an operation.
struct Binary<F>(F);

impl<F: Formula> Op for Binary<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }
    #[inline]
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        Ok((
            same_shape(inputs[0], inputs[1], F::NAME)?.clone(),
            inputs[0].dtype(),
        ))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::run(self.0, [inputs[0], inputs[1]], out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::run(
            F::NAME,
            F::KERNEL,
            F::REFUSAL.is_some(),
            [inputs[0], inputs[1]],
            out,
        )
    }
    fn gradient(&self, inputs: &[&Tensor], out: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let [lhs, rhs] = F::gradient([inputs[0], inputs[1]], out, upstream)?;
        Ok(smallvec![Some(lhs), Some(rhs)])
    }
}

/// The shape that both operands have; an error if shapes or dtypes differ.
pub(super) fn same_shape<'a>(lhs: &'a Tensor, rhs: &Tensor, op: &'static str) -> Result<&'a Shape> {
    if lhs.shape() != rhs.shape() {
        let (lhs, rhs) = (lhs.shape().clone(), rhs.shape().clone());
        return Err(Error::ShapeMismatchBinaryOp { lhs, rhs, op });
    }
    if lhs.dtype() != rhs.dtype() {
        let (lhs, rhs) = (lhs.dtype(), rhs.dtype());
        return Err(Error::DTypeMismatchBinaryOp { lhs, rhs, op });
    }
    Ok(lhs.shape())
}

/// Both operands stretched to the shape that they have in common.
pub(super) fn stretch(lhs: &Tensor, rhs: &Tensor, op: &'static str) -> Result<[Tensor; 2]> {
    if lhs.shape() == rhs.shape() {
        return Ok([lhs.clone(), rhs.clone()]);
    }
    let shape = lhs.shape().broadcast_shape_binary_op(rhs.shape(), op)?;
    Ok([lhs.broadcast_as(&shape)?, rhs.broadcast_as(&shape)?])
}

fn binary<F: Formula>(formula: F, lhs: &Tensor, rhs: &Tensor) -> Result<Tensor> {
    apply(Binary(formula), &[lhs, rhs])
}

fn broadcast<F: Formula>(formula: F, lhs: &Tensor, rhs: &Tensor) -> Result<Tensor> {
    let [lhs, rhs] = stretch(lhs, rhs, F::BROADCAST_NAME)?;
    binary(formula, &lhs, &rhs)
}

/// The right operand may be a number.
fn binary_or_scalar<F: Formula>(
    formula: F,
    lhs: &Tensor,
    rhs: impl TensorOrScalar,
) -> Result<Tensor> {
    match rhs.to_tensor_scalar()? {
        TensorScalar::Tensor(rhs) => binary(formula, lhs, &rhs),
        TensorScalar::Scalar(rhs) => {
            let rhs = Scalar::of(&rhs)?.beside(lhs.dtype(), lhs.device(), F::NAME)?;
            binary(formula, lhs, &rhs.broadcast_as(lhs.shape())?)
        }
    }
}

/// Binary functions of tensors of one shape.
impl Tensor {
    /// The sum of each pair of elements. Integers wrap.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
    /// assert_eq!(x.add(&x)?.to_vec1::<f32>()?, [2., 4.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn add(&self, rhs: &Self) -> Result<Self> {
        binary(Add, self, rhs)
    }

    /// The difference of each pair of elements. Integers wrap.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[5i64, 2], &Device::Cpu)?;
    /// assert_eq!(x.sub(&Tensor::new(&[1i64, 3], &Device::Cpu)?)?.to_vec1::<i64>()?, [4, -1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn sub(&self, rhs: &Self) -> Result<Self> {
        binary(Sub, self, rhs)
    }

    /// The product of each pair of elements. Integers wrap.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[3u32, 4], &Device::Cpu)?;
    /// assert_eq!(x.mul(&x)?.to_vec1::<u32>()?, [9, 16]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn mul(&self, rhs: &Self) -> Result<Self> {
        binary(Mul, self, rhs)
    }

    /// The quotient of each pair of elements. Integers round towards 0, and an integer divided by 0
    /// is an error.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let (x, y) = (Tensor::new(&[-7i32], &Device::Cpu)?, Tensor::new(&[2i32], &Device::Cpu)?);
    /// assert_eq!(x.div(&y)?.to_vec1::<i32>()?, [-3]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn div(&self, rhs: &Self) -> Result<Self> {
        binary(Div, self, rhs)
    }

    /// The larger of each pair of elements, or of each element and a number; NaN if either is NaN.
    /// Errors for integers beside a number with a fraction.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[-1f32, 2.], &Device::Cpu)?;
    /// assert_eq!(x.maximum(0.5)?.to_vec1::<f32>()?, [0.5, 2.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn maximum<T: TensorOrScalar>(&self, rhs: T) -> Result<Self> {
        binary_or_scalar(Maximum, self, rhs)
    }

    /// The smaller of each pair of elements, or of each element and a number; NaN if either is NaN.
    /// Errors for integers beside a number with a fraction.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[-1i64, 2], &Device::Cpu)?;
    /// assert_eq!(x.minimum(1u8)?.to_vec1::<i64>()?, [-1, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn minimum<T: TensorOrScalar>(&self, rhs: T) -> Result<Self> {
        binary_or_scalar(Minimum, self, rhs)
    }

    /// Each element to the power of its partner, with the special values of IEEE 754's pow: x⁰ and
    /// 1ʸ are 1, a negative base wants a whole exponent (else NaN), 0 to a negative power is
    /// infinite. Integers wrap; to a negative power they are an error.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[-2f32, 9.], &Device::Cpu)?;
    /// let y = Tensor::new(&[3f32, 0.5], &Device::Cpu)?;
    /// assert_eq!(x.pow(&y)?.to_vec1::<f32>()?, [-8., 3.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn pow(&self, rhs: &Self) -> Result<Self> {
        binary(Pow, self, rhs)
    }
}

/// Binary functions of tensors whose shapes broadcast.
impl Tensor {
    /// [`add`](Self::add) with sizes of 1 stretched.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32], [2.]], &Device::Cpu)?;
    /// let y = Tensor::new(&[10f32, 20.], &Device::Cpu)?;
    /// assert_eq!(x.broadcast_add(&y)?.to_vec2::<f32>()?, [[11., 21.], [12., 22.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn broadcast_add(&self, rhs: &Self) -> Result<Self> {
        broadcast(Add, self, rhs)
    }

    /// [`sub`](Self::sub) with sizes of 1 stretched.
    pub fn broadcast_sub(&self, rhs: &Self) -> Result<Self> {
        broadcast(Sub, self, rhs)
    }

    /// [`mul`](Self::mul) with sizes of 1 stretched.
    pub fn broadcast_mul(&self, rhs: &Self) -> Result<Self> {
        broadcast(Mul, self, rhs)
    }

    /// [`div`](Self::div) with sizes of 1 stretched.
    pub fn broadcast_div(&self, rhs: &Self) -> Result<Self> {
        broadcast(Div, self, rhs)
    }

    /// [`maximum`](Self::maximum) with sizes of 1 stretched.
    pub fn broadcast_maximum(&self, rhs: &Self) -> Result<Self> {
        broadcast(Maximum, self, rhs)
    }

    /// [`minimum`](Self::minimum) with sizes of 1 stretched.
    pub fn broadcast_minimum(&self, rhs: &Self) -> Result<Self> {
        broadcast(Minimum, self, rhs)
    }

    /// [`pow`](Self::pow) with sizes of 1 stretched.
    pub fn broadcast_pow(&self, rhs: &Self) -> Result<Self> {
        broadcast(Pow, self, rhs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    fn tensor<T: crate::WithDType>(values: &[T]) -> Tensor {
        Tensor::new(values, &Device::Cpu).unwrap()
    }

    #[test]
    fn operands_that_do_not_fit_are_errors_with_both_shapes() {
        let error = tensor(&[1f32, 2.])
            .add(&tensor(&[1f32]))
            .unwrap_err()
            .to_string();
        assert_eq!(error, "add: shapes do not fit: lhs [2], rhs [1]");
        let error = tensor(&[1f32])
            .mul(&tensor(&[1f64]))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "mul: dtypes differ: lhs f32, rhs f64; cast one with to_dtype"
        );
        let error = tensor(&[1f32, 2.])
            .broadcast_sub(&tensor(&[1f32; 3]))
            .unwrap_err()
            .to_string();
        assert_eq!(error, "broadcast_sub: shapes do not fit: lhs [2], rhs [3]");
    }

    #[test]
    fn an_integer_divided_by_zero_is_an_error() {
        assert!(tensor(&[1u8, 2]).div(&tensor(&[1u8, 0])).is_err());
        assert!(tensor(&[1i64, 2]).broadcast_div(&tensor(&[0i64])).is_err());
        let quotient = tensor(&[i32::MIN]).div(&tensor(&[-1i32])).unwrap();
        assert_eq!(quotient.to_vec1::<i32>().unwrap(), [i32::MIN]);
    }

    #[test]
    fn an_integer_to_a_negative_power_is_an_error_but_for_units() {
        assert!(tensor(&[2i64]).pow(&tensor(&[-1i64])).is_err());
        assert!(tensor(&[0i32]).pow(&tensor(&[-1i32])).is_err());
        let units = tensor(&[1i16, -1, -1])
            .pow(&tensor(&[-5i16, -3, -2]))
            .unwrap();
        assert_eq!(units.to_vec1::<i16>().unwrap(), [1, -1, 1]);
        let wrapped = tensor(&[3u8, 0]).pow(&tensor(&[6u8, 0])).unwrap();
        assert_eq!(wrapped.to_vec1::<u8>().unwrap(), [217, 1]);
    }

    #[test]
    fn a_number_beside_integers_is_exact_or_refused() {
        let x = tensor(&[0u8, 100, 255]);
        assert_eq!(
            x.maximum(-1i64).unwrap().to_vec1::<u8>().unwrap(),
            [0, 100, 255]
        );
        assert_eq!(
            x.minimum(300f32).unwrap().to_vec1::<u8>().unwrap(),
            [0, 100, 255]
        );
        let error = x.maximum(0.5).unwrap_err().to_string();
        assert_eq!(
            error,
            "maximum: 0.5 is no u8; cast the tensor to a float dtype"
        );
    }
}
