//! The functions of `tallow_simd::math`, their exact values and the bounds they promise.

use tallow_simd::slices::map;
use tallow_simd::{Kernel, Level, Simd, dispatch_at, math};

/// One function of `tallow_simd::math`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Function {
    Exp,
    Log,
    Tanh,
    Erf,
    Sigmoid,
    Sin,
    Cos,
}

impl Function {
    /// Every function.
    pub(crate) const ALL: [Self; 7] = [
        Self::Exp,
        Self::Log,
        Self::Tanh,
        Self::Erf,
        Self::Sigmoid,
        Self::Sin,
        Self::Cos,
    ];

    /// Whether f(-x) is ±f(x), so that x ≥ 0 is enough for an exhaustive test.
    #[allow(dead_code)] // the exhaustive example asks
    pub(crate) fn is_symmetric(self) -> bool {
        matches!(self, Self::Tanh | Self::Erf | Self::Sin | Self::Cos)
    }

    /// The bound in ulp that the documentation of the function states.
    pub(crate) fn bound_ulp(self) -> f64 {
        match self {
            Self::Exp => 1.1,
            Self::Log => 1.0,
            Self::Tanh | Self::Erf => 1.5,
            Self::Sin | Self::Cos => 1.6,
            Self::Sigmoid => 2.0,
        }
    }

    /// The value in f64, far more exact than an f32.
    pub(crate) fn exact(self, x: f32) -> f64 {
        let x = f64::from(x);
        match self {
            Self::Exp => x.exp(),
            Self::Log => x.ln(),
            Self::Tanh => x.tanh(),
            Self::Erf => libm::erf(x),
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
        }
    }

    /// The vector function on each element of `input`.
    pub(crate) fn run(self, level: Level, input: &[f32], output: &mut [f32]) {
        dispatch_at(
            level,
            Map {
                function: self,
                input,
                output,
            },
        )
        .expect("level is supported");
    }
}

struct Map<'a> {
    function: Function,
    input: &'a [f32],
    output: &'a mut [f32],
}

impl Kernel for Map<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            function,
            input,
            output,
        } = self;
        match function {
            Function::Exp => map(
                s,
                input,
                output,
                #[inline(always)]
                |x| math::exp(s, x),
            ),
            Function::Log => map(
                s,
                input,
                output,
                #[inline(always)]
                |x| math::log(s, x),
            ),
            Function::Tanh => map(
                s,
                input,
                output,
                #[inline(always)]
                |x| math::tanh(s, x),
            ),
            Function::Erf => map(
                s,
                input,
                output,
                #[inline(always)]
                |x| math::erf(s, x),
            ),
            Function::Sigmoid => map(
                s,
                input,
                output,
                #[inline(always)]
                |x| math::sigmoid(s, x),
            ),
            Function::Sin => map(
                s,
                input,
                output,
                #[inline(always)]
                |x| math::sin(s, x),
            ),
            Function::Cos => map(
                s,
                input,
                output,
                #[inline(always)]
                |x| math::cos(s, x),
            ),
        }
    }
}

/// How far `got` is from `exact`, in units in the last place of f32 at `exact`.
///
/// NaN against NaN and equal infinities are 0, any other difference of kind is infinite, a zero
/// of the wrong sign too. Infinity stands for 2^128, so that it is right from halfway on.
pub(crate) fn error_ulp(got: f32, exact: f64) -> f64 {
    let is_same_sign = got.is_sign_negative() == exact.is_sign_negative();
    let distance = (f64::from(got) - exact).abs() * inverse_ulp(exact);
    if distance.is_finite() && (is_same_sign || got != 0.0 || exact != 0.0) {
        return distance;
    }
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    if got.is_infinite() && is_same_sign {
        let beyond = 2f64.powi(128) - exact.abs();
        return if beyond <= 0.0 {
            0.0
        } else {
            beyond * inverse_ulp(exact)
        };
    }
    f64::INFINITY
}

/// One over the distance of neighbouring f32 around the value.
#[inline(always)]
fn inverse_ulp(exact: f64) -> f64 {
    // The exponent field of f64; below the normal range of f32 the distance stays.
    let field = (exact.to_bits() >> 52) & 0x7ff;
    let field = field.clamp(1023 - 126, 1023 + 127);
    f64::from_bits((2 * 1023 + 23 - field) << 52)
}
