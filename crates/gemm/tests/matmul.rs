//! `matmul` against a naive product in f64: every element type, level, thread count and layout,
//! at sizes around the edges of tiles.
//!
//! The tolerance of an element is `(k + 8) · ε_acc · Σ|a·b| + ε_out · |sum|`: a sum of k products
//! in the accumulator's type is off by at most k roundings of ε_acc relative to the sum of the
//! magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 3.1; 8 for the horizontal
//! sums), and rounding to the stored type adds half of its ε, or half of its least denormal.
#![allow(clippy::unwrap_used, reason = "a test's helpers are test code")]

use std::sync::Mutex;

use float8::F8E4M3;
use half::{bf16, f16};
use tallow_gemm::{GemmElement, MatError, MatRef, matmul};
use tallow_simd::{Level, force_level, supported_levels};
use tallow_threads::with_num_threads;

/// An element type with what the comparison needs.
trait Number: GemmElement + std::fmt::Debug {
    const NAME: &'static str;
    /// Half the distance from 1 to the next number, of the accumulator and of the stored type.
    const EPSILON: (f64, f64);
    /// Half of the least denormal of the stored type.
    const TINY: f64;
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn bits(self) -> u64;
}

macro_rules! impl_number {
    ($type:ty, $name:literal, $accumulator:expr, $stored:expr, $tiny:expr,
     $from:expr, $to:expr) => {
        impl Number for $type {
            const NAME: &'static str = $name;
            const EPSILON: (f64, f64) = ($accumulator / 2.0, $stored / 2.0);
            const TINY: f64 = $tiny / 2.0;
            fn from_f64(value: f64) -> Self {
                $from(value)
            }
            fn to_f64(self) -> f64 {
                $to(self)
            }
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
        }
    };
}

const fn power_of_half(exponent: u32) -> f64 {
    1.0 / (1u64 << exponent) as f64
}

const F32_EPSILON: f64 = f32::EPSILON as f64;
impl_number!(f64, "f64", f64::EPSILON, 0.0, 0.0, |x| x, |x| x);
impl_number!(f32, "f32", F32_EPSILON, 0.0, 0.0, |x| x as f32, f64::from);
impl_number!(
    f16,
    "f16",
    F32_EPSILON,
    power_of_half(10),
    power_of_half(24),
    f16::from_f64,
    f64::from
);
impl_number!(
    bf16,
    "bf16",
    F32_EPSILON,
    power_of_half(7),
    0.0,
    bf16::from_f64,
    f64::from
);
impl_number!(
    F8E4M3,
    "f8e4m3",
    F32_EPSILON,
    power_of_half(3),
    power_of_half(9),
    |x| F8E4M3::from_f32(x as f32),
    |x: F8E4M3| f64::from(x.to_f32())
);

/// Forcing a level concerns the whole process, so tests that do take turns.
static LEVEL: Mutex<()> = Mutex::new(());

fn at_each_level(f: impl Fn(Level)) {
    let _turn = LEVEL
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    for level in supported_levels() {
        force_level(Some(level)).unwrap();
        f(level);
    }
    force_level(None).unwrap();
}

/// Numbers of about unit size from a linear congruential generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    }
}

#[derive(Clone, Copy, Debug)]
enum Layout {
    RowMajor,
    Transposed,
    /// Every third element of rows that lie apart.
    Strided,
    /// All rows are the same row.
    BroadcastRows,
    /// All columns are the same column.
    BroadcastCols,
}

const LAYOUTS: [Layout; 5] = [
    Layout::RowMajor,
    Layout::Transposed,
    Layout::Strided,
    Layout::BroadcastRows,
    Layout::BroadcastCols,
];

/// Matrices of a batch in one allocation, with an odd offset.
struct Batch<T> {
    data: Vec<T>,
    rows: usize,
    cols: usize,
    strides: (usize, usize),
    matrix_len: usize,
}

impl<T: Number> Batch<T> {
    fn new(batch: usize, rows: usize, cols: usize, layout: Layout, random: &mut Random) -> Self {
        let strides = match layout {
            Layout::RowMajor => (cols, 1),
            Layout::Transposed => (1, rows),
            Layout::Strided => (3 * cols + 1, 3),
            Layout::BroadcastRows => (0, 1),
            Layout::BroadcastCols => (1, 0),
        };
        let matrix_len = rows * strides.0 + cols * strides.1 + 1;
        let data = (0..1 + batch * matrix_len)
            .map(|_| T::from_f64(random.next()))
            .collect();
        Self {
            data,
            rows,
            cols,
            strides,
            matrix_len,
        }
    }

    fn get(&self, index: usize) -> MatRef<'_, T> {
        let data = &self.data[1 + index * self.matrix_len..];
        MatRef::new(data, self.rows, self.cols, self.strides.0, self.strides.1).unwrap()
    }

    fn at(&self, index: usize, row: usize, col: usize) -> f64 {
        let index = 1 + index * self.matrix_len + row * self.strides.0 + col * self.strides.1;
        self.data[index].to_f64()
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    lhs: Layout,
    rhs: Layout,
}

/// Compares with the naive product, for three thread counts that must agree in every bit.
fn check<T: Number>(case: Case, level: Level) {
    let Case { batch, m, n, k, .. } = case;
    let mut random = Random((m * 1009 + n * 31 + k) as u64);
    let lhs = Batch::<T>::new(batch, m, k, case.lhs, &mut random);
    let rhs = Batch::<T>::new(batch, k, n, case.rhs, &mut random);
    let run = |threads| {
        // What `out` held must not matter.
        let mut out = vec![T::from_f64(f64::NAN); batch * m * n];
        with_num_threads(threads, || {
            matmul(&mut out, batch, &|b| lhs.get(b), &|b| rhs.get(b)).unwrap();
        });
        out
    };
    let out = run(1);
    for threads in [2, 5] {
        let same = run(threads)
            .iter()
            .zip(&out)
            .all(|(a, b)| a.bits() == b.bits());
        assert!(
            same,
            "{} {case:?} at {level}: {threads} threads give other bits",
            T::NAME
        );
    }
    for (index, value) in out.iter().enumerate() {
        let (b, i, j) = (index / (m * n), index / n % m, index % n);
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for p in 0..k {
            let product = lhs.at(b, i, p) * rhs.at(b, p, j);
            sum += product;
            magnitude += product.abs();
        }
        let (accumulator, stored) = T::EPSILON;
        let tolerance = (k + 8) as f64 * accumulator * magnitude + stored * sum.abs() + T::TINY;
        let error = (value.to_f64() - sum).abs();
        assert!(
            error <= tolerance,
            "{} {case:?} at {level}: [{b}, {i}, {j}] is {value:?}, not {sum}; off by {error:e}, \
             allowed {tolerance:e}",
            T::NAME
        );
    }
}

/// Every element type at every level.
fn check_all(cases: &[Case]) {
    at_each_level(|level| {
        for case in cases {
            check::<f32>(*case, level);
            check::<f64>(*case, level);
            check::<f16>(*case, level);
            check::<bf16>(*case, level);
            check::<F8E4M3>(*case, level);
        }
    });
}

fn plain(m: usize, n: usize, k: usize) -> Case {
    Case {
        batch: 1,
        m,
        n,
        k,
        lhs: Layout::RowMajor,
        rhs: Layout::RowMajor,
    }
}

#[test]
fn sizes_around_the_tile_edges_agree() {
    // The largest tiles have 14 rows and 32 columns; 2 · 14 + 1 and 2 · 32 + 1 are the largest.
    let mut cases = Vec::new();
    for m in (0..=29).chain([48]) {
        cases.push(plain(m, 33, 19));
    }
    for n in (0..=20).chain([23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65]) {
        cases.push(plain(15, n, 19));
    }
    for k in (0..=18).chain([31, 32, 33, 63, 64, 65]) {
        cases.push(plain(15, 17, k));
    }
    check_all(&cases);
    // Rows that are not contiguous are packed however small the product is.
    let lhs = Layout::Transposed;
    let packed: Vec<Case> = cases.into_iter().map(|case| Case { lhs, ..case }).collect();
    check_all(&packed);
}

#[test]
fn every_pair_of_layouts_agrees() {
    let mut cases = Vec::new();
    for lhs in LAYOUTS {
        for rhs in LAYOUTS {
            for (m, n, k) in [
                (15, 35, 21),
                (1, 37, 40),
                (37, 1, 40),
                (3, 70, 9),
                (70, 5, 33),
            ] {
                cases.push(Case {
                    batch: 1,
                    m,
                    n,
                    k,
                    lhs,
                    rhs,
                });
            }
        }
    }
    check_all(&cases);
}

#[test]
fn vectors_and_skinny_sides_agree() {
    let mut cases = Vec::new();
    for rhs in [Layout::RowMajor, Layout::Transposed] {
        for few in 1..=9 {
            for (many, k) in [(1, 1), (2, 130), (67, 5), (130, 67), (700, 3)] {
                let (m, n) = (few, many);
                cases.push(Case {
                    batch: 1,
                    m,
                    n,
                    k,
                    lhs: Layout::RowMajor,
                    rhs,
                });
                cases.push(Case {
                    batch: 1,
                    m: n,
                    n: m,
                    k,
                    lhs: rhs,
                    rhs: Layout::RowMajor,
                });
            }
        }
    }
    check_all(&cases);
}

#[test]
fn inner_sizes_of_several_slices_and_blocks_agree() {
    let cases = [
        plain(9, 33, 257),
        plain(10, 12, 513),
        plain(9, 9, 4097),
        plain(2, 9, 4100),
    ];
    check_all(&cases);
}

#[test]
fn outputs_of_several_tiles_and_blocks_agree() {
    check_all(&[plain(161, 130, 70), plain(161, 130, 140)]);
    at_each_level(|level| {
        check::<f32>(plain(9, 2100, 20), level);
        check::<bf16>(plain(2100, 9, 20), level);
    });
}

#[test]
fn batches_agree_small_large_and_empty() {
    let mut cases = Vec::new();
    for batch in [0, 1, 2, 7, 33] {
        for (m, n, k) in [(3, 4, 5), (1, 9, 6), (17, 33, 12), (10, 10, 0), (0, 4, 4)] {
            for rhs in [Layout::RowMajor, Layout::Transposed] {
                cases.push(Case {
                    batch,
                    m,
                    n,
                    k,
                    lhs: Layout::RowMajor,
                    rhs,
                });
            }
        }
    }
    cases.push(Case {
        batch: 3,
        ..plain(70, 90, 90)
    });
    check_all(&cases);
}

#[test]
fn infinities_and_nan_come_through() {
    at_each_level(|level| {
        for (m, n) in [(1, 40), (40, 1), (15, 40)] {
            let mut lhs = vec![1.0f32; m * 3];
            lhs[1] = f32::INFINITY;
            let mut rhs = vec![1.0f32; 3 * n];
            rhs[n] = 0.0;
            let mut out = vec![0.0; m * n];
            let lhs = MatRef::new(&lhs, m, 3, 3, 1).unwrap();
            let rhs = MatRef::new(&rhs, 3, n, n, 1).unwrap();
            matmul(&mut out, 1, &|_| lhs, &|_| rhs).unwrap();
            assert!(out[0].is_nan(), "∞ · 0 at {level}");
            assert!(
                out[1..n].iter().all(|x| *x == f32::INFINITY),
                "∞ · 1 at {level}"
            );
            assert!(
                out[n..].iter().all(|x| x.is_finite()),
                "other rows at {level}"
            );
        }
    });
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let data = [0.0f32; 64];
    let mat = |rows, cols| MatRef::new(&data, rows, cols, cols, 1).unwrap();
    let mut out = [0.0; 6];
    let error = matmul(&mut out, 1, &|_| mat(2, 3), &|_| mat(4, 3)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "matmul: inner sizes differ: lhs [2, 3] has 3, rhs [4, 3] has 4"
    );
    let error = matmul(&mut out, 1, &|_| mat(2, 3), &|_| mat(3, 4)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "matmul: output has 6 elements; the product of shape [1, 2, 4] needs 8"
    );
    let error = matmul(&mut out, 3, &|_| mat(1, 1), &|b| mat(1, 2 + b / 2)).unwrap_err();
    let shape = [1, 3];
    let expected = MatError::BatchShapesDiffer {
        side: "rhs",
        first: [1, 2],
        index: 2,
        shape,
    };
    assert_eq!(error, expected);
    let error = matmul(&mut out, 0, &|_| mat(1, 1), &|_| mat(1, 1)).unwrap_err();
    assert!(
        matches!(error, MatError::OutputLength { len: 6, .. }),
        "{error}"
    );
}

#[test]
fn concurrent_products_do_not_disturb_each_other() {
    std::thread::scope(|scope| {
        for seed in 0..4 {
            scope.spawn(move || {
                for round in 0..3 {
                    check::<f32>(plain(40 + seed, 50, 60 + round), tallow_simd::level());
                }
            });
        }
    });
}
