//! Numbers as unsigned integers of the same order.
//!
//! IEEE floats of one sign are ordered as their bits; flipping the sign bit of the positive ones
//! and all bits of the negative ones puts both in one order. The greatest key is kept for NaN; no
//! number has it, in either direction: it would be a NaN's bits.

use crate::{F8E4M3, WithDType, bf16, f16};

/// An element that has a key.
pub(super) trait Keyed: WithDType {
    /// How many bytes of the key tell elements apart.
    const BYTES: usize;
    /// What the element is sorted by, in the low [`BYTES`](Self::BYTES); equal elements have equal
    /// keys.
    fn key(self, ascending: bool) -> u64;
}

macro_rules! float_keys {
    ($($ty:ty, $bits:ty;)+) => {
        $(impl Keyed for $ty {
            const BYTES: usize = size_of::<$bits>();
            #[inline(always)]
            fn key(self, ascending: bool) -> u64 {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let bits = self.to_bits();
                // Both zeros are equal.
                let bits = if bits == SIGN { 0 } else { bits };
                let rising = if bits & SIGN == 0 { bits | SIGN } else { !bits };
                let key = if ascending { rising } else { !rising };
                u64::from(if self.is_nan() { <$bits>::MAX } else { key })
            }
        })+
    };
}
float_keys! {
    f32, u32;
    f64, u64;
    f16, u16;
    bf16, u16;
    F8E4M3, u8;
}

macro_rules! integer_keys {
    ($($ty:ty, $bits:ty, $flip:expr;)+) => {
        $(impl Keyed for $ty {
            const BYTES: usize = size_of::<$bits>();
            #[inline(always)]
            fn key(self, ascending: bool) -> u64 {
                let rising = self as $bits ^ $flip;
                u64::from(if ascending { rising } else { !rising })
            }
        })+
    };
}
integer_keys! {
    u8, u8, 0;
    u32, u32, 0;
    i16, u16, 1 << 15;
    i32, u32, 1 << 31;
    i64, u64, 1 << 63;
}
