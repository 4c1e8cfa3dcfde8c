//! x to the power of y, for f32, in branch-free f64 arithmetic that compilers make vectors of.
//!
//! |x|^y = 2^t with t = y · log₂|x|. With |x| = 2^e · m and m in [√½, √2), log₂ m is (2 / ln 2) ·
//! atanh(s) for s = (m - 1) / (m + 1), |s| < 0.172, by its odd series up to s¹⁵ (what is left out
//! is below 2⁻⁴⁴ of it). 2^t is 2^n · e^(r·ln 2) with n the integer next to t and |r| ≤ ½, by
//! Taylor's series up to r¹⁰ (below 2⁻⁴¹). |t| up to 150 matters for f32, so the error before the
//! one rounding to f32 is below 2⁻³³: the result is the nearest f32 or its neighbour.
//!
//! The special values are those of IEEE 754's pow: x⁰ and 1ʸ are 1 even for NaN; a negative base
//! wants an integer exponent, else NaN; 0 to a negative power is infinite.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, SQRT_2};

/// Coefficients 2 / (ln 2 · (2k + 1)) of s^(2k+1).
const LOG: [f64; 8] = {
    let mut coefficients = [0.0; 8];
    let mut k = 0;
    while k < 8 {
        coefficients[k] = 2.0 / (LN_2 * (2 * k + 1) as f64);
        k += 1;
    }
    coefficients
};

/// Coefficients (ln 2)^k / k! of r^k.
const EXP: [f64; 11] = {
    let mut coefficients = [1.0; 11];
    let mut k = 1;
    while k < 11 {
        coefficients[k] = coefficients[k - 1] * LN_2 / k as f64;
        k += 1;
    }
    coefficients
};

/// Beyond this, 2^t is 0 or infinite in f32, and still an ordinary number in f64.
const T_MAX: f64 = 300.0;

/// x to the power of y.
#[inline(always)]
pub fn power(x: f32, y: f32) -> f32 {
    let (wide_x, wide_y) = (f64::from(x), f64::from(y));
    let base = wide_x.abs();
    let t = wide_y * log2(base);
    // NaN passes both comparisons and stays.
    let t = if t > T_MAX { T_MAX } else { t };
    let t = if t < -T_MAX { -T_MAX } else { t };
    let finite = exp2(t) as f32;

    // 0 and infinity to any power but 0 are 0 or infinity.
    let end = base == 0.0 || base == f64::INFINITY;
    let up = (base == 0.0) == (wide_y < 0.0);
    let limit = if up { f32::INFINITY } else { 0.0 };
    let magnitude = if end { limit } else { finite };
    let magnitude = if base == 1.0 { 1.0 } else { magnitude };

    let whole = is_whole(wide_y);
    let odd = whole && !is_whole(wide_y * 0.5);
    let negative = x.is_sign_negative();
    let signed = if negative && odd {
        -magnitude
    } else {
        magnitude
    };
    let undefined = negative && !whole && base != 0.0 && base != f64::INFINITY;
    let nan = undefined || x.is_nan() || y.is_nan();
    let value = if nan { f32::NAN } else { signed };
    if y == 0.0 || x == 1.0 { 1.0 } else { value }
}

/// Whole numbers have no fraction; those of 2⁵² and more always, infinity too.
#[inline(always)]
fn is_whole(value: f64) -> bool {
    const MAGIC: f64 = 4_503_599_627_370_496.0;
    let size = value.abs();
    // Below 2⁵², adding and taking away 2⁵² rounds to an integer.
    (size + MAGIC) - MAGIC == size || size >= MAGIC
}

/// Of a positive normal f64, which every positive f32 is.
#[inline(always)]
fn log2(x: f64) -> f64 {
    let bits = x.to_bits();
    let mantissa = f64::from_bits((bits & 0x000F_FFFF_FFFF_FFFF) | 0x3FF0_0000_0000_0000);
    let high = mantissa > SQRT_2;
    let m = if high { mantissa * 0.5 } else { mantissa };
    debug_assert!(x <= 0.0 || !x.is_finite() || (FRAC_1_SQRT_2..=SQRT_2).contains(&m));
    // The biased exponent becomes a number by being the low bits of 2⁵²'s mantissa.
    let biased = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0;
    let exponent = biased - if high { 1022.0 } else { 1023.0 };
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let mut sum = LOG[7];
    let mut k = 7;
    while k > 0 {
        k -= 1;
        sum = sum * square + LOG[k];
    }
    exponent + sum * s
}

/// For |t| ≤ `T_MAX`; NaN gives anything.
#[inline(always)]
fn exp2(t: f64) -> f64 {
    // 1.5 · 2⁵²: adding it rounds to an integer, which then is the low bits of the sum.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let shifted = t + MAGIC;
    let r = t - (shifted - MAGIC);
    let mut sum = EXP[10];
    let mut k = 10;
    while k > 0 {
        k -= 1;
        sum = sum * r + EXP[k];
    }
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(0x3FF0_0000_0000_0000));
    sum * scale
}

#[cfg(test)]
mod tests {
    use super::power;

    /// The nearest f32 to pow of f64, or a neighbour.
    fn check(x: f32, y: f32) {
        let (got, want) = (power(x, y), f64::from(x).powf(f64::from(y)) as f32);
        let near = got.to_bits().abs_diff(want.to_bits()) <= 1;
        assert!(
            near || (got.is_nan() && want.is_nan()),
            "{x:e}^{y:e} is {got:e}, wanted {want:e}"
        );
    }

    #[test]
    fn special_values_are_those_of_ieee() {
        let positive = [
            0.0,
            1e-45,
            1e-30,
            0.3,
            0.5,
            1.0,
            1.5,
            2.0,
            3.0,
            1e9,
            16_777_217.0,
            1e30,
            f32::INFINITY,
        ];
        let mut values: Vec<f32> = positive.iter().flat_map(|&x| [x, -x]).collect();
        values.push(f32::NAN);
        for &x in &values {
            for &y in &values {
                check(x, y);
            }
        }
    }

    #[test]
    fn ordinary_values_are_within_a_neighbour() {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        for _ in 0..20_000 {
            check(next() * 40.0, next() * 40.0 - 20.0);
            check(1.0 + (next() - 0.5) * 1e-3, (next() - 0.5) * 1e5);
            check(-next() * 9.0, (next() * 20.0 - 10.0).round());
            check(
                f32::from_bits((next() * 2_139_095_040.0) as u32),
                next() * 6.0 - 3.0,
            );
        }
    }
}
