//! Element types: what a tensor can hold, and the macros that pick a kernel's type from it.
//!
//! Ten types compute. Four (`f6e2m3`, `f6e3m2`, `f4`, `f8e8m0`) are stored as bytes, for files that
//! carry them; an operation that cannot take them says so. A kernel lists its types once, in
//! [`with_dtype!`](crate::with_dtype); the list makes the error, and the op's entry in
//! [`ops::ALL`](crate::ops::ALL) makes the test matrix and the table in the docs.

use crate::cpu::recycle::Recycle;
use crate::rounding::round_to_odd;
use crate::scalar::Scalar;
use crate::{CpuStorage, CpuStorageRef, Error, Result, float8};
pub use ::float8::F8E4M3;
pub use half::{bf16, f16};
use std::fmt::{Debug, Display};
use tallow_simd::VecOps;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// Brain float: 8 exponent and 7 mantissa bits.
    BF16,
    /// IEEE half precision.
    F16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// 8-bit float with 4 exponent and 3 mantissa bits, no infinities.
    F8E4M3,
    /// 6-bit float with 2 exponent and 3 mantissa bits (OCP MX); storage only.
    F6E2M3,
    /// 6-bit float with 3 exponent and 2 mantissa bits (OCP MX); storage only.
    F6E3M2,
    /// 4-bit float (OCP MX); storage only.
    F4,
    /// 8-bit power of two (OCP MX scale); storage only.
    F8E8M0,
}

/// Every dtype with its name.
const NAMES: [(DType, &str); 14] = [
    (DType::U8, "u8"),
    (DType::U32, "u32"),
    (DType::I16, "i16"),
    (DType::I32, "i32"),
    (DType::I64, "i64"),
    (DType::BF16, "bf16"),
    (DType::F16, "f16"),
    (DType::F32, "f32"),
    (DType::F64, "f64"),
    (DType::F8E4M3, "f8e4m3"),
    (DType::F6E2M3, "f6e2m3"),
    (DType::F6E3M2, "f6e3m2"),
    (DType::F4, "f4"),
    (DType::F8E8M0, "f8e8m0"),
];

impl DType {
    /// The types that compute.
    pub const COMPUTE: [DType; 10] = [
        DType::U8,
        DType::U32,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::BF16,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::F8E4M3,
    ];
    /// The float types that compute.
    pub const FLOATS: [DType; 5] = [
        DType::BF16,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::F8E4M3,
    ];

    /// The name, as it stands in safetensors and in errors: `"f32"`.
    pub fn as_str(&self) -> &'static str {
        NAMES
            .iter()
            .find(|(dtype, _)| dtype == self)
            .map_or("?", |(_, name)| name)
    }

    /// Bytes an element takes. 0 for types narrower than a byte (`f6e2m3`, `f6e3m2`, `f4`).
    pub fn size_in_bytes(&self) -> usize {
        match self {
            Self::U8 | Self::F8E4M3 | Self::F8E8M0 => 1,
            Self::I16 | Self::BF16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
            Self::F6E2M3 | Self::F6E3M2 | Self::F4 => 0,
        }
    }

    /// True for the integer types.
    pub fn is_int(&self) -> bool {
        matches!(
            self,
            Self::U8 | Self::U32 | Self::I16 | Self::I32 | Self::I64
        )
    }

    /// True for the float types, the stored ones included.
    pub fn is_float(&self) -> bool {
        !self.is_int()
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text is not the name of a dtype.
#[derive(Debug, PartialEq, Eq)]
pub struct DTypeParseError(String);

impl std::fmt::Display for DTypeParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "dtype: \"{}\" is not known; one of", self.0)?;
        NAMES.iter().try_for_each(|(_, name)| write!(f, " {name}"))
    }
}
impl std::error::Error for DTypeParseError {}

impl std::str::FromStr for DType {
    type Err = DTypeParseError;
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let found = NAMES.iter().find(|(_, name)| *name == text);
        found
            .map(|(dtype, _)| *dtype)
            .ok_or_else(|| DTypeParseError(text.to_string()))
    }
}

/// A Rust type that a tensor can hold and compute with.
pub trait WithDType:
    VecOps + Default + PartialOrd + Debug + Display + Send + Sync + Recycle + 'static
{
    /// The dtype that stands for this type.
    const DTYPE: DType;
    /// The nearest value; out of range saturates for integers.
    fn from_f64(value: f64) -> Self;
    /// The value as f64; exact for every type but i64.
    fn to_f64(self) -> f64;
    /// The value with its dtype.
    fn to_scalar(self) -> Scalar;
    /// The slice with its dtype.
    fn cpu_storage_ref(data: &[Self]) -> CpuStorageRef<'_>;
    /// A storage that holds the vector.
    fn to_cpu_storage_owned(data: Vec<Self>) -> CpuStorage;
    /// A storage that holds a copy of the slice.
    fn to_cpu_storage(data: &[Self]) -> CpuStorage {
        Self::to_cpu_storage_owned(data.to_vec())
    }
    /// The elements, if the storage holds this type.
    fn cpu_storage_as_slice(storage: &CpuStorage) -> Result<&[Self]>;
    /// The elements to write, if the storage holds this type.
    fn cpu_storage_as_mut_slice(storage: &mut CpuStorage) -> Result<&mut [Self]>;
    /// The vector, if the storage holds this type.
    fn cpu_storage_data(storage: CpuStorage) -> Result<Vec<Self>>;
}

/// The float types that compute.
pub trait FloatDType: WithDType {}

macro_rules! with_dtype_impl {
    ($($ty:ty, $variant:ident, $from:expr, $to:expr;)+) => {
        $(impl WithDType for $ty {
            const DTYPE: DType = DType::$variant;
            fn from_f64(value: f64) -> Self {
                $from(value)
            }
            fn to_f64(self) -> f64 {
                $to(self)
            }
            fn to_scalar(self) -> Scalar {
                Scalar::$variant(self)
            }
            fn cpu_storage_ref(data: &[Self]) -> CpuStorageRef<'_> {
                CpuStorageRef::$variant(data)
            }
            fn to_cpu_storage_owned(data: Vec<Self>) -> CpuStorage {
                CpuStorage::$variant(data)
            }
            fn cpu_storage_as_slice(storage: &CpuStorage) -> Result<&[Self]> {
                match storage {
                    CpuStorage::$variant(data) => Ok(data),
                    other => Err(unexpected(DType::$variant, other.dtype())),
                }
            }
            fn cpu_storage_as_mut_slice(storage: &mut CpuStorage) -> Result<&mut [Self]> {
                match storage {
                    CpuStorage::$variant(data) => Ok(data),
                    other => Err(unexpected(DType::$variant, other.dtype())),
                }
            }
            fn cpu_storage_data(storage: CpuStorage) -> Result<Vec<Self>> {
                match storage {
                    CpuStorage::$variant(data) => Ok(data),
                    other => Err(unexpected(DType::$variant, other.dtype())),
                }
            }
        })+
    };
}
with_dtype_impl! {
    u8, U8, |v: f64| v as u8, |v: u8| f64::from(v);
    u32, U32, |v: f64| v as u32, |v: u32| f64::from(v);
    i16, I16, |v: f64| v as i16, |v: i16| f64::from(v);
    i32, I32, |v: f64| v as i32, |v: i32| f64::from(v);
    i64, I64, |v: f64| v as i64, |v: i64| v as f64;
    bf16, BF16, |v: f64| bf16::from_f32(round_to_odd(v)), |v: bf16| f64::from(v.to_f32());
    f16, F16, |v: f64| f16::from_f32(round_to_odd(v)), |v: f16| f64::from(v.to_f32());
    f32, F32, |v: f64| v as f32, |v: f32| f64::from(v);
    f64, F64, |v: f64| v, |v: f64| v;
    F8E4M3, F8E4M3, |v: f64| float8::narrow(round_to_odd(v)),
        |v: F8E4M3| f64::from(float8::widen(v));
}

/// The integer types: what indexes and conditions are made of.
pub trait IntDType: WithDType + num_traits::Bounded {
    /// True unless it is 0.
    fn is_true(&self) -> bool;
    /// The value as an index; a negative one is not the index of anything.
    fn as_usize(&self) -> usize;
}

macro_rules! int_dtype {
    ($($ty:ty),+) => {
        $(impl IntDType for $ty {
            fn is_true(&self) -> bool {
                *self != 0
            }
            fn as_usize(&self) -> usize {
                *self as usize
            }
        })+
    };
}
int_dtype!(u8, u32, i16, i32, i64);

impl FloatDType for bf16 {}
impl FloatDType for f16 {}
impl FloatDType for f32 {}
impl FloatDType for f64 {}
impl FloatDType for F8E4M3 {}

fn unexpected(expected: DType, got: DType) -> Error {
    Error::UnexpectedDType {
        msg: "storage",
        expected,
        got,
    }
}

/// Runs a block with `$T` bound to the Rust type of a dtype; a dtype outside the list is an
/// [`Error::UnsupportedDTypeForOp`].
///
/// `with_dtype!(dtype, "op", T in [F32: f32, F64: f64] => { … })`, or one of the lists
/// `floats`, `ints`, `all` in the place of the brackets.
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $op:expr, $T:ident in [$($variant:ident : $ty:ty),+ $(,)?] => $body:expr) => {
        match $dtype {
            $($crate::DType::$variant => { type $T = $ty; $body })+
            #[allow(unreachable_patterns)]
            other => Err($crate::Error::UnsupportedDTypeForOp(other, $op)),
        }
    };
    ($dtype:expr, $op:expr, $T:ident in floats => $body:expr) => {
        $crate::with_dtype!($dtype, $op, $T in [
            F32: f32, F64: f64, F16: $crate::f16, BF16: $crate::bf16, F8E4M3: $crate::F8E4M3,
        ] => $body)
    };
    ($dtype:expr, $op:expr, $T:ident in ints => $body:expr) => {
        $crate::with_dtype!($dtype, $op, $T in [
            U8: u8, U32: u32, I16: i16, I32: i32, I64: i64,
        ] => $body)
    };
    ($dtype:expr, $op:expr, $T:ident in all => $body:expr) => {
        $crate::with_dtype!($dtype, $op, $T in [
            F32: f32, F64: f64, F16: $crate::f16, BF16: $crate::bf16, F8E4M3: $crate::F8E4M3,
            U8: u8, U32: u32, I16: i16, I32: i32, I64: i64,
        ] => $body)
    };
}
