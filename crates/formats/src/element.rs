//! Types of stored elements, as npy, PyTorch and safetensors files have them.
//!
//! More than a tensor can hold: which dtype keeps the values of an `i8` or a `u64` is the reader's
//! business. Blocks of quantized weights are [`gguf::BlockType`](crate::gguf::BlockType).

use std::borrow::Cow;
use std::fmt;

use safetensors::Dtype;

/// The type of one stored number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// A byte: 0 is false.
    Bool,
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    I64,
    /// IEEE half precision.
    F16,
    /// The upper half of an `F32`.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// 4 exponent and 3 mantissa bits, no infinities.
    F8E4M3,
    /// The upper half of an `F16`.
    F8E5M2,
}

impl Element {
    /// Bytes of one element.
    pub fn byte_len(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 | Self::F8E4M3 | Self::F8E5M2 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::BF16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// A short name: `u16`, `bf16`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F8E4M3 => "f8e4m3",
            Self::F8E5M2 => "f8e5m2",
        }
    }

    /// The element of a safetensors dtype, where it fills whole bytes and is a single number.
    pub fn from_safetensors(dtype: Dtype) -> Option<Self> {
        Some(match dtype {
            Dtype::BOOL => Self::Bool,
            Dtype::U8 => Self::U8,
            Dtype::I8 => Self::I8,
            Dtype::U16 => Self::U16,
            Dtype::I16 => Self::I16,
            Dtype::U32 => Self::U32,
            Dtype::I32 => Self::I32,
            Dtype::U64 => Self::U64,
            Dtype::I64 => Self::I64,
            Dtype::F16 => Self::F16,
            Dtype::BF16 => Self::BF16,
            Dtype::F32 => Self::F32,
            Dtype::F64 => Self::F64,
            Dtype::F8_E4M3 => Self::F8E4M3,
            Dtype::F8_E5M2 => Self::F8E5M2,
            _ => return None,
        })
    }

    /// Bytes of this many elements; `None` if they overflow.
    pub(crate) fn bytes_of(self, shape: &[usize]) -> Option<usize> {
        // A dim of 0 hides an overflow of the others, so those are looked at as well.
        let positive = shape.iter().filter(|&&dim| dim > 0);
        let bytes = positive.clone().try_fold(self.byte_len(), |bytes, &dim| {
            bytes
                .checked_mul(dim)
                .filter(|&bytes| isize::try_from(bytes).is_ok())
        })?;
        Some(if positive.count() < shape.len() {
            0
        } else {
            bytes
        })
    }

    /// The same elements with the lowest byte first.
    pub(crate) fn little_endian(self, bytes: &[u8], big_endian: bool) -> Cow<'_, [u8]> {
        let size = self.byte_len();
        if !big_endian || size == 1 {
            return Cow::Borrowed(bytes);
        }
        let mut swapped = bytes.to_vec();
        for element in swapped.chunks_exact_mut(size) {
            element.reverse();
        }
        Cow::Owned(swapped)
    }
}

impl fmt::Display for Element {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
