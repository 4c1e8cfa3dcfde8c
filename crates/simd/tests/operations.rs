//! Every operation of every level that the CPU has, against plain code lane by lane.

use half::{bf16, f16};
use tallow_simd::{Kernel, Level, MAX_F32_LANES, Simd, dispatch_at, supported_levels};

const LANES: usize = MAX_F32_LANES;

/// Pairs of these meet every special case: signs, zeros, denormals, halves, infinities, NaN.
const SPECIAL: [f32; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    3.25,
    1e-40,
    -1e-40,
    f32::MIN_POSITIVE,
    8_388_609.0,
    -1e30,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    -7.75,
];

/// Runs a kernel at every level.
fn at_every_level<K: Kernel<Output = ()> + Copy>(kernel: K) {
    for level in supported_levels() {
        dispatch_at(level, kernel).expect("level is supported");
    }
}

/// Same value: NaN equals NaN, and zeros of either sign are equal.
fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn lanes_f32<S: Simd>(simd: S, v: S::F32) -> Vec<f32> {
    let mut lanes = [0.0; LANES];
    simd.store_f32(v, &mut lanes);
    lanes[..S::F32_LANES].to_vec()
}

fn lanes_f64<S: Simd>(simd: S, v: S::F64) -> Vec<f64> {
    let mut lanes = [0.0; LANES];
    simd.store_f64(v, &mut lanes);
    lanes[..S::F64_LANES].to_vec()
}

fn lanes_i32<S: Simd>(simd: S, v: S::I32) -> Vec<i32> {
    let mut lanes = [0; LANES];
    simd.store_i32(v, &mut lanes);
    lanes[..S::F32_LANES].to_vec()
}

/// The mask as one bool a lane.
fn lanes_m32<S: Simd>(simd: S, m: S::M32) -> Vec<bool> {
    let v = simd.select_f32(m, simd.splat_f32(1.0), simd.splat_f32(0.0));
    lanes_f32(simd, v)
        .into_iter()
        .map(|lane| lane == 1.0)
        .collect()
}

fn lanes_m64<S: Simd>(simd: S, m: S::M64) -> Vec<bool> {
    let v = simd.select_f64(m, simd.splat_f64(1.0), simd.splat_f64(0.0));
    lanes_f64(simd, v)
        .into_iter()
        .map(|lane| lane == 1.0)
        .collect()
}

/// For each shift of the special values against themselves: (a, b) vectors of `LANES` elements.
fn special_pairs() -> Vec<([f32; LANES], [f32; LANES])> {
    let at = |place: usize| SPECIAL[place % SPECIAL.len()];
    let pair = |start: usize, shift: usize| {
        let a = std::array::from_fn(|lane| at(start + lane));
        let b = std::array::from_fn(|lane| at(start + lane + shift));
        (a, b)
    };
    let starts = [0, 4, 8, 16];
    (0..SPECIAL.len())
        .flat_map(|shift| starts.map(|start| pair(start, shift)))
        .collect()
}

#[derive(Clone, Copy)]
struct BinaryF32;
impl Kernel for BinaryF32 {
    type Output = ();
    fn run<S: Simd>(self, s: S) {
        type Vector<S> = <S as Simd>::F32;
        type Case<S> = (
            &'static str,
            fn(S, Vector<S>, Vector<S>) -> Vector<S>,
            fn(f32, f32) -> f32,
        );
        let min = |a: f32, b: f32| {
            if a.is_nan() || b.is_nan() {
                f32::NAN
            } else {
                a.min(b)
            }
        };
        let max = |a: f32, b: f32| {
            if a.is_nan() || b.is_nan() {
                f32::NAN
            } else {
                a.max(b)
            }
        };
        let cases: [Case<S>; 7] = [
            ("add", S::add_f32, |a, b| a + b),
            ("sub", S::sub_f32, |a, b| a - b),
            ("mul", S::mul_f32, |a, b| a * b),
            ("div", S::div_f32, |a, b| a / b),
            ("min", S::min_f32, min),
            ("max", S::max_f32, max),
            ("copysign", S::copysign_f32, f32::copysign),
        ];
        for (name, vector, scalar) in cases {
            for (a, b) in special_pairs() {
                let out = lanes_f32(s, vector(s, s.load_f32(&a), s.load_f32(&b)));
                for lane in 0..S::F32_LANES {
                    let want = scalar(a[lane], b[lane]);
                    let (a, b, got) = (a[lane], b[lane], out[lane]);
                    let level = S::LEVEL;
                    assert!(
                        same(got.into(), want.into()),
                        "{level}: {name}({a}, {b}) = {got}"
                    );
                }
            }
        }
    }
}

#[test]
fn binary_f32_operations_match_plain_code() {
    at_every_level(BinaryF32);
}

#[derive(Clone, Copy)]
struct BinaryF64;
impl Kernel for BinaryF64 {
    type Output = ();
    fn run<S: Simd>(self, s: S) {
        type Vector<S> = <S as Simd>::F64;
        type Case<S> = (
            &'static str,
            fn(S, Vector<S>, Vector<S>) -> Vector<S>,
            fn(f64, f64) -> f64,
        );
        let min = |a: f64, b: f64| {
            if a.is_nan() || b.is_nan() {
                f64::NAN
            } else {
                a.min(b)
            }
        };
        let max = |a: f64, b: f64| {
            if a.is_nan() || b.is_nan() {
                f64::NAN
            } else {
                a.max(b)
            }
        };
        let cases: [Case<S>; 6] = [
            ("add", S::add_f64, |a, b| a + b),
            ("sub", S::sub_f64, |a, b| a - b),
            ("mul", S::mul_f64, |a, b| a * b),
            ("div", S::div_f64, |a, b| a / b),
            ("min", S::min_f64, min),
            ("max", S::max_f64, max),
        ];
        for (a, b) in special_pairs() {
            let (a, b) = (a.map(f64::from), b.map(f64::from));
            let (va, vb) = (s.load_f64(&a), s.load_f64(&b));
            for (name, vector, scalar) in cases {
                let out = lanes_f64(s, vector(s, va, vb));
                for lane in 0..S::F64_LANES {
                    let want = scalar(a[lane], b[lane]);
                    assert!(
                        same(out[lane], want),
                        "{}: {name} {a:?} {b:?} {out:?}",
                        S::LEVEL
                    );
                }
            }
            let lt = lanes_m64(s, s.lt_f64(va, vb));
            let le = lanes_m64(s, s.le_f64(va, vb));
            let eq = lanes_m64(s, s.eq_f64(va, vb));
            let nan = lanes_m64(s, s.is_nan_f64(va));
            for lane in 0..S::F64_LANES {
                let (a, b) = (a[lane], b[lane]);
                assert_eq!(
                    (lt[lane], le[lane], eq[lane], nan[lane]),
                    (a < b, a <= b, a == b, a.is_nan()),
                    "{}: {a} {b}",
                    S::LEVEL
                );
            }
            let unary = [
                (s.neg_f64(va), a.map(|a| -a)),
                (s.abs_f64(va), a.map(f64::abs)),
                (s.sqrt_f64(va), a.map(f64::sqrt)),
            ];
            for (got, want) in unary {
                let got = lanes_f64(s, got);
                for lane in 0..S::F64_LANES {
                    assert!(
                        same(got[lane], want[lane]),
                        "{}: {got:?} {want:?}",
                        S::LEVEL
                    );
                }
            }
        }
        let fused = s.fma_f64(s.splat_f64(3.0), s.splat_f64(5.0), s.splat_f64(-1.0));
        assert_eq!(lanes_f64(s, fused), vec![14.0; S::F64_LANES]);
    }
}

#[test]
fn f64_operations_match_plain_code() {
    at_every_level(BinaryF64);
}

#[derive(Clone, Copy)]
struct UnaryF32;
impl Kernel for UnaryF32 {
    type Output = ();
    fn run<S: Simd>(self, s: S) {
        type Vector<S> = <S as Simd>::F32;
        type Case<S> = (&'static str, fn(S, Vector<S>) -> Vector<S>, fn(f32) -> f32);
        let cases: [Case<S>; 7] = [
            ("neg", S::neg_f32, |v| -v),
            ("abs", S::abs_f32, f32::abs),
            ("sqrt", S::sqrt_f32, f32::sqrt),
            ("floor", S::floor_f32, f32::floor),
            ("ceil", S::ceil_f32, f32::ceil),
            ("trunc", S::trunc_f32, f32::trunc),
            ("round_even", S::round_even_f32, f32::round_ties_even),
        ];
        for (name, vector, scalar) in cases {
            for (values, _) in special_pairs() {
                let out = lanes_f32(s, vector(s, s.load_f32(&values)));
                for (got, value) in out.into_iter().zip(values) {
                    let want = scalar(value);
                    let right = same(got.into(), want.into())
                        && (got.is_nan() || got.is_sign_negative() == want.is_sign_negative());
                    assert!(right, "{}: {name}({value}) = {got}, not {want}", S::LEVEL);
                }
            }
        }
        let fused = s.fma_f32(s.splat_f32(3.0), s.splat_f32(5.0), s.splat_f32(-1.0));
        assert_eq!(lanes_f32(s, fused), vec![14.0; S::F32_LANES]);
    }
}

#[test]
fn unary_f32_operations_match_plain_code_and_keep_the_sign_of_zero() {
    at_every_level(UnaryF32);
}

#[derive(Clone, Copy)]
struct CompareF32;
impl Kernel for CompareF32 {
    type Output = ();
    fn run<S: Simd>(self, s: S) {
        for (a, b) in special_pairs() {
            let (va, vb) = (s.load_f32(&a), s.load_f32(&b));
            let (lt, le, eq) = (s.lt_f32(va, vb), s.le_f32(va, vb), s.eq_f32(va, vb));
            let nan = s.is_nan_f32(va);
            let logic = [s.and_m32(le, nan), s.or_m32(lt, nan), s.not_m32(eq)];
            assert_eq!(s.any_m32(lt), lanes_m32(s, lt).contains(&true));
            let masks = [lt, le, eq, nan, logic[0], logic[1], logic[2]].map(|m| lanes_m32(s, m));
            for lane in 0..S::F32_LANES {
                let (a, b) = (a[lane], b[lane]);
                let (lt, le, eq, nan) = (a < b, a <= b, a == b, a.is_nan());
                let want = [lt, le, eq, nan, le && nan, lt || nan, !eq];
                let got: Vec<bool> = masks.iter().map(|mask| mask[lane]).collect();
                assert_eq!(got, want, "{}: {a} {b}", S::LEVEL);
            }
        }
        for count in 0..=LANES + 1 {
            let want: Vec<bool> = (0..S::F32_LANES).map(|lane| lane < count).collect();
            assert_eq!(lanes_m32(s, s.first_m32(count)), want);
        }
    }
}

#[test]
fn comparisons_and_masks_match_plain_code() {
    at_every_level(CompareF32);
}

#[derive(Clone, Copy)]
struct Integers;
impl Kernel for Integers {
    type Output = ();
    fn run<S: Simd>(self, s: S) {
        let a: [i32; LANES] = std::array::from_fn(|lane| {
            [0, 1, -1, i32::MAX, i32::MIN, 0x5555_5555, -77, 1 << 20][lane % 8]
        });
        let b: [i32; LANES] = std::array::from_fn(|lane| a[(lane * 3 + 1) % LANES]);
        let (va, vb) = (s.load_i32(&a), s.load_i32(&b));
        let check = |name: &str, got: S::I32, want: &dyn Fn(i32, i32) -> i32| {
            for (lane, got) in lanes_i32(s, got).into_iter().enumerate() {
                let (a, b) = (a[lane], b[lane]);
                assert_eq!(got, want(a, b), "{}: {name}({a}, {b})", S::LEVEL);
            }
        };
        check("add", s.add_i32(va, vb), &|a, b| a.wrapping_add(b));
        check("sub", s.sub_i32(va, vb), &|a, b| a.wrapping_sub(b));
        check("and", s.and_i32(va, vb), &|a, b| a & b);
        check("or", s.or_i32(va, vb), &|a, b| a | b);
        check("xor", s.xor_i32(va, vb), &|a, b| a ^ b);
        check("splat", s.splat_i32(-9), &|_, _| -9);
        let eq = s.eq_i32(va, va);
        check("select", s.select_i32(eq, va, vb), &|a, _| a);
        let gt = s.gt_i32(va, vb);
        check("gt", s.select_i32(gt, va, vb), &|a, b| a.max(b));
        for count in [0, 1, 7, 16, 31, 32, 33, 100] {
            let shifted = |v: i64, right: bool| {
                let count = count.min(63);
                (if right { v >> count } else { v << count }) as i32
            };
            check("shl", s.shl_i32(va, count), &|a, _| {
                shifted(a.into(), false)
            });
            check("sar", s.shr_arithmetic_i32(va, count), &|a, _| {
                shifted(a.into(), true)
            });
            let logical = |a: i32, _: i32| shifted(a.cast_unsigned().into(), true);
            check("shr", s.shr_logical_i32(va, count), &logical);
        }
        let exact: [f32; LANES] = std::array::from_fn(|lane| lane as f32 * 1_234.75 - 9_000.0);
        let vector = s.load_f32(&exact);
        let truncated = lanes_i32(s, s.to_i32(vector));
        let bits = lanes_i32(s, s.bits_f32(vector));
        let back = lanes_f32(s, s.from_bits_f32(s.bits_f32(vector)));
        let floats = lanes_f32(s, s.from_i32(va));
        for lane in 0..S::F32_LANES {
            assert_eq!(truncated[lane], exact[lane] as i32);
            assert_eq!(bits[lane], exact[lane].to_bits().cast_signed());
            assert_eq!(back[lane], exact[lane]);
            assert_eq!(floats[lane], a[lane] as f32);
        }
    }
}

#[test]
fn integer_operations_and_conversions_match_plain_code() {
    at_every_level(Integers);
}

#[derive(Clone, Copy)]
struct Reductions;
impl Kernel for Reductions {
    type Output = ();
    fn run<S: Simd>(self, s: S) {
        let wide: [f32; LANES] = std::array::from_fn(|lane| ((lane * 7) % 16) as f32 - 5.0);
        let wide64 = wide.map(f64::from);
        let (narrow, narrow64) = (&wide[..S::F32_LANES], &wide64[..S::F64_LANES]);
        let v = s.load_f32(&wide);
        assert_eq!(s.reduce_add_f32(v), narrow.iter().sum());
        assert_eq!(
            s.reduce_max_f32(v),
            narrow.iter().copied().fold(f32::MIN, f32::max)
        );
        assert_eq!(
            s.reduce_min_f32(v),
            narrow.iter().copied().fold(f32::MAX, f32::min)
        );
        let v = s.load_f64(&wide64);
        assert_eq!(s.reduce_add_f64(v), narrow64.iter().sum());
        assert_eq!(
            s.reduce_max_f64(v),
            narrow64.iter().copied().fold(f64::MIN, f64::max)
        );
        assert_eq!(
            s.reduce_min_f64(v),
            narrow64.iter().copied().fold(f64::MAX, f64::min)
        );
        for place in 0..S::F32_LANES {
            let mut poisoned = wide;
            poisoned[place] = f32::NAN;
            let v = s.load_f32(&poisoned);
            assert!(s.reduce_max_f32(v).is_nan() && s.reduce_min_f32(v).is_nan());
            assert!(s.reduce_add_f32(v).is_nan());
            let v = s.load_f64(&poisoned.map(f64::from));
            let is_poisoned = place < S::F64_LANES;
            assert_eq!(s.reduce_max_f64(v).is_nan(), is_poisoned);
            assert_eq!(s.reduce_min_f64(v).is_nan(), is_poisoned);
        }
        let infinite = s.splat_f32(f32::NEG_INFINITY);
        assert_eq!(s.reduce_max_f32(infinite), f32::NEG_INFINITY);
    }
}

#[test]
fn reductions_use_every_lane_and_propagate_nan() {
    at_every_level(Reductions);
}

#[derive(Clone, Copy)]
struct Partial;
impl Kernel for Partial {
    type Output = ();
    fn run<S: Simd>(self, s: S) {
        let source: [f32; LANES + 2] = std::array::from_fn(|lane| lane as f32 + 1.0);
        for len in 0..=LANES + 1 {
            let count32 = len.min(S::F32_LANES);
            let count64 = len.min(S::F64_LANES);
            let want: Vec<f32> = (0..S::F32_LANES)
                .map(|k| if k < count32 { source[k] } else { 0.0 })
                .collect();
            let filled: Vec<f32> = (0..S::F32_LANES)
                .map(|k| if k < count32 { source[k] } else { -3.0 })
                .collect();
            let loaded = s.load_partial_f32(&source[..len]);
            assert_eq!(lanes_f32(s, loaded), want, "{} {len}", S::LEVEL);
            assert_eq!(
                lanes_f32(s, s.load_partial_or_f32(&source[..len], -3.0)),
                filled
            );
            let f16s = source.map(f16::from_f32);
            assert_eq!(lanes_f32(s, s.load_partial_f16(&f16s[..len])), want);
            let bf16s = source.map(bf16::from_f32);
            assert_eq!(lanes_f32(s, s.load_partial_bf16(&bf16s[..len])), want);
            let source64 = source.map(f64::from);
            let loaded = lanes_f64(s, s.load_partial_f64(&source64[..len]));
            assert_eq!(
                loaded,
                want[..S::F64_LANES]
                    .iter()
                    .map(|&v| v.into())
                    .collect::<Vec<f64>>()
            );
            let loaded = lanes_f64(s, s.load_partial_or_f64(&source64[..len], -3.0));
            let filled64: Vec<f64> = filled[..S::F64_LANES].iter().map(|&v| v.into()).collect();
            assert_eq!(loaded, filled64);

            // One element more than `len` shows a write beyond the end.
            let (mut out, mut out64) = (vec![-1.0; len + 1], vec![-1.0; len + 1]);
            let mut out16 = vec![f16::NEG_ONE; len + 1];
            let mut outb16 = vec![bf16::NEG_ONE; len + 1];
            s.store_partial_f32(s.load_f32(&source), &mut out[..len]);
            s.store_partial_f64(s.load_f64(&source64), &mut out64[..len]);
            s.store_partial_f16(s.load_f32(&source), &mut out16[..len]);
            s.store_partial_bf16(s.load_f32(&source), &mut outb16[..len]);
            for k in 0..=len {
                let want = if k < count32 { source[k] } else { -1.0 };
                assert_eq!(
                    (out[k], out16[k].to_f32(), outb16[k].to_f32()),
                    (want, want, want)
                );
                assert_eq!(out64[k], if k < count64 { source64[k] } else { -1.0 });
            }
        }
    }
}

#[test]
fn partial_loads_and_stores_touch_only_the_slice() {
    at_every_level(Partial);
}

#[derive(Clone, Copy)]
struct ShortSlice;
impl Kernel for ShortSlice {
    type Output = ();
    fn run<S: Simd>(self, s: S) {
        let short = vec![0.0; S::F32_LANES - 1];
        s.load_f32(&short);
    }
}

#[test]
fn a_full_load_of_a_short_slice_panics() {
    for level in supported_levels() {
        let result = std::panic::catch_unwind(|| dispatch_at(level, ShortSlice));
        assert!(result.is_err(), "{level}");
    }
}

#[derive(Clone, Copy)]
struct ScaleAndWiden;
impl Kernel for ScaleAndWiden {
    type Output = ();
    fn run<S: Simd>(self, s: S) {
        for exponent in -160..=130 {
            for value in [1.0f32, -1.3, 0.75, 1.999_999_9] {
                let scaled = s.scale_by_pow2_f32(s.splat_f32(value), s.splat_f32(exponent as f32));
                let want = (f64::from(value) * 2f64.powi(exponent)) as f32;
                assert_eq!(
                    lanes_f32(s, scaled),
                    vec![want; S::F32_LANES],
                    "{value} {exponent}"
                );
            }
        }
        let values: [f32; LANES] = std::array::from_fn(|lane| lane as f32 * 0.1 - 0.3);
        let (low, high) = s.widen_f32(s.load_f32(&values));
        let wide = [lanes_f64(s, low), lanes_f64(s, high)].concat();
        let want: Vec<f64> = values[..S::F32_LANES].iter().map(|&v| v.into()).collect();
        assert_eq!(wide, want);
        assert_eq!(
            lanes_f32(s, s.narrow_f64(low, high)),
            values[..S::F32_LANES]
        );
    }
}

#[test]
fn scaling_rounds_once_and_widening_is_exact() {
    at_every_level(ScaleAndWiden);
}

#[test]
fn vector_levels_run_on_their_own_token() {
    struct WhoAmI;
    impl Kernel for WhoAmI {
        type Output = Level;
        fn run<S: Simd>(self, simd: S) -> Level {
            simd.vectorize(|| S::LEVEL)
        }
    }
    for level in supported_levels() {
        assert_eq!(dispatch_at(level, WhoAmI), Ok(level));
    }
}
