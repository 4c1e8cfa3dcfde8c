//! The references look up, or interpolate, each element for itself.

use crate::DType;
use crate::testing::{Array, Case, Input, Run, Tolerance, Values};

/// The nearest element of each position.
fn nearest(x: &Array, target: &[usize]) -> Array {
    let dims = [&x.dims[..2], target].concat();
    Array::from_fn(&dims, |index| {
        let mut from = index.to_vec();
        for dim in 2..index.len() {
            from[dim] = index[dim] * x.dims[dim] / dims[dim];
        }
        x.at(&from)
    })
}

/// Where a position stands: the element below, the one above, how far it is from the first.
fn place(position: usize, from: usize, to: usize, scale: Option<f64>) -> (usize, usize, f64) {
    let at = match scale {
        // Corners are aligned.
        None if to == 1 => 0.0,
        None => (position * (from - 1)) as f64 / (to - 1) as f64,
        Some(scale) => ((position as f64 + 0.5) / scale - 0.5).clamp(0.0, (from - 1) as f64),
    };
    let low = (at as usize).min(from - 1);
    (low, (low + 1).min(from - 1), at - low as f64)
}

fn bilinear(x: &Array, target: [usize; 2], scales: [Option<f64>; 2]) -> Array {
    let dims = [x.dims[0], x.dims[1], target[0], target[1]];
    Array::from_fn(&dims, |index| {
        let (top, bottom, down) = place(index[2], x.dims[2], target[0], scales[0]);
        let (left, right, along) = place(index[3], x.dims[3], target[1], scales[1]);
        let at = |row, column| x.at(&[index[0], index[1], row, column]);
        let upper = at(top, left) * (1.0 - along) + at(top, right) * along;
        let lower = at(bottom, left) * (1.0 - along) + at(bottom, right) * along;
        upper * (1.0 - down) + lower * down
    })
}

/// The image's last sizes, and the target's.
const SIZES: &[([usize; 2], [usize; 2])] = &[
    ([1, 1], [1, 1]),
    ([1, 1], [3, 4]),
    ([2, 3], [4, 6]),
    ([3, 2], [7, 5]),
    ([5, 7], [5, 7]),
    ([7, 9], [3, 4]),
    ([4, 4], [1, 1]),
    ([3, 5], [0, 4]),
    ([0, 3], [0, 6]),
    ([6, 41], [12, 82]),
    ([9, 10], [70, 100]),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut push = |op, dims: &[usize], run: Run, reference: crate::testing::Reference| {
        let is_nearest = op == "upsample_nearest1d" || op == "upsample_nearest2d";
        let high = if is_nearest { 100.0 } else { 1.0 };
        cases.push(Case {
            op,
            dtypes: if is_nearest {
                &DType::COMPUTE
            } else {
                &DType::FLOATS
            },
            inputs: vec![Input::new(dims, Values::Range(0.0, high))],
            run,
            reference,
            // Weights, products and sums are within half a unit of 1 each; the reference's own
            // place is off by half a unit of it.
            tolerance: match is_nearest {
                true => Tolerance::EXACT,
                false => Tolerance::units(1.0, 4.0 + 2.0 * *dims.iter().max().unwrap_or(&0) as f64),
            },
        });
    };
    for (at, &(from, to)) in SIZES.iter().enumerate() {
        let (batch, channels) = [(1, 1), (2, 3), (1, 2)][at % 3];
        push(
            "upsample_nearest1d",
            &[batch, channels, from[1]],
            Box::new(move |inputs| match at % 2 {
                0 => inputs[0].interpolate1d(to[1]),
                _ => inputs[0].upsample_nearest1d(to[1]),
            }),
            Box::new(move |inputs| nearest(&inputs[0], &to[1..])),
        );
        let dims = [batch, channels, from[0], from[1]];
        push(
            "upsample_nearest2d",
            &dims,
            Box::new(move |inputs| match at % 2 {
                0 => inputs[0].interpolate2d(to[0], to[1]),
                _ => inputs[0].upsample_nearest2d(to[0], to[1]),
            }),
            Box::new(move |inputs| nearest(&inputs[0], &to)),
        );
        let ratio = |dim: usize| Some(to[dim] as f64 / from[dim] as f64);
        let ratios = [ratio(0), ratio(1)];
        for align in [false, true] {
            push(
                "upsample_bilinear2d",
                &dims,
                Box::new(move |inputs| inputs[0].upsample_bilinear2d(to[0], to[1], align)),
                Box::new(move |inputs| {
                    bilinear(&inputs[0], to, if align { [None; 2] } else { ratios })
                }),
            );
        }
    }
    let scaled: [([usize; 2], [f64; 2], [usize; 2]); 4] = [
        ([3, 4], [2.0, 3.0], [6, 12]),
        ([3, 5], [1.7, 2.5], [5, 12]),
        ([8, 9], [0.5, 0.3], [4, 2]),
        ([4, 4], [0.1, 1.0], [0, 4]),
    ];
    for (from, scales, to) in scaled {
        for align in [false, true] {
            push(
                "upsample_bilinear2d_with_scale",
                &[1, 2, from[0], from[1]],
                Box::new(move |inputs| {
                    inputs[0].upsample_bilinear2d_with_scale(scales[0], scales[1], align)
                }),
                Box::new(move |inputs| {
                    bilinear(
                        &inputs[0],
                        to,
                        if align { [None; 2] } else { scales.map(Some) },
                    )
                }),
            );
        }
    }
    cases
}
