//! Prints GFLOP/s of matrix products beside the peak of the registers:
//! `cargo run --release -p tallow-gemm --example gemm_bench [name part]`.
//!
//! "peak" multiplies and adds in registers only, once before each product; a row's share is its
//! best time against the best peak. `TALLOW_NUM_THREADS` and `TALLOW_ISA` choose threads and level.
#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

use std::time::{Duration, Instant};

use half::{bf16, f16};
use tallow_gemm::{GemmElement, MatRef, matmul};
use tallow_simd::{Kernel, Simd, configured_level, dispatch};
use tallow_threads::{configured_threads, parallel_for};

/// Time spent on one product.
const BUDGET: Duration = Duration::from_millis(1500);

/// One product: the right side is stored `[n, k]` when `transposed`.
struct Product {
    name: &'static str,
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    transposed: bool,
}

const fn square(name: &'static str, size: usize) -> Product {
    Product {
        name,
        batch: 1,
        m: size,
        n: size,
        k: size,
        transposed: false,
    }
}

const fn rows(name: &'static str, m: usize, size: usize, transposed: bool) -> Product {
    Product {
        name,
        batch: 1,
        m,
        n: size,
        k: size,
        transposed,
    }
}

const PRODUCTS: [Product; 14] = [
    square("64", 64),
    square("128", 128),
    square("256", 256),
    square("512", 512),
    square("1024", 1024),
    Product {
        transposed: true,
        ..square("1024_rhsT", 1024)
    },
    square("2048", 2048),
    Product {
        name: "bmm_32x128x64x128",
        batch: 32,
        m: 128,
        k: 64,
        n: 128,
        transposed: false,
    },
    rows("gemv_1x2048x2048", 1, 2048, false),
    rows("gemv_1x2048x2048_rhsT", 1, 2048, true),
    rows("skinny_8x2048x2048", 8, 2048, false),
    rows("skinny_8x2048x2048_rhsT", 8, 2048, true),
    rows("skinny_32x2048x2048", 32, 2048, false),
    rows("skinny_32x2048x2048_rhsT", 32, 2048, true),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let threads = configured_threads()?;
    println!("{}, {threads} threads; best times", configured_level()?);
    println!(
        "{:32} {:>10} {:>9} {:>9} {:>6}",
        "product", "µs", "GFLOP/s", "peak", "share"
    );
    for product in &PRODUCTS {
        bench::<f32>("f32", product, &filter);
        bench::<f64>("f64", product, &filter);
        bench::<f16>("f16", product, &filter);
        bench::<bf16>("bf16", product, &filter);
    }
    Ok(())
}

fn bench<T: GemmElement + From<i8>>(dtype: &str, product: &Product, filter: &str) {
    let Product {
        name,
        batch,
        m,
        n,
        k,
        transposed,
    } = *product;
    let name = format!("{dtype}_{name}");
    if !name.contains(filter) {
        return;
    }
    let numbers = |len: usize| -> Vec<T> { (0..len).map(|i| T::from((i % 7) as i8 - 3)).collect() };
    let (lhs, rhs) = (numbers(batch * m * k), numbers(batch * k * n));
    let mut out = numbers(batch * m * n);
    let lhs_at = |b: usize| {
        MatRef::new(&lhs[b * m * k..], m, k, k, 1).expect("the batch was made in this shape")
    };
    let (row_stride, col_stride) = if transposed { (1, k) } else { (n, 1) };
    let rhs_at = |b: usize| {
        MatRef::new(&rhs[b * k * n..], k, n, row_stride, col_stride)
            .expect("the batch was made in this shape")
    };
    let (mut best, mut peak) = (f64::MAX, 0f64);
    let start = Instant::now();
    while start.elapsed() < BUDGET {
        peak = peak.max(peak_gflops(dtype == "f64"));
        for _ in 0..4 {
            let start = Instant::now();
            matmul(&mut out, batch, &lhs_at, &rhs_at).expect("shapes fit");
            best = best.min(start.elapsed().as_secs_f64());
        }
    }
    let gflops = (2 * batch * m * n * k) as f64 / best * 1e-9;
    println!(
        "{name:32} {:10.1} {gflops:9.1} {peak:9.1} {:5.1}%",
        best * 1e6,
        gflops / peak * 100.0
    );
}

/// Multiply-adds of all threads, in registers only.
fn peak_gflops(f64: bool) -> f64 {
    const STEPS: usize = 20_000;
    let threads = tallow_threads::num_threads();
    let start = Instant::now();
    parallel_for(threads, |_| {
        std::hint::black_box(dispatch(Peak { steps: STEPS, f64 }));
    });
    let lanes = dispatch(Lanes) / if f64 { 2 } else { 1 };
    (threads * STEPS * SUMS * lanes * 2) as f64 / start.elapsed().as_secs_f64() * 1e-9
}

/// Independent sums: enough for two additions a cycle of 4 to 5 cycles of latency each.
const SUMS: usize = 12;

struct Peak {
    steps: usize,
    f64: bool,
}

impl Kernel for Peak {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f64 {
        if self.f64 {
            let scale = simd.splat_f64(std::hint::black_box(0.5));
            let mut sums = [simd.splat_f64(1.0); SUMS];
            for _ in 0..self.steps {
                for sum in &mut sums {
                    *sum = simd.fma_f64(*sum, scale, scale);
                }
            }
            let total = sums
                .into_iter()
                .fold(scale, |total, sum| simd.add_f64(total, sum));
            simd.reduce_add_f64(total)
        } else {
            let scale = simd.splat_f32(std::hint::black_box(0.5));
            let mut sums = [simd.splat_f32(1.0); SUMS];
            for _ in 0..self.steps {
                for sum in &mut sums {
                    *sum = simd.fma_f32(*sum, scale, scale);
                }
            }
            let total = sums
                .into_iter()
                .fold(scale, |total, sum| simd.add_f32(total, sum));
            f64::from(simd.reduce_add_f32(total))
        }
    }
}

struct Lanes;

impl Kernel for Lanes {
    type Output = usize;

    fn run<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}
