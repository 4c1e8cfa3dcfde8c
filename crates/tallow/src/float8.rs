//! f8e4m3 to f32 and back (Micikevicius et al. 2022): sign, 4 exponent bits with bias 7, 3 mantissa
//! bits; no infinities; all ones is NaN.
//!
//! Widening is a table of 256. Narrowing rounds to nearest, ties to even, and saturates at ±448, as
//! the `float8` crate's own conversions do; those walk bit by bit, which is too slow for a kernel.

use crate::F8E4M3;

const WIDE: [f32; 256] = wide();

const fn wide() -> [f32; 256] {
    let mut wide = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        let (exponent, mantissa) = ((code >> 3) & 15, (code & 7) as f32);
        let magnitude = match (exponent, code & 0x7F) {
            (_, 0x7F) => f32::NAN,
            (0, _) => mantissa / 512.0,
            // 2^(exponent - 7) by its bits.
            _ => (1.0 + mantissa / 8.0) * f32::from_bits((exponent as u32 + 120) << 23),
        };
        wide[code] = if code >= 128 { -magnitude } else { magnitude };
        code += 1;
    }
    wide
}

/// The value; exact.
#[inline(always)]
pub(crate) fn widen(value: F8E4M3) -> f32 {
    WIDE[usize::from(value.to_bits())]
}

/// The nearest value, ties to even; beyond ±448 it is ±448.
#[inline(always)]
pub(crate) fn narrow(value: f32) -> F8E4M3 {
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 24) as u8 & 0x80, bits & 0x7FFF_FFFF);
    let code = if magnitude > f32::INFINITY.to_bits() {
        0x7F
    } else if magnitude >= 448f32.to_bits() {
        0x7E
    } else if magnitude < (1.0f32 / 64.0).to_bits() {
        // Below the least normal number, 2⁻⁶, the step is 2⁻⁹. Adding 2²³ rounds to whole steps.
        let steps = f32::from_bits(magnitude) * 512.0 + 8_388_608.0;
        (steps.to_bits() & 0xF) as u8
    } else {
        let odd = (magnitude >> 20) & 1;
        (((magnitude + 0x7_FFFF + odd) >> 20) - (120 << 3)) as u8
    };
    F8E4M3::from_bits(sign | code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounding::round_to_odd;

    #[test]
    fn every_code_comes_back() {
        for code in 0..=255u8 {
            let wide = widen(F8E4M3::from_bits(code));
            match wide.is_nan() {
                true => assert_eq!(code & 0x7F, 0x7F),
                false => assert_eq!(narrow(wide).to_bits(), code, "{wide}"),
            }
        }
    }

    #[test]
    fn the_nearest_code_is_chosen_ties_to_even() {
        for code in 0..0x7Eu8 {
            let (low, high) = (
                widen(F8E4M3::from_bits(code)),
                widen(F8E4M3::from_bits(code + 1)),
            );
            let middle = (low + high) / 2.0;
            let even = code + (code & 1);
            assert_eq!(narrow(middle).to_bits(), even, "{middle}");
            assert_eq!(narrow(middle.next_down()).to_bits(), code, "{middle}");
            assert_eq!(narrow(middle.next_up()).to_bits(), code + 1, "{middle}");
            assert_eq!(
                narrow(round_to_odd(f64::from(middle).next_up())).to_bits(),
                code + 1,
                "{middle}"
            );
            assert_eq!(
                narrow(round_to_odd(f64::from(-middle).next_up())).to_bits(),
                code | 0x80,
                "{middle}"
            );
        }
        assert_eq!(narrow(1e9).to_bits(), 0x7E);
        assert_eq!(narrow(f32::NEG_INFINITY).to_bits(), 0xFE);
        assert!(widen(narrow(f32::NAN)).is_nan());
    }
}
