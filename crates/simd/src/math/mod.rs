//! Elementary functions over vectors of f32, generic over the level.
//!
//! Each function is one file: reduce the argument to a small interval by exact or nearly exact
//! steps, evaluate a polynomial there, undo the reduction. The polynomials are minimax fits with
//! f32 coefficients, derived by `minimax.py` beside this file, which states weight and interval of
//! each and prints the constants.
//!
//! Largest errors on x86-64 over all f32, in units in the last place (ulp) of the exact result, and
//! the bounds that the tests hold every level to; without a fused multiply-add (scalar) most are
//! largest. `cargo run --release -p tallow-simd --example exhaustive_math` measures them anew (over
//! x ≥ 0 where f(-x) is ±f(x)), and compares the conversions to f16 and bf16 with those of `half`:
//! not one differs, at any level.
//!
//! | function | exp | log | tanh | erf | sigmoid | sin | cos |
//! |---|---|---|---|---|---|---|---|
//! | largest error | 1.02 | 0.96 | 1.34 | 1.31 | 1.75 | 1.50 | 1.50 |
//! | bound | 1.1 | 1 | 1.5 | 1.5 | 2 | 1.6 | 1.6 |
//!
//! At every function: NaN gives NaN, limits at ±∞ and signed zeros are exact, denormals are
//! neither flushed on the way in nor on the way out.

mod activation;
mod erf;
mod exp;
mod log;
mod sigmoid;
mod sin_cos;
mod tanh;

pub use activation::{gelu, gelu_erf, silu};
pub use erf::erf;
pub use exp::exp;
pub use log::log;
pub use sigmoid::sigmoid;
pub use sin_cos::{cos, sin};
pub use tanh::tanh;

use crate::simd::Simd;

/// The polynomial with these coefficients, lowest power first, at x (Horner's scheme).
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(s: S, x: S::F32, coefficients: [f32; N]) -> S::F32 {
    let mut sum = s.splat_f32(coefficients[N - 1]);
    for &coefficient in coefficients[..N - 1].iter().rev() {
        sum = s.fma_f32(sum, x, s.splat_f32(coefficient));
    }
    sum
}
