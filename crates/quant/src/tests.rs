//! Every format and instruction set against plain f64 sums.
//!
//! Two references: of the activations as they are rounded to 8 bits, which kernels must meet to
//! the rounding of f32; and of the activations before that, within the error of 8 bits.

use crate::dot::Target;
use crate::format::Format;
use crate::formats::testing::gaussian;
use crate::matmul::{MatmulDims, blocks};
use crate::table::Kind;
use crate::{GgmlDType, QuantError, Repacked, dequantize, matmul, quantize, quantize_weighted};

/// A product and what it must give.
struct Case {
    dtype: GgmlDType,
    dims: MatmulDims,
    weight: Vec<u8>,
    lhs: Vec<f32>,
    /// Sums with rounded activations.
    rounded: Vec<f64>,
    /// Sums with plain activations.
    plain: Vec<f64>,
    /// For each result, the sum of the magnitudes of its products.
    magnitude: Vec<f64>,
}

fn format_of(dtype: GgmlDType) -> Option<&'static dyn Format> {
    match dtype.kind() {
        Kind::Blocks(format) => Some(format),
        Kind::Float(_) => None,
    }
}

/// The values that 8-bit codes with a scale for 32 stand for.
fn round_activations(values: &[f32]) -> Vec<f32> {
    let chunk = |values: &[f32]| {
        let peak = values
            .iter()
            .fold(0.0f32, |peak, value| peak.max(value.abs()));
        let inverse = if peak == 0.0 { 0.0 } else { 127.0 / peak };
        let code = |value: &f32| (value * inverse).round_ties_even() * (peak / 127.0);
        values.iter().map(code).collect::<Vec<_>>()
    };
    values.chunks(32).flat_map(chunk).collect()
}

/// Blocks of random bits with scales of sane size, of formats that can only be read, and of those
/// whose packing searches, which Miri takes seconds a block for.
fn golden_blocks(dtype: GgmlDType) -> Option<&'static [u8]> {
    macro_rules! golden {
        ($name:literal) => {
            include_bytes!(concat!("../tests/golden/blocks_", $name, ".bin")).as_slice()
        };
    }
    Some(match dtype {
        GgmlDType::IQ1M => golden!("IQ1_M"),
        GgmlDType::IQ1S => golden!("IQ1_S"),
        GgmlDType::IQ2S => golden!("IQ2_S"),
        GgmlDType::IQ2XS => golden!("IQ2_XS"),
        GgmlDType::IQ2XXS => golden!("IQ2_XXS"),
        GgmlDType::IQ3S => golden!("IQ3_S"),
        GgmlDType::IQ3XXS => golden!("IQ3_XXS"),
        GgmlDType::IQ4NL => golden!("IQ4_NL"),
        GgmlDType::IQ4XS => golden!("IQ4_XS"),
        GgmlDType::Q2K => golden!("Q2_K"),
        GgmlDType::Q3K => golden!("Q3_K"),
        GgmlDType::Q4K => golden!("Q4_K"),
        GgmlDType::Q5K => golden!("Q5_K"),
        GgmlDType::Q6K => golden!("Q6_K"),
        _ => return None,
    })
}

/// `n` rows of `k` weights.
fn weights(dtype: GgmlDType, n: usize, k: usize) -> Vec<u8> {
    let len = n * dtype.row_bytes(k).unwrap();
    if let Some(blocks) = golden_blocks(dtype)
        && (cfg!(miri) || !dtype.packs())
    {
        return blocks.iter().copied().cycle().take(len).collect();
    }
    let mut weight = vec![0; len];
    quantize(dtype, &gaussian(11 + n as u64, n * k), &mut weight).unwrap();
    weight
}

impl Case {
    fn new(dtype: GgmlDType, m: usize, n: usize, k: usize) -> Self {
        let weight = weights(dtype, n, k);
        let mut stored = vec![0.0; n * k];
        dequantize(dtype, &weight, &mut stored).unwrap();
        let mut lhs = gaussian(5 + m as u64, m * k);
        // A mean that is not 0 makes the offsets' part large, an outlier makes a scale large.
        lhs.iter_mut().for_each(|value| *value += 0.3);
        lhs[k / 2] = 9.0;
        let rounded = match dtype.block_len() {
            1 => lhs.clone(),
            _ => round_activations(&lhs),
        };
        let sums = |lhs: &[f32], map: fn(f64) -> f64| {
            let mut out = Vec::new();
            for row in lhs.chunks_exact(k) {
                for weights in stored.chunks_exact(k) {
                    let product = |(&a, &b): (&f32, &f32)| map(f64::from(a) * f64::from(b));
                    out.push(row.iter().zip(weights).map(product).sum());
                }
            }
            out
        };
        let plain = sums(&lhs, |product| product);
        let magnitude = sums(&lhs, f64::abs);
        let rounded = sums(&rounded, |product| product);
        Self {
            dtype,
            dims: MatmulDims { m, n, k },
            weight,
            lhs,
            rounded,
            plain,
            magnitude,
        }
    }

    fn check(&self, what: &str, out: &[f32]) {
        let label = format!("{what} {} {:?}", self.dtype, self.dims);
        for (at, &sum) in out.iter().enumerate() {
            let (rounded, magnitude) = (self.rounded[at], self.magnitude[at]);
            // The offsets' part and the products' part may each be some times the sum.
            let error = (f64::from(sum) - rounded).abs();
            assert!(
                error <= 4e-6 * magnitude,
                "{label}: [{at}] is {sum}, not {rounded}"
            );
            // Codes are off by half of a 127th of their peak at most, much less on average.
            let (error, plain) = ((f64::from(sum) - self.plain[at]).abs(), self.plain[at]);
            assert!(
                error <= 0.02 * magnitude,
                "{label}: [{at}] is {sum}, not {plain}"
            );
        }
    }

    fn run(&self, target: Target) {
        let format = format_of(self.dtype).unwrap();
        let (dims, mut out) = (self.dims, vec![f32::NAN; self.dims.m * self.dims.n]);
        blocks(target, format, &self.weight, &self.lhs, dims, &mut out);
        self.check(&format!("{target:?}"), &out);
        self.run_repacked(target);
    }

    fn run_repacked(&self, target: Target) {
        let MatmulDims { m, n, k } = self.dims;
        let Some(repacked) = Repacked::with_target(target, self.dtype, &self.weight, n, k) else {
            assert!(
                format_of(self.dtype).unwrap().packed().is_none(),
                "{target:?} {}",
                self.dtype
            );
            return;
        };
        let mut out = vec![f32::NAN; m * n];
        repacked.matmul(&self.lhs, m, &mut out).unwrap();
        self.check(&format!("{target:?} repacked"), &out);
    }
}

/// Runs `f`; under Miri on one thread, because the pool's workers outlive the test.
fn run(f: impl FnOnce()) {
    if cfg!(miri) {
        tallow_threads::with_num_threads(1, f);
    } else {
        f();
    }
}

fn block_dtypes() -> impl Iterator<Item = GgmlDType> {
    GgmlDType::ALL
        .iter()
        .copied()
        .filter(|dtype| dtype.block_len() > 1)
}

/// Those whose products are tested. Miri takes some 10 s for a product, and gets one format of each
/// kind of code: bits with and without an offset, bytes, scales in blocks of 256, a table, a
/// codebook, ternary digits. How each format's bits are read, `tests/golden.rs` tests.
fn multiplied_dtypes() -> impl Iterator<Item = GgmlDType> {
    let kinds = [
        GgmlDType::Q5_0,
        GgmlDType::Q4_1,
        GgmlDType::Q8_0,
        GgmlDType::Q4K,
        GgmlDType::Q6K,
        GgmlDType::IQ4NL,
        GgmlDType::IQ2XXS,
        GgmlDType::TQ1_0,
    ];
    block_dtypes().filter(move |dtype| !cfg!(miri) || kinds.contains(dtype))
}

#[test]
fn products_of_every_format_meet_the_reference() {
    run(|| {
        let shapes: &[(usize, usize, usize)] = match cfg!(miri) {
            // One of them for each format.
            true => &[(1, 2, 256), (1, 3, 256), (2, 1, 256), (5, 2, 256)],
            false => &[
                (1, 7, 256),
                (2, 33, 512),
                (3, 1, 768),
                (4, 40, 256),
                (5, 65, 256),
                (8, 3, 256),
                (17, 35, 512),
            ],
        };
        for (at, dtype) in multiplied_dtypes().enumerate() {
            let chosen = match cfg!(miri) {
                true => &shapes[at % shapes.len()..][..1],
                false => shapes,
            };
            for &(m, n, k) in chosen {
                let case = Case::new(dtype, m, n, k);
                Target::supported()
                    .into_iter()
                    .for_each(|target| case.run(target));
            }
        }
    });
}

#[test]
fn rows_need_no_whole_octets() {
    run(|| {
        // Miri takes seconds for a product.
        let (lens, sizes): (&[usize], &[(usize, usize)]) = match cfg!(miri) {
            true => (&[96], &[(1, 5)]),
            false => (&[32, 64, 96, 288, 480, 576], &[(1, 5), (6, 9)]),
        };
        for dtype in multiplied_dtypes().filter(|dtype| dtype.block_len() == 32) {
            for &k in lens {
                for &(m, n) in sizes {
                    let case = Case::new(dtype, m, n, k);
                    Target::supported()
                        .into_iter()
                        .for_each(|target| case.run(target));
                }
            }
        }
    });
}

#[test]
fn float_weights_meet_the_reference() {
    run(|| {
        let shapes: &[(usize, usize, usize)] = match cfg!(miri) {
            true => &[(1, 3, 17), (5, 5, 9), (24, 3, 9)],
            false => &[
                (1, 7, 576),
                (2, 33, 100),
                (3, 5, 1),
                (5, 6, 31),
                (8, 3, 129),
                (9, 35, 64),
                (25, 70, 300),
            ],
        };
        for dtype in [GgmlDType::F32, GgmlDType::F16, GgmlDType::BF16] {
            for &(m, n, k) in shapes {
                let case = Case::new(dtype, m, n, k);
                let mut out = vec![f32::NAN; m * n];
                matmul(dtype, &case.weight, n, k, &case.lhs, m, &mut out).unwrap();
                case.check("float", &out);
                // The same at an odd address.
                let shifted: Vec<u8> = [0].iter().chain(&case.weight).copied().collect();
                let mut again = vec![f32::NAN; m * n];
                matmul(dtype, &shifted[1..], n, k, &case.lhs, m, &mut again).unwrap();
                assert_eq!(out, again, "{dtype}");
            }
        }
    });
}

#[test]
fn interleaved_a_row_has_the_same_bits_beside_any_others() {
    use GgmlDType::{Q4_0, Q5_0, Q6K};
    run(|| {
        // 70 rows are two blocks of panels; 288 weights are an octet and a part of one.
        let (m, shapes): (usize, &[(GgmlDType, usize, usize)]) = match cfg!(miri) {
            true => (5, &[(Q5_0, 3, 32)]),
            false => (70, &[(Q5_0, 33, 288), (Q6K, 40, 512), (Q4_0, 33, 288)]),
        };
        for target in Target::supported() {
            for &(dtype, n, k) in shapes {
                let case = Case::new(dtype, m, n, k);
                let repacked = Repacked::with_target(target, dtype, &case.weight, n, k).unwrap();
                let mut together = vec![f32::NAN; m * n];
                repacked.matmul(&case.lhs, m, &mut together).unwrap();
                let mut alone = vec![f32::NAN; n];
                for (lhs, together) in case.lhs.chunks_exact(k).zip(together.chunks_exact(n)) {
                    repacked.matmul(lhs, 1, &mut alone).unwrap();
                    assert_eq!(alone, together, "{dtype} {target:?}");
                }
            }
        }
    });
}

#[test]
fn bits_do_not_depend_on_the_threads() {
    if cfg!(miri) {
        return; // its pool's threads would outlive the test
    }
    for dtype in [GgmlDType::Q4_1, GgmlDType::Q6K, GgmlDType::F16] {
        for m in [1, 3, 20] {
            let case = Case::new(dtype, m, 200, 512);
            let product = |threads| {
                let mut out = vec![0.0; m * 200];
                let mut repacked_out = vec![0.0; m * 200];
                tallow_threads::with_num_threads(threads, || {
                    matmul(dtype, &case.weight, 200, 512, &case.lhs, m, &mut out).unwrap();
                    if let Some(repacked) = Repacked::new(dtype, &case.weight, 200, 512) {
                        repacked.matmul(&case.lhs, m, &mut repacked_out).unwrap();
                    }
                });
                (out, repacked_out)
            };
            assert_eq!(product(1), product(3), "{dtype}, {m} rows");
        }
    }
}

#[test]
fn activations_that_are_not_finite_make_their_row_nan() {
    run(|| {
        let case = Case::new(GgmlDType::Q4_1, 2, 3, 64);
        for value in [f32::NAN, f32::INFINITY] {
            let mut lhs = case.lhs.clone();
            lhs[3] = value;
            let mut out = [0.0; 6];
            matmul(GgmlDType::Q4_1, &case.weight, 3, 64, &lhs, 2, &mut out).unwrap();
            assert!(out[..3].iter().all(|sum| sum.is_nan()), "{value}: {out:?}");
            assert!(
                out[3..].iter().all(|sum| sum.is_finite()),
                "{value}: {out:?}"
            );
        }
    });
}

#[test]
fn repacked_weights_take_little_more_memory_than_the_blocks() {
    run(|| {
        for dtype in block_dtypes() {
            let weight = vec![0; 64 * dtype.row_bytes(512).unwrap()];
            if let Some(repacked) = Repacked::new(dtype, &weight, 64, 512) {
                let share = repacked.byte_len() as f64 / weight.len() as f64;
                assert!(share < 1.04, "{dtype}: {share}");
                assert_eq!((repacked.dtype(), repacked.shape()), (dtype, [64, 512]));
            }
        }
    });
}

#[test]
fn empty_products_are_fine() {
    run(|| {
        for dtype in [GgmlDType::F32, GgmlDType::Q4_0, GgmlDType::Q4K] {
            let weight = vec![0; dtype.row_bytes(256).unwrap()];
            matmul(dtype, &weight, 1, 256, &[], 0, &mut []).unwrap();
            matmul(dtype, &[], 0, 256, &[0.0; 256], 1, &mut []).unwrap();
            let mut out = [1.0; 6];
            matmul(dtype, &[], 2, 0, &[], 3, &mut out).unwrap();
            assert_eq!(out, [0.0; 6]);
            dequantize(dtype, &[], &mut []).unwrap();
            quantize(dtype, &[], &mut []).unwrap();
        }
    });
}

#[test]
fn wrong_lengths_are_errors_that_name_the_numbers() {
    run(|| {
        let q4 = GgmlDType::Q4_0;
        let error = |result: Result<(), QuantError>| result.unwrap_err().to_string();
        let mut out = [0.0; 2];
        let lhs = [0.0; 32];
        let cases = [
            (
                error(matmul(q4, &[0; 36], 2, 33, &lhs, 1, &mut out)),
                "quantized matmul: 33 values are no whole blocks of Q4_0; need a multiple of 32",
            ),
            (
                error(matmul(q4, &[0; 35], 2, 32, &lhs, 1, &mut out)),
                "quantized matmul: weight has 35 bytes; need 36",
            ),
            (
                error(matmul(q4, &[0; 36], 2, 32, &lhs[1..], 1, &mut out)),
                "quantized matmul: lhs has 31 values; need 32",
            ),
            (
                error(matmul(q4, &[0; 36], 2, 32, &lhs, 1, &mut out[1..])),
                "quantized matmul: out has 1 values; need 2",
            ),
            (
                error(dequantize(q4, &[0; 18], &mut [0.0; 31])),
                "dequantize: 31 values are no whole blocks of Q4_0; need a multiple of 32",
            ),
            (
                error(dequantize(q4, &[0; 17], &mut [0.0; 32])),
                "dequantize: blocks has 17 bytes; need 18",
            ),
            (
                error(quantize(q4, &[0.0; 32], &mut [0; 19])),
                "quantize: out has 19 bytes; need 18",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
        assert_eq!(
            error(quantize(GgmlDType::IQ4NL, &[0.0; 32], &mut [0; 18])),
            "quantize: values cannot be packed to IQ4_NL; it can only be read"
        );
        assert_eq!(
            error(quantize_weighted(
                GgmlDType::Q4K,
                &[0.0; 512],
                &[1.0; 32],
                &mut [0; 288]
            )),
            "quantize_weighted: 32 values are no whole blocks of Q4_K; need a multiple of 256"
        );
        assert!(
            quantize_weighted(GgmlDType::Q4K, &[0.0; 256], &[1.0; 512], &mut [0; 144]).is_err()
        );
        let overflow = matmul(q4, &[], usize::MAX, 32, &[], 0, &mut []);
        assert!(
            matches!(overflow, Err(QuantError::Overflow { .. })),
            "{overflow:?}"
        );
        assert!(Repacked::new(q4, &[0; 35], 2, 32).is_none());
        assert!(Repacked::new(q4, &[], usize::MAX, 32).is_none());
    });
}

#[test]
fn even_weights_change_nothing_and_heavy_columns_come_out_nearer() {
    run(|| {
        let rows = if cfg!(miri) { 1 } else { 20 };
        let values = gaussian(3, rows * 512);
        // The two searches, with an offset and without; Miri takes seconds a block.
        let dtypes: &[GgmlDType] = match cfg!(miri) {
            true => &[GgmlDType::Q3K, GgmlDType::Q4K],
            false => &[
                GgmlDType::Q2K,
                GgmlDType::Q3K,
                GgmlDType::Q4K,
                GgmlDType::Q5K,
                GgmlDType::Q6K,
            ],
        };
        for &dtype in dtypes {
            let mut plain = vec![0; rows * dtype.row_bytes(512).unwrap()];
            let mut weighted = plain.clone();
            quantize(dtype, &values, &mut plain).unwrap();
            quantize_weighted(dtype, &values, &[1.0; 512], &mut weighted).unwrap();
            assert!(plain == weighted, "{dtype}");
            let importance: Vec<f32> = (0..512)
                .map(|j| if j % 8 == 0 { 50.0 } else { 1.0 })
                .collect();
            quantize_weighted(dtype, &values, &importance, &mut weighted).unwrap();
            let error = |blocks: &[u8]| -> f32 {
                let mut out = vec![0.0; values.len()];
                dequantize(dtype, blocks, &mut out).unwrap();
                let heavy = (0..out.len()).step_by(8);
                heavy.map(|j| (out[j] - values[j]).powi(2)).sum()
            };
            assert!(error(&weighted) < error(&plain), "{dtype}");
        }
    });
}
