//! Types that stand for the dtypes that only store: `f4`, `f6e2m3`, `f6e3m2` and `f8e8m0`.
//!
//! Their elements are packed bytes of a [`CpuStorage`], and no Rust type is one of them. These have
//! no value: arithmetic gives the same again, as a number they are NaN, and a storage has no slice
//! of them. They are there so that code that goes over all dtypes finds a type for each.

use crate::cpu::recycle::{Pool, Recycle};
use crate::scalar::Scalar;
use crate::{CpuStorage, CpuStorageRef, DType, Error, Result, WithDType};
use std::fmt::{Display, Formatter};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Rem, RemAssign, Sub, SubAssign};
use tallow_simd::VecOps;

macro_rules! operators {
    ($Type:ident: $($Op:ident $op:ident $OpAssign:ident $op_assign:ident),+) => {
        $(
            impl $Op for $Type {
                type Output = Self;
                fn $op(self, _: Self) -> Self {
                    self
                }
            }
            impl $OpAssign for $Type {
                fn $op_assign(&mut self, _: Self) {}
            }
        )+
    };
}

macro_rules! stored_only {
    ($($Type:ident)+) => {
        $(
            #[doc = concat!("Stands for [`DType::", stringify!($Type), "`]; it has no value.")]
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $Type;

            operators!(
                $Type: Add add AddAssign add_assign, Sub sub SubAssign sub_assign,
                Mul mul MulAssign mul_assign, Div div DivAssign div_assign,
                Rem rem RemAssign rem_assign
            );

            impl Display for $Type {
                fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
                    f.write_str(stringify!($Type))
                }
            }

            impl num_traits::Zero for $Type {
                fn zero() -> Self {
                    Self
                }
                fn is_zero(&self) -> bool {
                    false
                }
            }

            impl num_traits::One for $Type {
                fn one() -> Self {
                    Self
                }
            }

            impl num_traits::Num for $Type {
                type FromStrRadixErr = Error;
                fn from_str_radix(_: &str, _: u32) -> Result<Self> {
                    Err(no_value(DType::$Type))
                }
            }

            impl VecOps for $Type {
                fn min(self, _: Self) -> Self {
                    self
                }
                fn max(self, _: Self) -> Self {
                    self
                }
                fn vec_plus(self, _: Self) -> Self {
                    self
                }
                fn vec_times(self, _: Self) -> Self {
                    self
                }
                fn sum_of(_: &[Self]) -> Self {
                    Self
                }
                fn dot_of(_: &[Self], _: &[Self]) -> Self {
                    Self
                }
            }

            impl Recycle for $Type {
                fn pool() -> &'static Pool<Self> {
                    static POOL: Pool<$Type> = Pool::new();
                    &POOL
                }
                fn blank() -> Self {
                    Self
                }
                fn blanks(count: usize) -> Vec<Self> {
                    vec![Self; count]
                }
            }

            impl WithDType for $Type {
                const DTYPE: DType = DType::$Type;
                fn from_f64(_: f64) -> Self {
                    Self
                }
                fn to_f64(self) -> f64 {
                    f64::NAN
                }
                fn to_scalar(self) -> Scalar {
                    Scalar::F64(f64::NAN)
                }
                fn cpu_storage_ref(_: &[Self]) -> CpuStorageRef<'_> {
                    CpuStorageRef::$Type(&[])
                }
                fn to_cpu_storage_owned(_: Vec<Self>) -> CpuStorage {
                    CpuStorage::$Type(Vec::new())
                }
                fn cpu_storage_as_slice(_: &CpuStorage) -> Result<&[Self]> {
                    Err(no_value(DType::$Type))
                }
                fn cpu_storage_as_mut_slice(_: &mut CpuStorage) -> Result<&mut [Self]> {
                    Err(no_value(DType::$Type))
                }
                fn cpu_storage_data(_: CpuStorage) -> Result<Vec<Self>> {
                    Err(no_value(DType::$Type))
                }
            }
        )+
    };
}
stored_only!(F4 F6E2M3 F6E3M2 F8E8M0);

fn no_value(dtype: DType) -> Error {
    Error::UnsupportedDTypeForOp(dtype, "elements")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Tensor};

    #[test]
    fn what_has_no_value_is_in_no_tensor() {
        assert!(Tensor::new(F4, &Device::Cpu).is_err());
        assert!(Tensor::full(F8E8M0, 2, &Device::Cpu).is_err());
        assert!(Tensor::from_vec(vec![F6E2M3; 3], 3, &Device::Cpu).is_err());
        assert!(CpuStorage::F6E3M2(vec![1]).as_slice::<F6E3M2>().is_err());
        assert!((F4 + F4).to_f64().is_nan());
    }
}
