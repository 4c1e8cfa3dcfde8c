//! The element types: how each is loaded, accumulated and rounded.
//!
//! | stored as | accumulated in | rounded |
//! |---|---|---|
//! | f64 | f64 | in each step |
//! | f32 | f32 | in each step |
//! | f16, bf16, f8e4m3 | f32 | f32 in each step, to the stored type once at the end |
//!
//! [`Accumulator`] holds the vector operations that the kernels need, over f32 or f64;
//! [`Element`] loads a stored type into its accumulator's vectors and back. A kernel is generic
//! over both and over the level.

use float8::F8E4M3;
use half::{bf16, f16};
use tallow_simd::{MAX_F32_LANES, Simd};
use tallow_threads::DisjointMut;

use crate::kernels::{transpose_f32, transpose_f64};
use crate::matmul::Products;

/// An element type of [`matmul`](crate::matmul): f32, f64, f16, bf16 and F8E4M3.
pub trait GemmElement: Products {}

impl GemmElement for f32 {}
impl GemmElement for f64 {}
impl GemmElement for f16 {}
impl GemmElement for bf16 {}
impl GemmElement for F8E4M3 {}

/// A type that sums are kept in, with its vector operations.
pub trait Accumulator: Element<Acc = Self> + Default + bytemuck::Pod {
    /// A vector of it.
    type Vector<S: Simd>: Copy;
    /// Lanes of the vector.
    fn lanes<S: Simd>() -> usize;
    /// All lanes `value`.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    /// a · b + c
    fn fma<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// a + b
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// The sum of the lanes, in an order fixed by the level.
    fn reduce_add<S: Simd>(simd: S, v: Self::Vector<S>) -> Self;
    /// Transposes a block of lanes × lanes elements.
    fn transpose<S: Simd>(simd: S, block: &mut [Self]);
}

/// A vector of the accumulator of `T`.
pub(crate) type VectorOf<T, S> = <<T as Element>::Acc as Accumulator>::Vector<S>;

/// A stored type.
pub trait Element: Copy + Send + Sync + 'static {
    /// What its products are summed in.
    type Acc: Accumulator;
    /// Zero.
    const ZERO: Self;
    /// Widens one element.
    fn widen(self) -> Self::Acc;
    /// Rounds one sum.
    fn round(sum: Self::Acc) -> Self;
    /// A full vector, widened. Panics when `src` is shorter.
    fn load<S: Simd>(simd: S, src: &[Self]) -> VectorOf<Self, S>;
    /// What there is of a vector, widened, and zeros.
    fn load_partial<S: Simd>(simd: S, src: &[Self]) -> VectorOf<Self, S>;
    /// Rounds and writes a full vector. Panics when `dst` is shorter.
    fn store<S: Simd>(simd: S, v: VectorOf<Self, S>, dst: &mut [Self]);
    /// Rounds and writes as many lanes as `dst` takes.
    fn store_partial<S: Simd>(simd: S, v: VectorOf<Self, S>, dst: &mut [Self]);
    /// `out` itself when the type is its own accumulator, so that kernels may sum in it.
    fn accumulates_in<'a>(out: &'a DisjointMut<'a, Self>)
    -> Option<&'a DisjointMut<'a, Self::Acc>>;
    /// `row` itself when the type is its own accumulator, so that it needs no widened copy.
    fn already_wide(row: &[Self]) -> Option<&[Self::Acc]>;
}

macro_rules! impl_accumulator {
    ($type:ty, $transpose:ident, $vector:ident, $lanes:ident,
     $splat:ident, $fma:ident, $add:ident, $reduce:ident,
     $load:ident, $load_partial:ident, $store:ident, $store_partial:ident) => {
        impl Accumulator for $type {
            type Vector<S: Simd> = S::$vector;
            #[inline(always)]
            fn lanes<S: Simd>() -> usize {
                S::$lanes
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$vector {
                simd.$splat(value)
            }
            #[inline(always)]
            fn fma<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$fma(a, b, c)
            }
            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn reduce_add<S: Simd>(simd: S, v: S::$vector) -> Self {
                simd.$reduce(v)
            }
            #[inline(always)]
            fn transpose<S: Simd>(simd: S, block: &mut [Self]) {
                $transpose(simd, block);
            }
        }

        impl Element for $type {
            type Acc = Self;
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn widen(self) -> Self {
                self
            }
            #[inline(always)]
            fn round(sum: Self) -> Self {
                sum
            }
            #[inline(always)]
            fn load<S: Simd>(simd: S, src: &[Self]) -> S::$vector {
                simd.$load(src)
            }
            #[inline(always)]
            fn load_partial<S: Simd>(simd: S, src: &[Self]) -> S::$vector {
                simd.$load_partial(src)
            }
            #[inline(always)]
            fn store<S: Simd>(simd: S, v: S::$vector, dst: &mut [Self]) {
                simd.$store(v, dst);
            }
            #[inline(always)]
            fn store_partial<S: Simd>(simd: S, v: S::$vector, dst: &mut [Self]) {
                simd.$store_partial(v, dst);
            }
            #[inline(always)]
            fn accumulates_in<'a>(
                out: &'a DisjointMut<'a, Self>,
            ) -> Option<&'a DisjointMut<'a, Self>> {
                Some(out)
            }
            #[inline(always)]
            fn already_wide(row: &[Self]) -> Option<&[Self]> {
                Some(row)
            }
        }
    };
}

impl_accumulator!(
    f32,
    transpose_f32,
    F32,
    F32_LANES,
    splat_f32,
    fma_f32,
    add_f32,
    reduce_add_f32,
    load_f32,
    load_partial_f32,
    store_f32,
    store_partial_f32
);
impl_accumulator!(
    f64,
    transpose_f64,
    F64,
    F64_LANES,
    splat_f64,
    fma_f64,
    add_f64,
    reduce_add_f64,
    load_f64,
    load_partial_f64,
    store_f64,
    store_partial_f64
);

/// What the types that widen to f32 have in common.
macro_rules! narrow_element {
    () => {
        type Acc = f32;
        #[inline(always)]
        fn widen(self) -> f32 {
            self.to_f32()
        }
        #[inline(always)]
        fn round(sum: f32) -> Self {
            Self::from_f32(sum)
        }
        #[inline(always)]
        fn accumulates_in<'a>(_: &'a DisjointMut<'a, Self>) -> Option<&'a DisjointMut<'a, f32>> {
            None
        }
        #[inline(always)]
        fn already_wide(_: &[Self]) -> Option<&[f32]> {
            None
        }
    };
}

macro_rules! impl_half_element {
    ($type:ty, $load:ident, $load_partial:ident, $store:ident, $store_partial:ident) => {
        impl Element for $type {
            narrow_element!();
            const ZERO: Self = <$type>::ZERO;
            #[inline(always)]
            fn load<S: Simd>(simd: S, src: &[Self]) -> S::F32 {
                simd.$load(src)
            }
            #[inline(always)]
            fn load_partial<S: Simd>(simd: S, src: &[Self]) -> S::F32 {
                simd.$load_partial(src)
            }
            #[inline(always)]
            fn store<S: Simd>(simd: S, v: S::F32, dst: &mut [Self]) {
                simd.$store(v, dst);
            }
            #[inline(always)]
            fn store_partial<S: Simd>(simd: S, v: S::F32, dst: &mut [Self]) {
                simd.$store_partial(v, dst);
            }
        }
    };
}

impl_half_element!(
    f16,
    load_f16,
    load_partial_f16,
    store_f16,
    store_partial_f16
);
impl_half_element!(
    bf16,
    load_bf16,
    load_partial_bf16,
    store_bf16,
    store_partial_bf16
);

/// No level has instructions for it, so it goes through a buffer, element by element.
impl Element for F8E4M3 {
    narrow_element!();
    const ZERO: Self = F8E4M3::ZERO;
    #[inline(always)]
    fn load<S: Simd>(simd: S, src: &[Self]) -> S::F32 {
        Self::load_partial(simd, &src[..S::F32_LANES])
    }
    #[inline(always)]
    fn load_partial<S: Simd>(simd: S, src: &[Self]) -> S::F32 {
        let mut buffer = [0.0; MAX_F32_LANES];
        for (wide, narrow) in buffer[..S::F32_LANES].iter_mut().zip(src) {
            *wide = f8e4m3_to_f32(*narrow);
        }
        simd.load_f32(&buffer)
    }
    #[inline(always)]
    fn store<S: Simd>(simd: S, v: S::F32, dst: &mut [Self]) {
        Self::store_partial(simd, v, &mut dst[..S::F32_LANES]);
    }
    #[inline(always)]
    fn store_partial<S: Simd>(simd: S, v: S::F32, dst: &mut [Self]) {
        let mut buffer = [0.0; MAX_F32_LANES];
        simd.store_f32(v, &mut buffer);
        for (narrow, wide) in dst.iter_mut().zip(&buffer[..S::F32_LANES]) {
            *narrow = Self::round(*wide);
        }
    }
}

/// Widens by arithmetic that the compiler turns into vector code, unlike the type's own method.
///
/// The 7 bits of magnitude, put where f32 has exponent and mantissa, are the value times
/// 2^(7 − 127), denormals included; multiplying undoes that exactly. 0x7f is NaN.
#[inline(always)]
fn f8e4m3_to_f32(value: F8E4M3) -> f32 {
    const UNBIAS: f32 = f32::from_bits((127 + 120) << 23);
    let bits = u32::from(value.to_bits());
    let magnitude = f32::from_bits((bits & 0x7f) << 20) * UNBIAS;
    let magnitude = if bits & 0x7f == 0x7f {
        f32::NAN
    } else {
        magnitude
    };
    f32::from_bits(magnitude.to_bits() | (bits & 0x80) << 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f8e4m3_widens_as_its_type_says() {
        for bits in 0..=u8::MAX {
            let value = F8E4M3::from_bits(bits);
            let (ours, theirs) = (f8e4m3_to_f32(value), value.to_f32());
            if theirs.is_nan() {
                assert!(ours.is_nan(), "{bits:#x}");
            } else {
                assert_eq!(ours.to_bits(), theirs.to_bits(), "{bits:#x}");
            }
        }
    }
}
