//! The table of binary functions: each written once over f32 vectors (which also serve f16, bf16
//! and f8e4m3), once over f64 and once over integers, with the pairs of integers that have no
//! answer, and the derivatives.

use super::slopes::{self, Slopes};
use crate::cpu::integer::Integer;
use crate::cpu::map::Cost;
use crate::cpu::pairs::by_lanes;
use crate::cpu::power::power;
use crate::{Result, Tensor};
use tallow_simd::Simd;

/// A function of two numbers.
pub(super) trait Formula: Copy + Send + Sync + 'static {
    const NAME: &'static str;
    /// The function in the kernel's text.
    const KERNEL: &'static str;
    /// The name under which operands of different shapes are taken.
    const BROADCAST_NAME: &'static str;
    const COST: Cost;
    /// What to say where [`refuses`](Self::refuses) is true of a pair; none if it never is.
    const REFUSAL: Option<&'static str>;
    fn vector<S: Simd>(simd: S, a: S::F32, b: S::F32) -> S::F32;
    fn double(a: f64, b: f64) -> f64;
    fn integer<T: Integer>(a: T, b: T) -> T;
    fn refuses<T: Integer>(a: T, b: T) -> bool;
    /// The gradients with respect to a and b, from the result and the gradient with respect to it.
    fn gradient(ab: [&Tensor; 2], y: &Tensor, u: &Tensor) -> Result<[Tensor; 2]>;
}

macro_rules! formulas {
    ($($Type:ident $name:literal $cost:ident,
       |$s:ident, $a:ident, $b:ident| $vector:expr, $double:expr, $integer:expr,
       $refusal:expr, $refuses:expr, $slopes:path;)+) => {
        $(
            #[derive(Clone, Copy)]
            pub(super) struct $Type;

            impl Formula for $Type {
                const NAME: &'static str = $name;
                const KERNEL: &'static str = concat!("binary_", $name);
                const BROADCAST_NAME: &'static str = concat!("broadcast_", $name);
                const COST: Cost = Cost::$cost;
                const REFUSAL: Option<&'static str> = $refusal;
                #[inline(always)]
                fn vector<S: Simd>($s: S, $a: S::F32, $b: S::F32) -> S::F32 {
                    $vector
                }
                #[inline(always)]
                fn double(a: f64, b: f64) -> f64 {
                    $double(a, b)
                }
                #[inline(always)]
                fn integer<T: Integer>(a: T, b: T) -> T {
                    $integer(a, b)
                }
                #[inline(always)]
                fn refuses<T: Integer>(a: T, b: T) -> bool {
                    $refuses(a, b)
                }
                fn gradient(ab: [&Tensor; 2], y: &Tensor, u: &Tensor) -> Result<[Tensor; 2]> {
                    const SLOPES: Slopes = $slopes;
                    SLOPES(ab, y, u)
                }
            }
        )+
    };
}

const BY_ZERO: &str = "an integer is divided by 0; cast to a float dtype for infinities";
const NEGATIVE_POWER: &str =
    "an integer to a negative power is no integer; cast to a float dtype for fractions";

formulas! {
    Add "add" Light, |s, a, b| s.add_f32(a, b), |a: f64, b| a + b, T::plus, None, never,
        slopes::add;
    Sub "sub" Light, |s, a, b| s.sub_f32(a, b), |a: f64, b| a - b, T::minus, None, never,
        slopes::sub;
    Mul "mul" Light, |s, a, b| s.mul_f32(a, b), |a: f64, b| a * b, T::times, None, never,
        slopes::mul;
    Div "div" Light, |s, a, b| s.div_f32(a, b), |a: f64, b| a / b, T::divided_by,
        Some(BY_ZERO), |_, b| b == T::ZERO, slopes::div;
    Maximum "maximum" Light, |s, a, b| s.max_f32(a, b), max, Ord::max, None, never,
        slopes::chosen;
    Minimum "minimum" Light, |s, a, b| s.min_f32(a, b), min, Ord::min, None, never,
        slopes::chosen;
    Pow "pow" Heavy, |s, a, b| by_lanes(s, a, b, power), f64::powf, integer_power,
        Some(NEGATIVE_POWER), no_integer_power, slopes::pow;
}

#[inline(always)]
fn never<T>(_: T, _: T) -> bool {
    false
}

/// The larger; NaN if either is NaN.
#[inline(always)]
fn max(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// The smaller; NaN if either is NaN.
#[inline(always)]
fn min(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// Powers of 1 and -1 go by the exponent's lowest bit, so that a negative one is as good.
#[inline(always)]
fn integer_power<T: Integer>(base: T, exponent: T) -> T {
    base.power(exponent.widen() as u64)
}

#[inline(always)]
fn no_integer_power<T: Integer>(base: T, exponent: T) -> bool {
    exponent < T::ZERO && base.widen().unsigned_abs() != 1
}
