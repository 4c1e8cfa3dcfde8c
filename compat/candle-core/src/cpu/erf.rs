//! The error function, its complement, and their inverses.

use std::f64::consts::{PI, SQRT_2};

/// erf(x) = 2/√π ∫₀ˣ exp(−t²) dt.
pub fn erf_f64(x: f64) -> f64 {
    libm::erf(x)
}

/// As [`erf_f64`].
pub fn erf_f32(x: f32) -> f32 {
    libm::erff(x)
}

/// 1 − erf(x).
pub fn erfc_f64(x: f64) -> f64 {
    libm::erfc(x)
}

/// As [`erfc_f64`].
pub fn erfc_f32(x: f32) -> f32 {
    libm::erfcf(x)
}

/// The number whose error function is `x`: infinite at ±1, NaN beyond.
///
/// ```
/// use candle_core::cpu::erf::{erf_f64, erf_inv};
/// assert!((erf_f64(erf_inv(0.3)) - 0.3).abs() < 1e-15);
/// ```
pub fn erf_inv(x: f64) -> f64 {
    match x < 0.0 {
        true => -erf_inv(-x),
        false if x < 0.5 => root(start(x, 1.0 - x), |y| libm::erf(y) - x),
        false => erfc_inv(1.0 - x),
    }
}

/// The number whose complementary error function is `x`: infinite at 0 and 2, NaN beyond.
///
/// ```
/// use candle_core::cpu::erf::{erfc_f64, erfc_inv};
/// assert!((erfc_f64(erfc_inv(1e-200)) / 1e-200 - 1.0).abs() < 1e-12);
/// ```
pub fn erfc_inv(x: f64) -> f64 {
    match x {
        _ if x.is_nan() || !(0.0..=2.0).contains(&x) => f64::NAN,
        0.0 => f64::INFINITY,
        2.0 => f64::NEG_INFINITY,
        _ if x > 1.0 => -erfc_inv(2.0 - x),
        _ if x > 0.5 => root(start(1.0 - x, x), |y| x - libm::erfc(y)),
        _ => tail(x),
    }
}

/// Winitzki's approximation of the inverse at `x`, of which the complement is given too: within
/// 0.5 %.
fn start(x: f64, complement: f64) -> f64 {
    const A: f64 = 0.147;
    let log = (complement * (1.0 + x)).ln();
    let half = 2.0 / (PI * A) + log / 2.0;
    (((half * half - log / A).sqrt() - half).max(0.0)).sqrt()
}

/// Halley's steps on a difference whose derivative is that of erf; each triples the digits.
fn root(mut y: f64, difference: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..4 {
        let step = difference(y) / (2.0 / PI.sqrt() * (-y * y).exp());
        y -= step / (1.0 + y * step);
    }
    y
}

/// The inverse of erfc at most at 1/2: Newton's steps on ln erfc, which is nearly a parabola, so
/// that the least numbers are found as well.
fn tail(x: f64) -> f64 {
    let (log, mut y) = (x.ln(), start(1.0 - x, x));
    if !y.is_finite() {
        y = (-log).sqrt();
    }
    for _ in 0..8 {
        let found = libm::erfc(y);
        if found == 0.0 {
            y /= SQRT_2;
            continue;
        }
        let slope = -2.0 / PI.sqrt() * (-y * y - found.ln()).exp();
        y -= (found.ln() - log) / slope;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_lead_back_over_the_whole_range() {
        for at in -999..1000 {
            let x = f64::from(at) / 1000.0;
            let back = erf_f64(erf_inv(x));
            assert!((back - x).abs() < 4e-16, "{x}: {back}");
        }
        for exponent in 0..308 {
            let x = 0.7 * 10f64.powi(-exponent);
            let back = erfc_f64(erfc_inv(x));
            assert!((back / x - 1.0).abs() < 1e-12, "{x}: {back}");
        }
    }

    #[test]
    fn ends_are_infinite_and_nan_lies_beyond() {
        assert_eq!(
            [erf_inv(1.), erf_inv(-1.)],
            [f64::INFINITY, f64::NEG_INFINITY]
        );
        assert_eq!(
            [erfc_inv(0.), erfc_inv(2.)],
            [f64::INFINITY, f64::NEG_INFINITY]
        );
        assert_eq!([erf_inv(0.), erfc_inv(1.)], [0., 0.]);
        for x in [1.1, -1.1, f64::NAN] {
            assert!(erf_inv(x).is_nan() && erfc_inv(1. - x).is_nan(), "{x}");
        }
    }

    #[test]
    fn known_values() {
        assert!((erf_f32(0.5) - 0.520_499_9).abs() < 1e-7);
        assert!((erfc_f32(0.5) - 0.479_500_1).abs() < 1e-7);
        assert!((erf_inv(0.5) - 0.476_936_276_204_469_9).abs() < 1e-15);
        assert!((erfc_inv(1e-10) - 4.572_824_967_389_486).abs() < 1e-13);
    }
}
