//! The elementary functions at every level, against f64, on a dense sample of all f32.
//!
//! `examples/exhaustive_math.rs` does the same for every f32.

mod ulp;

use tallow_simd::{Simd, supported_levels};
use ulp::{Function, error_ulp};

/// About this many arguments a function; Miri checks a few.
const SAMPLES: u32 = if cfg!(miri) { 300 } else { 1 << 18 };

/// f32 of all signs and magnitudes, plus those around which the functions change their method.
fn sample() -> Vec<f32> {
    // An odd step is coprime to 2^32, so the low bits vary as well.
    let step = (u32::MAX / SAMPLES) | 1;
    let spread = (0..SAMPLES).map(|k| f32::from_bits(k.wrapping_mul(step)));
    let edges = [
        0.0,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        0.346_573_6,
        0.5,
        0.625,
        2.0 / 3.0,
        0.921_875,
        1.0,
        4.0 / 3.0,
        3.92,
        9.02,
        17.0,
        87.336_55,
        88.722_84,
        103.972_08,
        1_048_576.0,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let reach = if cfg!(miri) { 1 } else { 300 };
    let near = edges.into_iter().flat_map(move |edge: f32| {
        let bits = edge.to_bits();
        (bits.saturating_sub(reach)..=bits.saturating_add(reach)).map(f32::from_bits)
    });
    near.flat_map(|x| [x, -x]).chain(spread).collect()
}

#[test]
fn every_function_keeps_its_bound_at_every_level() {
    let input = sample();
    let mut output = vec![0.0; input.len()];
    for function in Function::ALL {
        let exact: Vec<f64> = input.iter().map(|&x| function.exact(x)).collect();
        for level in supported_levels() {
            function.run(level, &input, &mut output);
            let mut worst = (0.0, 0.0, 0.0);
            for ((&x, &got), &exact) in input.iter().zip(&output).zip(&exact) {
                let error = error_ulp(got, exact);
                if error > worst.0 {
                    worst = (error, x, got);
                }
            }
            let (error, x, got) = worst;
            let bound = function.bound_ulp();
            assert!(
                error <= bound,
                "{level}: {function:?}({x:e}) = {got:e}: {error} ulp"
            );
            println!("{level:>6}: {function:?}: at most {error:.3} ulp, at {x:e}");
        }
    }
}

#[test]
fn limits_and_zeros_are_exact() {
    const INF: f32 = f32::INFINITY;
    let cases = [
        (
            Function::Exp,
            [(-INF, 0.0), (INF, INF), (0.0, 1.0), (-0.0, 1.0)],
        ),
        (
            Function::Log,
            [(0.0, -INF), (-0.0, -INF), (INF, INF), (1.0, 0.0)],
        ),
        (
            Function::Tanh,
            [(-INF, -1.0), (INF, 1.0), (0.0, 0.0), (-0.0, -0.0)],
        ),
        (
            Function::Erf,
            [(-INF, -1.0), (INF, 1.0), (0.0, 0.0), (-0.0, -0.0)],
        ),
        (
            Function::Sigmoid,
            [(-INF, 0.0), (INF, 1.0), (0.0, 0.5), (-0.0, 0.5)],
        ),
        (
            Function::Sin,
            [(-INF, f32::NAN), (INF, f32::NAN), (0.0, 0.0), (-0.0, -0.0)],
        ),
        (
            Function::Cos,
            [(-INF, f32::NAN), (INF, f32::NAN), (0.0, 1.0), (-0.0, 1.0)],
        ),
    ];
    for (function, pairs) in cases {
        for level in supported_levels() {
            for (x, want) in pairs.into_iter().chain([(f32::NAN, f32::NAN)]) {
                let mut got = [0.0];
                function.run(level, &[x], &mut got);
                let same = got[0].to_bits() == want.to_bits() || (got[0].is_nan() && want.is_nan());
                assert!(same, "{level}: {function:?}({x}) = {}, not {want}", got[0]);
            }
        }
    }
    let mut negative = [0.0; 2];
    Function::Log.run(
        tallow_simd::level(),
        &[-1.0, f32::NEG_INFINITY],
        &mut negative,
    );
    assert!(negative.iter().all(|v| v.is_nan()));
}

#[test]
fn the_error_measure_sees_wrong_results() {
    let next = f32::from_bits(1f32.to_bits() + 1);
    assert_eq!(error_ulp(next, 1.0), 1.0);
    assert_eq!(error_ulp(1.0, 1.0), 0.0);
    assert_eq!(error_ulp(f32::NAN, 1.0), f64::INFINITY);
    assert_eq!(error_ulp(-0.0, 0.0), f64::INFINITY);
    assert_eq!(error_ulp(f32::MAX, f64::INFINITY), f64::INFINITY);
    assert_eq!(error_ulp(f32::from_bits(1), 0.0), 1.0);
}

/// The activations against their definitions, relative to |x| (they go to 0 on the left).
#[test]
fn activations_match_their_definitions() {
    #[derive(Clone, Copy)]
    struct Activations<'a>(&'a [f32]);
    impl tallow_simd::Kernel for Activations<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            type Function<S> = fn(S, <S as Simd>::F32) -> <S as Simd>::F32;
            let gelu = |x: f64| {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
                0.5 * x * (1.0 + inner.tanh())
            };
            type Case<S> = (Function<S>, fn(f64) -> f64);
            let cases: [Case<S>; 3] = [
                (tallow_simd::math::silu, |x| x / (1.0 + (-x).exp())),
                (tallow_simd::math::gelu, gelu),
                (tallow_simd::math::gelu_erf, |x| {
                    0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))
                }),
            ];
            for (function, exact) in cases {
                for &x in self.0 {
                    let got = s.reduce_max_f32(function(s, s.splat_f32(x)));
                    let want = exact(x.into());
                    let error = (f64::from(got) - want).abs();
                    let bound = 4e-7 * f64::from(x.abs()) + 1e-45;
                    assert!(error <= bound, "{}: {x} gives {got}, not {want}", S::LEVEL);
                }
            }
        }
    }
    let steps = if cfg!(miri) { 20 } else { 4000 };
    let input: Vec<f32> = (-steps..=steps)
        .map(|k| k as f32 * (20.0 / steps as f32))
        .collect();
    for level in supported_levels() {
        tallow_simd::dispatch_at(level, Activations(&input)).unwrap();
    }
}
