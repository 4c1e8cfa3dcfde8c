//! The slice loops at every level and every length up to a few vectors, against plain code.

use half::{bf16, f16};
use tallow_simd::slices::{self, Element};
use tallow_simd::{Kernel, MAX_F32_LANES, Simd, dispatch_at, supported_levels};

struct Loops<'a, T> {
    a: &'a [T],
    b: &'a [T],
    to_f32: fn(T) -> f32,
    from_f32: fn(f32) -> T,
}

impl<T: Element + PartialEq + std::fmt::Debug> Kernel for Loops<'_, T> {
    type Output = ();
    fn run<S: Simd>(self, s: S) {
        let Self {
            a,
            b,
            to_f32,
            from_f32,
        } = self;
        let wide = |v: &[T]| v.iter().map(|&v| to_f32(v)).collect::<Vec<f32>>();
        let (wide_a, wide_b) = (wide(a), wide(b));
        let doubled: Vec<T> = wide_a.iter().map(|v| from_f32(v + v)).collect();
        let product: Vec<f32> = wide_a.iter().zip(&wide_b).map(|(a, b)| a * b).collect();

        let mut out = vec![from_f32(99.0); a.len()];
        slices::map(s, a, &mut out, |v| s.add_f32(v, v));
        assert_eq!(out, doubled, "{}", S::LEVEL);
        let mut in_place = a.to_vec();
        slices::map_in_place(s, &mut in_place, |v| s.add_f32(v, v));
        assert_eq!(in_place, doubled, "{}", S::LEVEL);
        let mut out = vec![0.0f32; a.len()];
        slices::zip(s, a, b, &mut out, |a, b| s.mul_f32(a, b));
        assert_eq!(out, product, "{}", S::LEVEL);

        // Whole numbers: every order of summation is exact.
        assert_eq!(slices::sum(s, a), wide_a.iter().sum(), "{}", S::LEVEL);
        assert_eq!(slices::dot(s, a, b), product.iter().sum(), "{}", S::LEVEL);
        let largest = wide_a.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let smallest = wide_a.iter().copied().fold(f32::INFINITY, f32::min);
        assert_eq!(
            (slices::max(s, a), slices::min(s, a)),
            (largest, smallest),
            "{}",
            S::LEVEL
        );
        for place in (0..a.len()).step_by(7) {
            let mut poisoned = a.to_vec();
            poisoned[place] = from_f32(f32::NAN);
            assert!(slices::max(s, &poisoned).is_nan(), "{} {place}", S::LEVEL);
            assert!(slices::min(s, &poisoned).is_nan(), "{} {place}", S::LEVEL);
        }
    }
}

fn check<T: Element + PartialEq + std::fmt::Debug>(to_f32: fn(T) -> f32, from_f32: fn(f32) -> T) {
    let values = |len: usize, step: usize| -> Vec<T> {
        (0..len)
            .map(|k| from_f32(((k * step) % 11) as f32 - 7.0))
            .collect()
    };
    let lens = if cfg!(miri) {
        vec![0, 1, 19, 37]
    } else {
        (0..=5 * MAX_F32_LANES + 1).collect()
    };
    for len in lens {
        for level in supported_levels() {
            let (a, b) = (values(len, 3), values(len, 5));
            dispatch_at(
                level,
                Loops {
                    a: &a,
                    b: &b,
                    to_f32,
                    from_f32,
                },
            )
            .expect("supported");
        }
    }
}

#[test]
fn slice_loops_match_plain_code_at_every_length() {
    check::<f32>(|v| v, |v| v);
    check::<f16>(f16::to_f32, f16::from_f32);
    check::<bf16>(bf16::to_f32, bf16::from_f32);
}
