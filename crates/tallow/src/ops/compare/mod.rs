//! Comparisons, element by element: 1 where the relation holds, else 0, as u8.
//!
//! NaN is equal to nothing, less than nothing and greater than nothing; only `ne` holds of it. A
//! number on the right side takes the tensor's dtype: rounded to it for floats. Integers compare
//! with the number as it is, fraction and size included, so `x.lt(2.5)` holds of 2 and `x.eq(2.5)`
//! of none.

mod cases;
mod cpu;
mod gpu;

use super::binary::{same_shape, stretch};
use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Op, apply};
use crate::scalar::{Place, Scalar, TensorOrScalar, TensorScalar};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor};

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "compare",
    ops: &[
        info("eq"),
        info("ne"),
        info("lt"),
        info("le"),
        info("gt"),
        info("ge"),
        info("broadcast_eq"),
        info("broadcast_ne"),
        info("broadcast_lt"),
        info("broadcast_le"),
        info("broadcast_gt"),
        info("broadcast_ge"),
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

/// A relation of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmpOp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less than or equal.
    Le,
    /// Greater than or equal.
    Ge,
    /// Less than.
    Lt,
    /// Greater than.
    Gt,
}

impl CmpOp {
    fn name(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Le => "le",
            Self::Ge => "ge",
            Self::Lt => "lt",
            Self::Gt => "gt",
        }
    }
}

impl Op for CmpOp {
    fn name(&self) -> &'static str {
        CmpOp::name(*self)
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let dtype = inputs[0].dtype();
        let shape = same_shape(inputs[0], inputs[1], CmpOp::name(*self))?.clone();
        match DType::COMPUTE.contains(&dtype) {
            true => Ok((shape, DType::U8)),
            false => Err(Error::UnsupportedDTypeForOp(dtype, CmpOp::name(*self))),
        }
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::run(*self, [inputs[0], inputs[1]], out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::run(*self, [inputs[0], inputs[1]], out)
    }
}

/// Compares integers with a number that may be none.
fn compare_integers(x: &Tensor, number: Scalar, op: CmpOp) -> Result<Tensor> {
    // Beyond the dtype's range or i64's the answer is the same for every element, and `beside`
    // gives the range's end, so the place is looked up against the dtype's own ends.
    let end = |end: Scalar| Scalar::of(&end.beside(x.dtype(), x.device(), op.name())?);
    let (least, most) = (end(Scalar::I64(i64::MIN))?, end(Scalar::I64(i64::MAX))?);
    let all = |holds: bool| Tensor::full(u8::from(holds), x.shape(), x.device());
    let place = match (
        number.among_integers(),
        least.among_integers(),
        most.among_integers(),
    ) {
        (Place::At(at) | Place::After(at), Place::At(least), _) if at < least => Place::Below,
        (Place::At(at) | Place::After(at), _, Place::At(most)) if at > most => Place::Above,
        (place, _, _) => place,
    };
    let (op, at) = match (place, op) {
        (Place::At(at), op) => (op, at),
        // Between `at` and `at + 1`: above it is above `at`, below it is at most `at`.
        (Place::After(at), CmpOp::Gt | CmpOp::Ge) => (CmpOp::Gt, at),
        (Place::After(at), CmpOp::Lt | CmpOp::Le) => (CmpOp::Le, at),
        (Place::Above, CmpOp::Lt | CmpOp::Le) | (Place::Below, CmpOp::Gt | CmpOp::Ge) => {
            return all(true);
        }
        (_, CmpOp::Ne) => return all(true),
        _ => return all(false),
    };
    let rhs = Scalar::I64(at).beside(x.dtype(), x.device(), op.name())?;
    apply(op, &[x, &rhs.broadcast_as(x.shape())?])
}

fn broadcast(lhs: &Tensor, rhs: &Tensor, op: CmpOp, name: &'static str) -> Result<Tensor> {
    let [lhs, rhs] = stretch(lhs, rhs, name)?;
    apply(op, &[&lhs, &rhs])
}

/// Comparisons of tensors of one shape and dtype, or of a tensor and a number.
impl Tensor {
    /// 1 where the relation holds of the pair of elements, or of the element and the number; else
    /// 0.
    ///
    /// ```
    /// use tallow::{Device, Tensor, op::CmpOp};
    /// let x = Tensor::new(&[1f32, 2., 3.], &Device::Cpu)?;
    /// assert_eq!(x.cmp(2f32, CmpOp::Ge)?.to_vec1::<u8>()?, [0, 1, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn cmp<T: TensorOrScalar>(&self, rhs: T, op: CmpOp) -> Result<Self> {
        match rhs.to_tensor_scalar()? {
            TensorScalar::Tensor(rhs) => apply(op, &[self, &rhs]),
            TensorScalar::Scalar(rhs) if self.dtype().is_int() => {
                compare_integers(self, Scalar::of(&rhs)?, op)
            }
            TensorScalar::Scalar(rhs) => {
                let rhs = Scalar::of(&rhs)?.beside(self.dtype(), self.device(), op.name())?;
                apply(op, &[self, &rhs.broadcast_as(self.shape())?])
            }
        }
    }

    /// 1 where the elements are equal, else 0.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1u32, 2, 1], &Device::Cpu)?;
    /// assert_eq!(x.eq(1u32)?.to_vec1::<u8>()?, [1, 0, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn eq<T: TensorOrScalar>(&self, rhs: T) -> Result<Self> {
        self.cmp(rhs, CmpOp::Eq)
    }

    /// 1 where the elements differ, else 0; NaN differs from everything.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, f32::NAN], &Device::Cpu)?;
    /// assert_eq!(x.ne(&x)?.to_vec1::<u8>()?, [0, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn ne<T: TensorOrScalar>(&self, rhs: T) -> Result<Self> {
        self.cmp(rhs, CmpOp::Ne)
    }

    /// 1 where the left element is less, else 0.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1i64, 2, 3], &Device::Cpu)?;
    /// assert_eq!(x.lt(2.5)?.to_vec1::<u8>()?, [1, 1, 0]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn lt<T: TensorOrScalar>(&self, rhs: T) -> Result<Self> {
        self.cmp(rhs, CmpOp::Lt)
    }

    /// 1 where the left element is greater, else 0.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2., 3.], &Device::Cpu)?;
    /// assert_eq!(x.gt(1.5f32)?.to_vec1::<u8>()?, [0, 1, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn gt<T: TensorOrScalar>(&self, rhs: T) -> Result<Self> {
        self.cmp(rhs, CmpOp::Gt)
    }

    /// 1 where the left element is greater or equal, else 0.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2., 3.], &Device::Cpu)?;
    /// assert_eq!(x.ge(2f32)?.to_vec1::<u8>()?, [0, 1, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn ge<T: TensorOrScalar>(&self, rhs: T) -> Result<Self> {
        self.cmp(rhs, CmpOp::Ge)
    }

    /// 1 where the left element is less or equal, else 0.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2., 3.], &Device::Cpu)?;
    /// assert_eq!(x.le(2f32)?.to_vec1::<u8>()?, [1, 1, 0]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn le<T: TensorOrScalar>(&self, rhs: T) -> Result<Self> {
        self.cmp(rhs, CmpOp::Le)
    }
}

/// Comparisons of tensors whose shapes broadcast.
impl Tensor {
    /// [`eq`](Self::eq) with sizes of 1 stretched.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1u8], [2]], &Device::Cpu)?;
    /// let y = Tensor::new(&[1u8, 2], &Device::Cpu)?;
    /// assert_eq!(x.broadcast_eq(&y)?.to_vec2::<u8>()?, [[1, 0], [0, 1]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn broadcast_eq(&self, rhs: &Self) -> Result<Self> {
        broadcast(self, rhs, CmpOp::Eq, "broadcast_eq")
    }

    /// [`ne`](Self::ne) with sizes of 1 stretched.
    pub fn broadcast_ne(&self, rhs: &Self) -> Result<Self> {
        broadcast(self, rhs, CmpOp::Ne, "broadcast_ne")
    }

    /// [`lt`](Self::lt) with sizes of 1 stretched.
    pub fn broadcast_lt(&self, rhs: &Self) -> Result<Self> {
        broadcast(self, rhs, CmpOp::Lt, "broadcast_lt")
    }

    /// [`le`](Self::le) with sizes of 1 stretched.
    pub fn broadcast_le(&self, rhs: &Self) -> Result<Self> {
        broadcast(self, rhs, CmpOp::Le, "broadcast_le")
    }

    /// [`gt`](Self::gt) with sizes of 1 stretched.
    pub fn broadcast_gt(&self, rhs: &Self) -> Result<Self> {
        broadcast(self, rhs, CmpOp::Gt, "broadcast_gt")
    }

    /// [`ge`](Self::ge) with sizes of 1 stretched.
    pub fn broadcast_ge(&self, rhs: &Self) -> Result<Self> {
        broadcast(self, rhs, CmpOp::Ge, "broadcast_ge")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    /// Every relation of u8 0, 2, 3, 255 with one number.
    fn relations(number: f64) -> Vec<Vec<u8>> {
        let x = Tensor::new(&[0u8, 2, 3, 255], &Device::Cpu).unwrap();
        [
            CmpOp::Eq,
            CmpOp::Ne,
            CmpOp::Lt,
            CmpOp::Le,
            CmpOp::Gt,
            CmpOp::Ge,
        ]
        .iter()
        .map(|&op| x.cmp(number, op).unwrap().to_vec1().unwrap())
        .collect()
    }

    #[test]
    fn integers_compare_with_any_number_as_it_is() {
        let numbers = [
            2.5,
            2.0,
            -0.5,
            -1.0,
            0.0,
            255.0,
            255.5,
            256.0,
            1e300,
            -1e300,
            f64::NAN,
        ];
        for number in numbers {
            let held = |f: fn(f64, f64) -> bool| -> Vec<u8> {
                [0.0, 2.0, 3.0, 255.0]
                    .iter()
                    .map(|&x| u8::from(f(x, number)))
                    .collect()
            };
            let want = vec![
                held(|a, b| a == b),
                held(|a, b| a != b),
                held(|a, b| a < b),
                held(|a, b| a <= b),
                held(|a, b| a > b),
                held(|a, b| a >= b),
            ];
            assert_eq!(relations(number), want, "{number}");
        }
    }

    #[test]
    fn operands_that_do_not_fit_are_errors() {
        let (x, y) = (
            Tensor::new(&[1f32, 2.], &Device::Cpu),
            Tensor::new(&[1f64, 2.], &Device::Cpu),
        );
        let error = x.as_ref().unwrap().lt(&y.unwrap()).unwrap_err().to_string();
        assert_eq!(
            error,
            "lt: dtypes differ: lhs f32, rhs f64; cast one with to_dtype"
        );
        assert!(
            x.unwrap()
                .eq(&Tensor::new(&[1f32], &Device::Cpu).unwrap())
                .is_err()
        );
    }
}
