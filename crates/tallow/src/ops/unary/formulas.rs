//! The table of unary functions, and the `Tensor` methods that it makes.
//!
//! A line has: the method; the type that stands for it; its cost; for integers the types that it
//! takes and the formula; the formula over f32 vectors, which is written into the kernel as it
//! stands (a closure that is not inlined turns every vector operation into a call); the formula
//! over f64; the derivative; the method's docs.

use super::super::{Family, OpInfo};
use super::slopes::{self, Slope};
use crate::cpu::map::Cost;
use crate::{DType, Result, Tensor};
use tallow_simd::{Simd, math};

/// A function of one number.
pub(super) trait Formula: Copy + Send + Sync + 'static {
    const NAME: &'static str;
    /// The function in the kernel's text.
    const KERNEL: &'static str;
    const DTYPES: &'static [DType];
    const COST: Cost;
    fn vector<S: Simd>(simd: S, x: S::F32) -> S::F32;
    fn double(x: f64) -> f64;
    fn integer(x: i64) -> i64;
    /// The gradient with respect to x, from x, the result and the gradient with respect to it.
    fn gradient(x: &Tensor, y: &Tensor, u: &Tensor) -> Result<Tensor>;
}

use DType::{BF16, F8E4M3, F16, F32, F64, I16, I32, I64, U8, U32};

/// The integer types that a formula takes, joined to the floats.
macro_rules! dtypes {
    (none) => {
        &DType::FLOATS
    };
    (signed) => {
        &[BF16, F16, F32, F64, F8E4M3, I16, I32, I64]
    };
    (all) => {
        &[BF16, F16, F32, F64, F8E4M3, I16, I32, I64, U8, U32]
    };
}

macro_rules! formulas {
    ($(
        $method:ident $Type:ident $cost:ident, $ints:ident $integer:expr,
        |$s:ident, $x:ident| $vector:expr, $double:expr, $slope:path, $doc:expr;
    )+) => {
        $(
            #[derive(Clone, Copy)]
            pub(super) struct $Type;

            impl Formula for $Type {
                const NAME: &'static str = stringify!($method);
                const KERNEL: &'static str = concat!("unary_", stringify!($method));
                const DTYPES: &'static [DType] = dtypes!($ints);
                const COST: Cost = Cost::$cost;
                #[inline(always)]
                fn vector<S: Simd>($s: S, $x: S::F32) -> S::F32 {
                    $vector
                }
                #[inline(always)]
                fn double(x: f64) -> f64 {
                    $double(x)
                }
                #[inline(always)]
                fn integer(x: i64) -> i64 {
                    $integer(x)
                }
                fn gradient(x: &Tensor, y: &Tensor, u: &Tensor) -> Result<Tensor> {
                    const SLOPE: Slope = $slope;
                    SLOPE(x, y, u)
                }
            }
        )+

        /// Unary functions.
        impl Tensor {
            $(
                #[doc = $doc]
                pub fn $method(&self) -> Result<Tensor> {
                    super::unary($Type, self)
                }
            )+
        }

        /// The family's entry in [`ALL`](crate::ops::ALL).
        pub const FAMILY: Family = Family {
            name: "unary",
            ops: &[$(OpInfo { name: stringify!($method), dtypes: dtypes!($ints) }),+],
            cases: super::cases::cases,
            draw: super::cases::draw,
        };
    };
}

/// Integers that have no such function.
fn refused(x: i64) -> i64 {
    x
}

fn identity(x: i64) -> i64 {
    x
}

formulas! {
    exp Exp Heavy, none refused, |s, x| math::exp(s, x), f64::exp,
        slopes::exp, "e to the power of each element.

```
use tallow::{Device, Tensor};
let x = Tensor::new(&[0f32, 1.], &Device::Cpu)?;
assert_eq!(x.exp()?.to_vec1::<f32>()?, [1., std::f32::consts::E]);
# Ok::<(), tallow::Error>(())
```";
    log Log Heavy, none refused, |s, x| math::log(s, x), f64::ln,
        slopes::log, "The natural logarithm; NaN below 0, negative infinity at 0.";
    sin Sin Heavy, none refused, |s, x| math::sin(s, x), f64::sin, slopes::sin,
        "The sine of each element, in radians.";
    cos Cos Heavy, none refused, |s, x| math::cos(s, x), f64::cos, slopes::cos,
        "The cosine of each element, in radians.";
    tanh Tanh Heavy, none refused, |s, x| math::tanh(s, x), f64::tanh, slopes::tanh,
        "The hyperbolic tangent.";
    erf Erf Heavy, none refused, |s, x| math::erf(s, x), libm::erf, slopes::erf,
        "The Gauss error function.";
    sqrt Sqrt Light, none refused, |s, x| s.sqrt_f32(x), f64::sqrt,
        slopes::sqrt, "The square root; NaN below 0.";
    rsqrt Rsqrt Light, none refused,
        |s, x| s.div_f32(s.splat_f32(1.0), s.sqrt_f32(x)), |x: f64| 1.0 / x.sqrt(),
        slopes::rsqrt, "1 over the square root; infinity at 0.";
    recip Recip Light, none refused, |s, x| s.div_f32(s.splat_f32(1.0), x), f64::recip,
        slopes::recip, "1 over each element; infinity at 0.";
    sqr Sqr Light, all |x: i64| x.wrapping_mul(x), |s, x| s.mul_f32(x, x), |x: f64| x * x,
        slopes::sqr, "The square of each element. Integers wrap.";
    abs Abs Light, all i64::wrapping_abs, |s, x| s.abs_f32(x), f64::abs,
        slopes::abs, "The absolute value. The least signed integer wraps to itself.";
    neg Neg Light, signed i64::wrapping_neg, |s, x| s.neg_f32(x), |x: f64| -x,
        slopes::neg,
        "Each element with its sign changed. The least signed integer wraps to itself.";
    sign Sign Light, all i64::signum, |s, x| sign(s, x), sign_double, slopes::flat,
        "-1, 0 or 1; NaN for NaN.";
    floor Floor Light, all identity, |s, x| s.floor_f32(x), f64::floor,
        slopes::flat, "The greatest integer that is not above. Integers stay.";
    ceil Ceil Light, all identity, |s, x| s.ceil_f32(x), f64::ceil,
        slopes::flat, "The least integer that is not below. Integers stay.";
    round Round Light, all identity, |s, x| round(s, x), f64::round,
        slopes::flat, "The nearest integer; halves go away from 0. Integers stay.";
    relu Relu Light, all |x: i64| x.max(0), |s, x| s.max_f32(x, s.splat_f32(0.0)), relu_double,
        slopes::relu, "max(x, 0).";
    gelu Gelu Heavy, none refused, |s, x| gelu(s, x), gelu_double,
        slopes::gelu,
        "x · Φ(x) by tanh: x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))) (Hendrycks, Gimpel 2016).";
    gelu_erf GeluErf Heavy, none refused, |s, x| gelu_erf(s, x), gelu_erf_double,
        slopes::gelu_erf, "x · Φ(x), exact: x/2 · (1 + erf(x/√2)) (Hendrycks and Gimpel 2016).";
    silu Silu Heavy, none refused, |s, x| s.mul_f32(x, math::sigmoid(s, x)), silu_double,
        slopes::silu, "x · sigmoid(x).";
    sigmoid Sigmoid Heavy, none refused, |s, x| math::sigmoid(s, x), sigmoid_double,
        slopes::sigmoid, "1 / (1 + e⁻ˣ).";
}

#[inline(always)]
fn sign<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let (zero, one) = (s.splat_f32(0.0), s.splat_f32(1.0));
    let negative = s.select_f32(s.lt_f32(x, zero), s.splat_f32(-1.0), x);
    s.select_f32(s.lt_f32(zero, x), one, negative)
}

fn sign_double(x: f64) -> f64 {
    match x.partial_cmp(&0.0) {
        Some(std::cmp::Ordering::Greater) => 1.0,
        Some(std::cmp::Ordering::Less) => -1.0,
        _ => x,
    }
}

/// Truncation leaves a fraction that f32 holds exactly; a half or more moves away from 0.
#[inline(always)]
fn round<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let whole = s.trunc_f32(x);
    let far = s.le_f32(s.splat_f32(0.5), s.abs_f32(s.sub_f32(x, whole)));
    let step = s.copysign_f32(s.splat_f32(1.0), x);
    s.select_f32(far, s.add_f32(whole, step), whole)
}

fn relu_double(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

/// √(2/π), and the cubic term's share of it.
const GELU_LINEAR: f64 = 0.797_884_560_802_865_4;
const GELU_CUBIC: f64 = 0.044715 * GELU_LINEAR;

/// (1 + tanh u)/2 is sigmoid(2u), which loses no digits where tanh nears -1.
#[inline(always)]
fn gelu<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let (linear, cubic) = (
        s.splat_f32(2.0 * GELU_LINEAR as f32),
        s.splat_f32(2.0 * GELU_CUBIC as f32),
    );
    let inner = s.mul_f32(x, s.fma_f32(s.mul_f32(x, x), cubic, linear));
    s.mul_f32(x, math::sigmoid(s, inner))
}

fn gelu_double(x: f64) -> f64 {
    x * sigmoid_double(2.0 * x * (GELU_LINEAR + GELU_CUBIC * x * x))
}

#[inline(always)]
fn gelu_erf<S: Simd>(s: S, x: S::F32) -> S::F32 {
    let scaled = s.mul_f32(x, s.splat_f32(std::f32::consts::FRAC_1_SQRT_2));
    let half = s.mul_f32(x, s.splat_f32(0.5));
    s.fma_f32(half, math::erf(s, scaled), half)
}

fn gelu_erf_double(x: f64) -> f64 {
    0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

fn silu_double(x: f64) -> f64 {
    x * sigmoid_double(x)
}

fn sigmoid_double(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
