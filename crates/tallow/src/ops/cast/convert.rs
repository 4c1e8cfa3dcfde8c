//! Conversions of slices, from any of ten types to any.
//!
//! The *plain* types (integers, f32, f64) convert among themselves by Rust's `as`, in loops that
//! the compiler makes vectors of. The *narrow* floats (f16, bf16, f8e4m3) go through f32; widening
//! is exact. The other way has to round once, not first to f32 and then again, so a number is
//! rounded to f32 *to odd*: towards 0, with the last bit set if anything was lost. Rounding that to
//! nearest gives what the number itself would (Boldo and Melquiond 2008), because f32 has more than
//! two bits more than any narrow type.

use crate::cpu::vector::map_vector;
use crate::rounding::round_to_odd;
use crate::{F8E4M3, WithDType, bf16, f16};
use tallow_simd::Simd;

/// Elements that go through a buffer of f32 at a time: 1 KiB.
const BLOCK: usize = 256;

/// Conversion to another element type. Both slices have the same length.
pub(super) trait Convert<O>: WithDType {
    /// True where the target's baseline is as good as any level: see
    /// [`Map1::PLAIN`](crate::cpu::map::Map1::PLAIN).
    const PLAIN: bool = false;
    /// Converts each element.
    fn convert<S: Simd>(simd: S, src: &[Self], dst: &mut [O]);
}

macro_rules! plain {
    ($from:ty => $($to:ty),+) => {
        $(impl Convert<$to> for $from {
            const PLAIN: bool = true;
            #[inline(always)]
            fn convert<S: Simd>(_: S, src: &[Self], dst: &mut [$to]) {
                dst.iter_mut().zip(src).for_each(|(d, &s)| *d = s as $to);
            }
        })+
    };
}
plain!(u8 => u8, u32, i16, i32, i64, f32, f64);
plain!(u32 => u8, u32, i16, i32, i64, f32, f64);
plain!(i16 => u8, u32, i16, i32, i64, f32, f64);
plain!(i32 => u8, u32, i16, i32, i64, f32, f64);
plain!(i64 => u8, u32, i16, i32, i64, f32, f64);
plain!(f32 => u8, u32, i16, i32, i64, f32, f64);
plain!(f64 => u8, u32, i16, i32, i64, f32, f64);

/// Pairs whose values pass through vectors of f32.
macro_rules! vectors {
    ($from:ty => $($to:ty),+) => {
        $(impl Convert<$to> for $from {
            #[inline(always)]
            fn convert<S: Simd>(simd: S, src: &[Self], dst: &mut [$to]) {
                map_vector(simd, src, dst, #[inline(always)] |x| x);
            }
        })+
    };
}
vectors!(f32 => f16, bf16, F8E4M3);
vectors!(f16 => f32, f16, bf16, F8E4M3);
vectors!(bf16 => f32, f16, bf16, F8E4M3);
vectors!(F8E4M3 => f32, f16, bf16, F8E4M3);

macro_rules! narrow_to_plain {
    ($from:ty => $($to:ty),+) => {
        $(impl Convert<$to> for $from {
            #[inline(always)]
            fn convert<S: Simd>(simd: S, src: &[Self], dst: &mut [$to]) {
                through_f32(src, dst, #[inline(always)] |src, wide, dst| {
                    <$from>::convert(simd, src, &mut *wide);
                    f32::convert(simd, wide, dst);
                });
            }
        })+
    };
}
narrow_to_plain!(f16 => u8, u32, i16, i32, i64, f64);
narrow_to_plain!(bf16 => u8, u32, i16, i32, i64, f64);
narrow_to_plain!(F8E4M3 => u8, u32, i16, i32, i64, f64);

macro_rules! plain_to_narrow {
    ($from:ty, $to_odd:expr => $($to:ty),+) => {
        $(impl Convert<$to> for $from {
            #[inline(always)]
            fn convert<S: Simd>(simd: S, src: &[Self], dst: &mut [$to]) {
                through_f32(src, dst, #[inline(always)] |src, wide, dst| {
                    wide.iter_mut().zip(src).for_each(|(w, &s)| *w = $to_odd(s));
                    f32::convert(simd, wide, dst);
                });
            }
        })+
    };
}
plain_to_narrow!(u8, f32::from => f16, bf16, F8E4M3);
plain_to_narrow!(i16, f32::from => f16, bf16, F8E4M3);
plain_to_narrow!(u32, |x| round_to_odd(f64::from(x)) => f16, bf16, F8E4M3);
plain_to_narrow!(i32, |x| round_to_odd(f64::from(x)) => f16, bf16, F8E4M3);
plain_to_narrow!(i64, |x| round_to_odd(odd_f64(x)) => f16, bf16, F8E4M3);
plain_to_narrow!(f64, round_to_odd => f16, bf16, F8E4M3);

#[inline(always)]
fn through_f32<A, O>(src: &[A], dst: &mut [O], f: impl Fn(&[A], &mut [f32], &mut [O])) {
    let mut wide = [0.0; BLOCK];
    for (src, dst) in src.chunks(BLOCK).zip(dst.chunks_mut(BLOCK)) {
        f(src, &mut wide[..src.len()], dst);
    }
}

/// As f64, rounded to odd: below 2⁵³ as it is; beyond, the 11 bits that f64 lacks become one.
#[inline(always)]
fn odd_f64(x: i64) -> f64 {
    const LOST: i64 = 0x7FF;
    let sticky = i64::from(x & LOST != 0) * (LOST + 1);
    let rounded = (x & !LOST) | sticky;
    let fits = (-(1 << 53)..=1 << 53).contains(&x);
    (if fits { x } else { rounded }) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallow_simd::{Kernel, dispatch};

    struct Run<'a, A, O>(&'a [A], &'a mut [O]);
    impl<A: Convert<O>, O> Kernel for Run<'_, A, O> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            A::convert(simd, self.0, self.1);
        }
    }

    fn converted<A: Convert<O>, O: WithDType>(src: &[A]) -> Vec<O> {
        let mut dst = vec![O::default(); src.len()];
        dispatch(Run(src, &mut dst));
        dst
    }

    #[test]
    fn numbers_beside_a_tie_round_once() {
        // 1 + 2⁻¹¹ lies between two f16; a little more must go up, though f32 cannot hold the more.
        let tie = 1.0 + 2f64.powi(-11);
        let above = tie + 2f64.powi(-40);
        assert_eq!(
            converted::<f64, f16>(&[tie, above, -above]).map_bits(),
            [0x3C00, 0x3C01, 0xBC01]
        );
        // The same for bf16 at 2⁶² + 2⁵⁴, and one more, which f64 cannot hold either.
        let tie = (1i64 << 62) + (1 << 54);
        assert_eq!(
            converted::<i64, bf16>(&[tie, tie + 1, -tie - 1]).map_bits(),
            [0x5E80, 0x5E81, 0xDE81]
        );
    }

    trait Bits {
        fn map_bits(self) -> Vec<u16>;
    }
    impl Bits for Vec<f16> {
        fn map_bits(self) -> Vec<u16> {
            self.into_iter().map(f16::to_bits).collect()
        }
    }
    impl Bits for Vec<bf16> {
        fn map_bits(self) -> Vec<u16> {
            self.into_iter().map(bf16::to_bits).collect()
        }
    }

    #[test]
    fn every_narrow_float_survives_the_way_through_f64() {
        let all: Vec<f16> = (0..=u16::MAX)
            .map(f16::from_bits)
            .filter(|x| !x.is_nan())
            .collect();
        let wide = converted::<f16, f64>(&all);
        assert_eq!(
            converted::<f64, f16>(&wide).map_bits(),
            all.clone().map_bits()
        );
        let all: Vec<bf16> = (0..=u16::MAX)
            .map(bf16::from_bits)
            .filter(|x| !x.is_nan())
            .collect();
        let wide = converted::<bf16, f64>(&all);
        assert_eq!(
            converted::<f64, bf16>(&wide).map_bits(),
            all.clone().map_bits()
        );
    }
}
