//! Numbers as operands: one number with its dtype, and what may stand where a tensor or a number
//! may.

use crate::{DType, Device, Error, F8E4M3, Result, Tensor, WithDType, bail, bf16, f16};

/// A number of one of the types that compute.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // each variant is the dtype of its name
pub enum Scalar {
    U8(u8),
    U32(u32),
    I16(i16),
    I32(i32),
    I64(i64),
    BF16(bf16),
    F16(f16),
    F32(f32),
    F64(f64),
    F8E4M3(F8E4M3),
}

impl<T: WithDType> From<T> for Scalar {
    fn from(value: T) -> Self {
        value.to_scalar()
    }
}

impl Scalar {
    /// 0 of a dtype; an f64 for the dtypes that only store.
    pub fn zero(dtype: DType) -> Self {
        Self::small(0.0, dtype)
    }

    /// 1 of a dtype; an f64 for the dtypes that only store.
    pub fn one(dtype: DType) -> Self {
        Self::small(1.0, dtype)
    }

    fn small(value: f64, dtype: DType) -> Self {
        let scalar = crate::with_dtype!(dtype, "scalar", T in all => {
            Ok::<_, Error>(<T as WithDType>::from_f64(value).to_scalar())
        });
        scalar.unwrap_or(Self::F64(value))
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        match self {
            Self::U8(_) => DType::U8,
            Self::U32(_) => DType::U32,
            Self::I16(_) => DType::I16,
            Self::I32(_) => DType::I32,
            Self::I64(_) => DType::I64,
            Self::BF16(_) => DType::BF16,
            Self::F16(_) => DType::F16,
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::F8E4M3(_) => DType::F8E4M3,
        }
    }

    /// The value as f64; exact for every dtype but i64.
    pub fn to_f64(&self) -> f64 {
        match *self {
            Self::U8(value) => value.to_f64(),
            Self::U32(value) => value.to_f64(),
            Self::I16(value) => value.to_f64(),
            Self::I32(value) => value.to_f64(),
            Self::I64(value) => value.to_f64(),
            Self::BF16(value) => WithDType::to_f64(value),
            Self::F16(value) => WithDType::to_f64(value),
            Self::F32(value) => value.to_f64(),
            Self::F64(value) => value,
            Self::F8E4M3(value) => WithDType::to_f64(value),
        }
    }

    /// The number of a tensor of one element.
    pub(crate) fn of(tensor: &Tensor) -> Result<Self> {
        crate::with_dtype!(tensor.dtype(), "scalar", T in all => {
            Ok(tensor.to_scalar::<T>()?.to_scalar())
        })
    }

    /// Where the number stands among the integers: itself, between two, beyond i64, or nowhere.
    pub(crate) fn among_integers(self) -> Place {
        let value = match self {
            Self::I64(value) => return Place::At(value),
            other => other.to_f64(),
        };
        // 2^63 is the first f64 beyond i64; -2^63 is i64's least.
        const END: f64 = 9_223_372_036_854_775_808.0;
        match value {
            _ if value.is_nan() => Place::Nowhere,
            _ if value >= END => Place::Above,
            _ if value < -END => Place::Below,
            _ if value.fract() == 0.0 => Place::At(value as i64),
            _ => Place::After(value.floor() as i64),
        }
    }

    /// A tensor of rank 0 that stands for this number beside tensors of `dtype`: the nearest value
    /// of a float dtype; for integers the number itself, or the end of the dtype's range beyond
    /// which it lies. Errors for a number that lies between integers.
    pub(crate) fn beside(self, dtype: DType, device: &Device, op: &str) -> Result<Tensor> {
        if !dtype.is_int() {
            return crate::with_dtype!(dtype, "scalar", T in floats => {
                Tensor::new(<T as WithDType>::from_f64(self.to_f64()), device)
            });
        }
        let value = match self.among_integers() {
            Place::At(value) => value,
            Place::Above => i64::MAX,
            Place::Below => i64::MIN,
            Place::After(_) | Place::Nowhere => {
                bail!(
                    "{op}: {} is no {dtype}; cast the tensor to a float dtype",
                    self.to_f64()
                )
            }
        };
        match dtype {
            DType::U8 => Tensor::new(value.clamp(0, i64::from(u8::MAX)) as u8, device),
            DType::U32 => Tensor::new(value.clamp(0, i64::from(u32::MAX)) as u32, device),
            DType::I16 => {
                let (least, most) = (i64::from(i16::MIN), i64::from(i16::MAX));
                Tensor::new(value.clamp(least, most) as i16, device)
            }
            DType::I32 => {
                let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
                Tensor::new(value.clamp(least, most) as i32, device)
            }
            _ => Tensor::new(value, device),
        }
    }
}

/// Where a number stands among the integers of i64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is this one.
    At(i64),
    /// It lies between this one and the next.
    After(i64),
    /// It is greater than all.
    Above,
    /// It is less than all.
    Below,
    /// It is NaN.
    Nowhere,
}

/// An operand that was given as a tensor, or as a number (a tensor of rank 0 here).
#[derive(Clone, Debug)]
pub enum TensorScalar {
    /// A tensor.
    Tensor(Tensor),
    /// A number.
    Scalar(Tensor),
}

/// What may stand where an operand is a tensor or a number: `&Tensor`, and Rust's numbers.
pub trait TensorOrScalar {
    /// Which of the two this is.
    fn to_tensor_scalar(self) -> Result<TensorScalar>;
}

impl TensorOrScalar for &Tensor {
    fn to_tensor_scalar(self) -> Result<TensorScalar> {
        Ok(TensorScalar::Tensor(self.clone()))
    }
}

impl<T: WithDType> TensorOrScalar for T {
    fn to_tensor_scalar(self) -> Result<TensorScalar> {
        Ok(TensorScalar::Scalar(Tensor::new(self, &Device::Cpu)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_among_the_integers() {
        let place = |value: f64| Scalar::F64(value).among_integers();
        assert_eq!(place(-2.5), Place::After(-3));
        assert_eq!(place(-9_223_372_036_854_775_808.0), Place::At(i64::MIN));
        assert_eq!(place(9_223_372_036_854_775_808.0), Place::Above);
        assert_eq!(place(f64::NEG_INFINITY), Place::Below);
        assert_eq!(place(f64::NAN), Place::Nowhere);
        assert_eq!(
            Scalar::I64(i64::MAX - 1).among_integers(),
            Place::At(i64::MAX - 1)
        );
    }

    #[test]
    fn a_number_beyond_the_dtype_becomes_its_end() -> Result<()> {
        let beside = |value: f64, dtype| Scalar::F64(value).beside(dtype, &Device::Cpu, "test");
        assert_eq!(beside(-1.0, DType::U8)?.to_scalar::<u8>()?, 0);
        assert_eq!(beside(1e30, DType::I16)?.to_scalar::<i16>()?, i16::MAX);
        assert!(beside(0.5, DType::I64).is_err() && beside(f64::NAN, DType::I64).is_err());
        assert_eq!(Scalar::one(DType::F16), Scalar::F16(f16::ONE));
        Ok(())
    }
}
