//! The search for scales that makes k-quants better than rounding against the range.
//!
//! A group of values `x` is stored as `s·q + o` with small integer codes `q`. Given the codes,
//! the best `s` and `o` are a linear least-squares problem with a closed solution; given `s` and
//! `o`, the best codes are roundings. So: start from several scales around the one that just
//! covers the range, round, solve, and keep the pair with the smallest squared error, then
//! round and solve once more from there. 16 or 32 values a group, so sums are done in f32.
//!
//! The super-block then stores the scales themselves in a few bits. [`refine`] tries their
//! neighbours: a scale that is off by half a step is often better one step up or down, because the
//! codes adapt to it.
//!
//! Each value's error counts with a weight; see [`Weights`].

/// How much the error of the value at an index counts: at least 0.
pub(super) trait Weights: Fn(usize) -> f32 + Copy {}
impl<W: Fn(usize) -> f32 + Copy> Weights for W {}

/// All values count alike.
pub(super) fn even(_: usize) -> f32 {
    1.0
}

/// Rounds to the nearest integer, ties to even, for magnitudes below 2^22.
#[inline(always)]
pub(super) fn nearest(value: f32) -> f32 {
    // Adding 1.5·2^23 leaves no fraction bits; subtracting it again is exact.
    const SHIFT: f32 = 12_582_912.0;
    (value + SHIFT) - SHIFT
}

/// A scale and an offset: values are `scale · code + offset`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Affine {
    pub(super) scale: f32,
    pub(super) offset: f32,
}

/// Codes within `low..=high`, as floats.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codes {
    pub(super) low: f32,
    pub(super) high: f32,
}

impl Codes {
    #[inline(always)]
    pub(super) fn nearest(self, value: f32) -> f32 {
        nearest(value.clamp(self.low, self.high))
    }

    /// Squared error of the values when stored with `affine`.
    pub(super) fn error(self, values: &[f32], weights: impl Weights, affine: Affine) -> f32 {
        let inverse = super::inverse_or_zero(affine.scale);
        values.iter().enumerate().fold(0.0, |error, (j, &value)| {
            let code = self.nearest((value - affine.offset) * inverse);
            let difference = affine.scale * code + affine.offset - value;
            error + weights(j) * (difference * difference)
        })
    }
}

/// Scales are tried at this many steps of 0.1 code to either side of the covering one.
const STEPS: i32 = 10;

/// Scale ≥ 0 and offset ≤ 0 for codes `0..=max`.
pub(super) fn affine(values: &[f32], weights: impl Weights, max: u8) -> Affine {
    let (low, high) = super::range(values);
    let low = low.min(0.0);
    if high <= low {
        return Affine {
            scale: 0.0,
            offset: low,
        };
    }
    let codes = Codes {
        low: 0.0,
        high: f32::from(max),
    };
    let start = Affine {
        scale: (high - low) / codes.high,
        offset: low,
    };
    let mut best = (codes.error(values, weights, start), start);
    for step in -STEPS..=STEPS {
        let scale = (high - low) / (codes.high + 0.1 * step as f32);
        keep_better(
            &mut best,
            values,
            weights,
            codes,
            solve_affine(values, weights, codes, scale, low),
        );
    }
    let Affine { scale, offset } = best.1;
    keep_better(
        &mut best,
        values,
        weights,
        codes,
        solve_affine(values, weights, codes, scale, offset),
    );
    best.1
}

fn keep_better(
    best: &mut (f32, Affine),
    values: &[f32],
    weights: impl Weights,
    codes: Codes,
    candidate: Option<Affine>,
) {
    if let Some(candidate) = candidate {
        let error = codes.error(values, weights, candidate);
        if error < best.0 {
            *best = (error, candidate);
        }
    }
}

/// Least squares for the codes that `scale` and `offset` round to; `None` when all are equal.
fn solve_affine(
    values: &[f32],
    weights: impl Weights,
    codes: Codes,
    scale: f32,
    offset: f32,
) -> Option<Affine> {
    let inverse = super::inverse_or_zero(scale);
    let [mut sum, mut sum_q, mut sum_qq, mut sum_x, mut sum_qx] = [0.0f32; 5];
    for (j, &x) in values.iter().enumerate() {
        let (weight, q) = (weights(j), codes.nearest((x - offset) * inverse));
        sum += weight;
        sum_q += weight * q;
        sum_qq += weight * (q * q);
        sum_x += weight * x;
        sum_qx += weight * (q * x);
    }
    let determinant = sum * sum_qq - sum_q * sum_q;
    if determinant <= 0.0 {
        return None;
    }
    let scale = (sum * sum_qx - sum_q * sum_x) / determinant;
    let offset = (sum_qq * sum_x - sum_q * sum_qx) / determinant;
    let solved = if offset > 0.0 {
        // The format cannot store it: the best line through 0 instead.
        Affine {
            scale: sum_qx / sum_qq,
            offset: 0.0,
        }
    } else {
        Affine { scale, offset }
    };
    (solved.scale > 0.0).then_some(solved)
}

/// Scale of either sign for codes `−zero..zero`, offset 0.
pub(super) fn signed(values: &[f32], weights: impl Weights, zero: u8) -> f32 {
    let peak = super::peak(values);
    if peak == 0.0 {
        return 0.0;
    }
    let zero = f32::from(zero);
    let codes = Codes {
        low: -zero,
        high: zero - 1.0,
    };
    let start = -peak / zero;
    let mut best = (
        codes.error(
            values,
            weights,
            Affine {
                scale: start,
                offset: 0.0,
            },
        ),
        start,
    );
    let attempt = |best: &mut (f32, f32), scale: f32| {
        let inverse = super::inverse_or_zero(scale);
        let (mut sum_qq, mut sum_qx) = (0.0, 0.0);
        for (j, &x) in values.iter().enumerate() {
            let (weight, q) = (weights(j), codes.nearest(x * inverse));
            sum_qq += weight * (q * q);
            sum_qx += weight * (q * x);
        }
        if sum_qq > 0.0 {
            let scale = sum_qx / sum_qq;
            let error = codes.error(values, weights, Affine { scale, offset: 0.0 });
            if error < best.0 {
                *best = (error, scale);
            }
        }
    };
    for step in -STEPS..=STEPS {
        attempt(&mut best, -peak / (zero + 0.1 * step as f32));
    }
    let scale = best.1;
    attempt(&mut best, scale);
    best.1
}

/// The stored pair within one step of `start` that gives the smallest error.
///
/// `affine_of` says what a stored pair means; pairs outside of `limits` (inclusive) are left out.
pub(super) fn refine(
    values: &[f32],
    weights: impl Weights,
    codes: Codes,
    start: (i32, i32),
    limits: [(i32, i32); 2],
    affine_of: impl Fn(i32, i32) -> Affine,
) -> (i32, i32) {
    let mut best = (f32::INFINITY, start);
    for scale in start.0 - 1..=start.0 + 1 {
        for minimum in start.1 - 1..=start.1 + 1 {
            let inside = (limits[0].0..=limits[0].1).contains(&scale)
                && (limits[1].0..=limits[1].1).contains(&minimum);
            if inside {
                let error = codes.error(values, weights, affine_of(scale, minimum));
                if error < best.0 {
                    best = (error, (scale, minimum));
                }
            }
        }
    }
    best.1
}

/// A super-block's scales and minimums in few bits, and its codes.
pub(super) struct AffineSuper<const GROUPS: usize> {
    pub(super) d: super::F16,
    pub(super) dmin: super::F16,
    pub(super) scales: [u8; GROUPS],
    pub(super) minimums: [u8; GROUPS],
    pub(super) codes: [u8; 256],
}

/// Packs 256 values in groups with scale and minimum; both are stored as integers up to `limit`.
pub(super) fn affine_super<const GROUPS: usize>(
    values: &[f32],
    weights: impl Weights,
    max_code: u8,
    limit: u8,
) -> AffineSuper<GROUPS> {
    let len = 256 / GROUPS;
    let group = |g: usize| &values[g * len..(g + 1) * len];
    let part = |g: usize| move |j: usize| weights(g * len + j);
    let found: [Affine; GROUPS] = std::array::from_fn(|g| affine(group(g), part(g), max_code));
    let step = |part: fn(&Affine) -> f32| {
        super::F16::new(found.iter().map(part).fold(0.0, f32::max) / f32::from(limit))
    };
    let d = step(|affine| affine.scale);
    let dmin = step(|affine| -affine.offset);
    let (scale_step, minimum_step) = (d.get(), dmin.get());
    let limit = i32::from(limit);
    let stored = |value: f32, step: f32| {
        (nearest(value * super::inverse_or_zero(step)) as i32).clamp(0, limit)
    };
    let codes_range = Codes {
        low: 0.0,
        high: f32::from(max_code),
    };
    let mut packed = AffineSuper {
        d,
        dmin,
        scales: [0; GROUPS],
        minimums: [0; GROUPS],
        codes: [0; 256],
    };
    for (g, affine) in found.iter().enumerate() {
        let start = (
            stored(affine.scale, scale_step),
            stored(-affine.offset, minimum_step),
        );
        let affine_of = |scale: i32, minimum: i32| Affine {
            scale: scale_step * scale as f32,
            offset: -minimum_step * minimum as f32,
        };
        let limits = [(0, limit); 2];
        let (scale, minimum) = refine(group(g), part(g), codes_range, start, limits, affine_of);
        (packed.scales[g], packed.minimums[g]) = (scale as u8, minimum as u8);
        let Affine { scale, offset } = affine_of(scale, minimum);
        let inverse = super::inverse_or_zero(scale);
        for (code, &value) in packed.codes[g * len..].iter_mut().zip(group(g)) {
            *code = codes_range.nearest((value - offset) * inverse) as u8;
        }
    }
    packed
}

/// A super-block's signed scales in few bits, and its codes with the zero added.
pub(super) struct SignedSuper {
    pub(super) d: super::F16,
    pub(super) scales: [i8; 16],
    pub(super) codes: [u8; 256],
}

/// Packs 256 values in groups of 16 with a signed scale, stored as integers `−limit..limit`.
pub(super) fn signed_super(
    values: &[f32],
    weights: impl Weights,
    zero: u8,
    limit: i16,
) -> SignedSuper {
    let group = |g: usize| &values[g * 16..(g + 1) * 16];
    let part = |g: usize| move |j: usize| weights(g * 16 + j);
    let found: [f32; 16] = std::array::from_fn(|g| signed(group(g), part(g), zero));
    let d = super::F16::new(super::peak(&found) / -f32::from(limit));
    let step = d.get();
    let inverse = super::inverse_or_zero(step);
    let limits = (-i32::from(limit), i32::from(limit) - 1);
    let codes_range = Codes {
        low: -f32::from(zero),
        high: f32::from(zero) - 1.0,
    };
    let mut packed = SignedSuper {
        d,
        scales: [0; 16],
        codes: [0; 256],
    };
    for (g, &scale) in found.iter().enumerate() {
        let start = (nearest(scale * inverse) as i32).clamp(limits.0, limits.1);
        let affine_of = |scale: i32, _: i32| Affine {
            scale: step * scale as f32,
            offset: 0.0,
        };
        let (scale, _) = refine(
            group(g),
            part(g),
            codes_range,
            (start, 0),
            [limits, (0, 0)],
            affine_of,
        );
        packed.scales[g] = scale as i8;
        let inverse = super::inverse_or_zero(affine_of(scale, 0).scale);
        for (code, &value) in packed.codes[g * 16..].iter_mut().zip(group(g)) {
            *code = (codes_range.nearest(value * inverse) + f32::from(zero)) as u8;
        }
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affine_finds_an_exact_grid() {
        let values: Vec<f32> = (0..32).map(|j| (j % 16) as f32 * 0.25 - 1.5).collect();
        let Affine { scale, offset } = affine(&values, even, 15);
        assert!(
            (scale - 0.25).abs() < 1e-6 && (offset + 1.5).abs() < 1e-5,
            "{scale} {offset}"
        );
    }

    #[test]
    fn offset_is_never_positive() {
        let values: Vec<f32> = (0..32).map(|j| 5.0 + (j % 2) as f32).collect();
        assert!(affine(&values, even, 3).offset <= 0.0);
    }

    #[test]
    fn signed_is_better_than_covering_the_peak() {
        let values = crate::formats::testing::gaussian(5, 16);
        let codes = Codes {
            low: -4.0,
            high: 3.0,
        };
        let error = |scale| codes.error(&values, even, Affine { scale, offset: 0.0 });
        let covering = -crate::formats::peak(&values) / 4.0;
        assert!(error(signed(&values, even, 4)) < error(covering));
    }

    #[test]
    fn heavy_values_get_the_smaller_error() {
        let values = crate::formats::testing::gaussian(9, 32);
        let heavy = |j: usize| if j < 4 { 1000.0 } else { 1.0 };
        let codes = Codes {
            low: 0.0,
            high: 3.0,
        };
        let only_heavy = |j: usize| if j < 4 { 1.0 } else { 0.0 };
        let error = |affine| codes.error(&values, only_heavy, affine);
        assert!(error(affine(&values, heavy, 3)) < error(affine(&values, even, 3)));
    }
}
