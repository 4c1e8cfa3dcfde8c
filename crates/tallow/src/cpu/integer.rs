//! Integer arithmetic that wraps, for kernels that are generic over the integer types.

use crate::WithDType;

/// An integer type that a tensor can hold. Overflow wraps.
pub trait Integer: WithDType + Ord {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// a + b
    fn plus(self, rhs: Self) -> Self;
    /// a - b
    fn minus(self, rhs: Self) -> Self;
    /// a · b
    fn times(self, rhs: Self) -> Self;
    /// a / b, rounded towards 0; 0 for b = 0, which the caller has refused.
    fn divided_by(self, rhs: Self) -> Self;
    /// The low bits of the value.
    fn wrap(value: i64) -> Self;
    /// The value.
    fn widen(self) -> i64;

    /// The value to the power of `exponent`, by squaring.
    #[inline(always)]
    fn power(self, mut exponent: u64) -> Self {
        let (mut base, mut result) = (self, Self::ONE);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result.times(base);
            }
            base = base.times(base);
            exponent >>= 1;
        }
        result
    }
}

macro_rules! integers {
    ($($ty:ty),+) => {
        $(impl Integer for $ty {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)]
            fn plus(self, rhs: Self) -> Self {
                self.wrapping_add(rhs)
            }
            #[inline(always)]
            fn minus(self, rhs: Self) -> Self {
                self.wrapping_sub(rhs)
            }
            #[inline(always)]
            fn times(self, rhs: Self) -> Self {
                self.wrapping_mul(rhs)
            }
            #[inline(always)]
            fn divided_by(self, rhs: Self) -> Self {
                if rhs == 0 { 0 } else { self.wrapping_div(rhs) }
            }
            #[inline(always)]
            fn wrap(value: i64) -> Self {
                value as $ty
            }
            #[inline(always)]
            fn widen(self) -> i64 {
                i64::from(self)
            }
        })+
    };
}
integers!(u8, u32, i16, i32, i64);
