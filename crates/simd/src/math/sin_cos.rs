//! Sine and cosine.
//!
//! x = n π/2 + r with |r| ≤ π/4; n mod 4 says which of ±sin r, ±cos r is the result.
//!
//! * |x| < 2^20: r in f64 lanes. π/2 is split into its upper 33 bits, whose product with n < 2^20
//!   is exact, and the next 53. The difference x - n · upper is exact too, so r is right to 2^-66,
//!   far below the closest that an f32 in this range comes to a multiple of π/2.
//! * larger x: lane by lane with integers (Payne and Hanek, Radian reduction for trigonometric
//!   functions, 1983). x = m 2^e with whole m; bits of 2/π whose product with m 2^e is a multiple
//!   of 4 drop out, the next 96 decide.
//!
//! sin r = r + r³ P(r²), P of degree 3; cos r = 1 - r²/2 + r⁴ Q(r²), Q of degree 2.

use super::polynomial;
use crate::simd::{MAX_F32_LANES, Simd};

/// The upper 33 bits of π/2 and the rest.
const HALF_PI_HIGH: f64 = 1.570_796_326_734_125_6;
const HALF_PI_LOW: f64 = 6.077_100_506_506_192e-11;
/// 1.5 · 2^52: adding it rounds to a whole number.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// From here on the integer path.
const LARGE: f32 = 1_048_576.0;

/// The sine within 1.6 ulp for every finite x; NaN at ±∞.
///
/// ```
/// use tallow_simd::{Scalar, Simd, math};
/// let y = math::sin(Scalar, Scalar.splat_f32(1e30));
/// assert_eq!(Scalar.reduce_max_f32(y), -0.791_163_44);
/// ```
#[inline(always)]
pub fn sin<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let (r, quadrant) = reduce(s, s.abs_f32(x));
    // The argument's own sign comes back as a flip, which keeps that of zero.
    let sign = s.and_i32(s.bits_f32(x), s.splat_i32(i32::MIN));
    evaluate(s, r, quadrant, sign)
}

/// The cosine within 1.6 ulp for every finite x; NaN at ±∞.
///
/// ```
/// use tallow_simd::{Scalar, Simd, math};
/// let y = math::cos(Scalar, Scalar.splat_f32(0.0));
/// assert_eq!(Scalar.reduce_max_f32(y), 1.0);
/// ```
#[inline(always)]
pub fn cos<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let (r, quadrant) = reduce(s, s.abs_f32(x));
    // cos x = sin(x + π/2)
    evaluate(s, r, s.add_i32(quadrant, s.splat_i32(1)), s.splat_i32(0))
}

/// sin(r + quadrant · π/2), its sign flipped where `sign` has the sign bit.
#[inline(always)]
fn evaluate<S: Simd>(s: S, r: S::F32, quadrant: S::I32, sign: S::I32) -> S::F32 {
    let z = s.mul_f32(r, r);
    let p = polynomial(
        s,
        z,
        [-1.666_666_7e-1, 8.333_379e-3, -1.985_307e-4, 2.832_69e-6],
    );
    let sine = s.fma_f32(s.mul_f32(z, r), p, r);
    let q = polynomial(s, z, [4.166_664_6e-2, -1.388_731_1e-3, 2.443_256_4e-5]);
    let tail = s.fma_f32(z, q, s.splat_f32(-0.5));
    let cosine = s.fma_f32(z, tail, s.splat_f32(1.0));

    let odd = s.eq_i32(s.and_i32(quadrant, s.splat_i32(1)), s.splat_i32(1));
    let value = s.select_f32(odd, cosine, sine);
    let flip = s.shl_i32(s.and_i32(quadrant, s.splat_i32(2)), 30);
    s.from_bits_f32(s.xor_i32(s.bits_f32(value), s.xor_i32(flip, sign)))
}

/// r in [-π/4, π/4] and n, exact modulo 4, with x = r + n π/2; for x ≥ 0.
#[inline(always)]
fn reduce<S: Simd>(s: S, x: S::F32) -> (S::F32, S::I32) {
    let (low, high) = s.widen_f32(x);
    let (low, low_quadrant) = reduce_half(s, low);
    let (high, high_quadrant) = reduce_half(s, high);
    let r = s.narrow_f64(low, high);
    let quadrant = s.to_i32(s.narrow_f64(low_quadrant, high_quadrant));
    if s.any_m32(s.le_f32(s.splat_f32(LARGE), x)) {
        return reduce_large_lanes(s, x, r, quadrant);
    }
    (r, quadrant)
}

#[inline(always)]
fn reduce_half<S: Simd>(s: S, x: S::F64) -> (S::F64, S::F64) {
    let rounder = s.splat_f64(ROUNDER);
    let round = |v| s.sub_f64(s.add_f64(v, rounder), rounder);
    let n = round(s.mul_f64(x, s.splat_f64(std::f64::consts::FRAC_2_PI)));
    let r = s.fma_f64(n, s.splat_f64(-HALF_PI_HIGH), x);
    let r = s.fma_f64(n, s.splat_f64(-HALF_PI_LOW), r);
    // n modulo 4 as a number in [-2, 2], so that it fits the narrower types.
    let fours = round(s.mul_f64(n, s.splat_f64(0.25)));
    (r, s.fma_f64(fours, s.splat_f64(-4.0), n))
}

/// Takes the lanes of x from [`LARGE`] on through [`reduce_large`].
#[cold]
#[inline(never)]
fn reduce_large_lanes<S: Simd>(s: S, x: S::F32, r: S::F32, quadrant: S::I32) -> (S::F32, S::I32) {
    let (mut xs, mut rs) = ([0.0; MAX_F32_LANES], [0.0; MAX_F32_LANES]);
    let mut quadrants = [0; MAX_F32_LANES];
    s.store_f32(x, &mut xs);
    s.store_f32(r, &mut rs);
    s.store_i32(quadrant, &mut quadrants);
    for ((x, r), quadrant) in xs.into_iter().zip(&mut rs).zip(&mut quadrants) {
        if x >= LARGE {
            (*r, *quadrant) = reduce_large(x);
        }
    }
    (s.load_f32(&rs), s.load_i32(&quadrants))
}

/// A word of zeros, then 2/π in words of 32 bits, the highest first (printed by `minimax.py`).
const TWO_OVER_PI: [u32; 8] = [
    0,
    0xa2f9_836e,
    0x4e44_1529,
    0xfc27_57d1,
    0xf534_ddc0,
    0xdb62_9599,
    0x3c43_9041,
    0xfe51_63ab,
];

/// 2^-94. `powi` may round.
const UNIT: f64 = f64::from_bits((1023 - 94) << 52);

/// The reduction of one x ≥ 2^20 in integers.
fn reduce_large(x: f32) -> (f32, i32) {
    if x.is_infinite() {
        return (f32::NAN, 0);
    }
    let bits = x.to_bits();
    let mantissa = u128::from((bits & 0x007f_ffff) | 0x0080_0000);
    // x = mantissa · 2^(exponent); exponent is in -3..=104.
    let exponent = (bits >> 23) as i32 - 150;
    // Bit i of 2/π (i = 1 is worth 1/2) times 2^exponent is a multiple of 4 up to i = exponent - 2.
    // The table's word of zeros puts bit i at place i + 31, and the window starts at the bit after.
    let start = (exponent - 1 + 31) as usize;
    let (word, shift) = (start / 32, start % 32);
    let words = (0..4).fold(0u128, |all, k| {
        let next = TWO_OVER_PI.get(word + k).copied().unwrap_or(0);
        (all << 32) | u128::from(next)
    });
    let window = (words << shift) >> 32; // 96 bits; the last is worth 2^-94 after scaling
    // x · 2/π modulo 4, in units of 2^-94.
    let product = (mantissa * window) & ((1 << 96) - 1);
    let quadrant = (product + (1 << 93)) >> 94;
    let fraction = product as i128 - ((quadrant as i128) << 94);
    let r = fraction as f64 * UNIT * std::f64::consts::FRAC_PI_2;
    (r as f32, quadrant as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_reductions_agree_where_both_are_exact() {
        // At 2^19 to 2^20 the f64 path is exact as well; exponent -4 still fits the table.
        for step in 0..1000u32 {
            let x = f32::from_bits(524_288f32.to_bits() + step * 8_317);
            let exact = f64::from(x);
            let n = (exact * std::f64::consts::FRAC_2_PI).round();
            let r = (exact - n * HALF_PI_HIGH) - n * HALF_PI_LOW;
            let (large_r, quadrant) = reduce_large(x);
            assert_eq!(quadrant & 3, n as i32 & 3, "{x}");
            assert_eq!(large_r, r as f32, "{x}");
        }
    }

    #[test]
    fn hardest_argument_keeps_its_digits() {
        // 16367173 · 2^72 is the f32 whose distance to a multiple of π/2 is smallest:
        // 1.6148e-9 (J.-M. Muller, Elementary Functions, table of worst cases).
        let x = 16_367_173.0 * (1u128 << 72) as f32;
        let (r, _) = reduce_large(x);
        assert!((f64::from(r.abs()) - 1.614_80e-9).abs() < 1e-13, "{r:e}");
    }
}
