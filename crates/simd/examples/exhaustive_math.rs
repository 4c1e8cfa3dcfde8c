//! Measures the largest error of every function of `tallow_simd::math` over all 2^32 f32, at every
//! level of this CPU, and compares every f32 to f16 and bf16 conversion with `half`.
//!
//! `cargo run --release -p tallow-simd --example exhaustive_math [STRIDE [NAME…]]` takes most of an
//! hour of a core with stride 1, the default; exits with 1 if a bound is exceeded. Names (`Sin`,
//! `Convert`) choose what is measured. Odd and even functions are measured over x ≥ 0: they put the
//! sign back by bit operations, which the sampled test covers.

#[path = "../tests/ulp/mod.rs"]
mod ulp;

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, io, thread};

use half::{bf16, f16};
use tallow_simd::convert::Convert;
use tallow_simd::{Level, dispatch_at, supported_levels};
use ulp::{Function, error_ulp};

const BLOCK: u64 = 1 << 14;

/// The name of the comparison with `half`.
const CONVERSIONS: &str = "Convert";

/// The largest error that one level showed, and where.
#[derive(Clone, Copy, Default)]
struct Worst {
    error_ulp: f64,
    x: f32,
    got: f32,
}

fn main() -> ExitCode {
    let stride = env::args().nth(1).map_or(Ok(1), |text| text.parse::<u64>());
    let Ok(stride @ 1..) = stride else {
        let _ = writeln!(
            io::stderr(),
            "exhaustive_math: STRIDE must be a whole number from 1 on"
        );
        return ExitCode::FAILURE;
    };
    let names: Vec<String> = env::args().skip(2).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let known = |name: &String| {
        name == CONVERSIONS
            || Function::ALL
                .iter()
                .any(|known| format!("{known:?}") == *name)
    };
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let _ = writeln!(io::stderr(), "exhaustive_math: nothing is called {unknown}");
        return ExitCode::FAILURE;
    }
    let mut is_within = true;
    let functions = Function::ALL.into_iter();
    for function in functions.filter(|function| is_wanted(&format!("{function:?}"))) {
        let results = worst_over_all_f32(function, stride);
        for (level, Worst { error_ulp, x, got }) in supported_levels().into_iter().zip(results) {
            let bound = function.bound_ulp();
            is_within &= error_ulp <= bound;
            let name = format!("{function:?}");
            let line = format!(
                "{name:<8}{level:<7} {error_ulp:.4} ulp (bound {bound}) at {x:e} → {got:e}"
            );
            let _ = writeln!(io::stdout(), "{line}");
        }
    }
    let levels = supported_levels().into_iter();
    for level in levels.filter(|_| is_wanted(CONVERSIONS)) {
        let wrong = wrong_conversions(level, stride);
        is_within &= wrong == 0;
        let _ = writeln!(
            io::stdout(),
            "f32 to f16, bf16 at {level}: {wrong} differ from half"
        );
    }
    if is_within {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Calls `work` with blocks of f32, together every `stride`-th pattern below `end`, on all CPUs.
/// Each thread folds its blocks into one `R`.
fn over_f32<R: Default + Send>(
    end: u64,
    stride: u64,
    work: impl Fn(&[f32], &mut R) + Sync,
) -> Vec<R> {
    let count = end.div_ceil(stride);
    let next = AtomicU64::new(0);
    let worker = || {
        let mut result = R::default();
        loop {
            let start = next.fetch_add(BLOCK, Ordering::Relaxed);
            if start >= count {
                return result;
            }
            let places = start..(start + BLOCK).min(count);
            let block: Vec<f32> = places
                .map(|place| f32::from_bits((place * stride) as u32))
                .collect();
            work(&block, &mut result);
        }
    };
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get());
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        handles
            .into_iter()
            .map(|handle| handle.join().expect("worker panicked"))
            .collect()
    })
}

fn worst_over_all_f32(function: Function, stride: u64) -> Vec<Worst> {
    let levels = supported_levels();
    let end = if function.is_symmetric() {
        1 << 31
    } else {
        1 << 32
    };
    let by_thread = over_f32(end, stride, |block: &[f32], worst: &mut Vec<Worst>| {
        worst.resize(levels.len(), Worst::default());
        let exact: Vec<f64> = block.iter().map(|&x| function.exact(x)).collect();
        let mut output = vec![0.0; block.len()];
        for (&level, worst) in levels.iter().zip(worst) {
            function.run(level, block, &mut output);
            for ((&x, &got), &exact) in block.iter().zip(&output).zip(&exact) {
                let error_ulp = error_ulp(got, exact);
                if error_ulp > worst.error_ulp {
                    *worst = Worst { error_ulp, x, got };
                }
            }
        }
    });
    let larger = |a: Worst, b: Worst| if b.error_ulp > a.error_ulp { b } else { a };
    let no_error = vec![Worst::default(); levels.len()];
    by_thread.into_iter().fold(no_error, |all, one| {
        all.into_iter()
            .zip(one)
            .map(|(a, b)| larger(a, b))
            .collect()
    })
}

/// How many f32 do not convert as `half` converts them. NaN must stay NaN, whatever its bits.
fn wrong_conversions(level: Level, stride: u64) -> u64 {
    let by_thread = over_f32(1 << 32, stride, |block: &[f32], wrong: &mut u64| {
        let mut f16s = vec![f16::ZERO; block.len()];
        let mut bf16s = vec![bf16::ZERO; block.len()];
        dispatch_at(
            level,
            Convert {
                src: block,
                dst: &mut f16s,
            },
        )
        .expect("level is supported");
        dispatch_at(
            level,
            Convert {
                src: block,
                dst: &mut bf16s,
            },
        )
        .expect("level is supported");
        for ((&x, got16), gotb16) in block.iter().zip(f16s).zip(bf16s) {
            let (want16, wantb16) = (f16::from_f32_const(x), bf16::from_f32_const(x));
            let is_right = if x.is_nan() {
                got16.is_nan() && gotb16.is_nan()
            } else {
                got16.to_bits() == want16.to_bits() && gotb16.to_bits() == wantb16.to_bits()
            };
            *wrong += u64::from(!is_right);
        }
    });
    by_thread.into_iter().sum()
}
