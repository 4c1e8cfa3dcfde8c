//! The references look up, or interpolate, each element for itself.

use crate::DType;
use crate::testing::{Array, Case, Draw, Input, Reference, Run, Tolerance, Values};

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

fn case(op: &'static str, dims: &[usize], run: Run, reference: Reference) -> Case {
    let is_nearest = op == "upsample_nearest1d" || op == "upsample_nearest2d";
    let high = if is_nearest { 100.0 } else { 1.0 };
    Case {
        op,
        dtypes: if is_nearest {
            &DType::COMPUTE
        } else {
            &DType::FLOATS
        },
        inputs: vec![Input::new(dims, Values::Range(0.0, high))],
        run,
        reference,
        // Weights, products and sums are within half a unit of 1 each; the reference's own place is
        // off by half a unit of it.
        tolerance: match is_nearest {
            true => Tolerance::EXACT,
            false => Tolerance::units(1.0, 4.0 + 2.0 * *dims.iter().max().unwrap_or(&0) as f64),
        },
    }
}

/// `other` takes the method's other name.
fn nearest1d(dims: [usize; 3], to: usize, other: bool) -> Case {
    let run: Run = Box::new(move |inputs| match other {
        false => inputs[0].interpolate1d(to),
        true => inputs[0].upsample_nearest1d(to),
    });
    let reference: Reference = Box::new(move |inputs| nearest(&inputs[0], &[to]));
    case("upsample_nearest1d", &dims, run, reference)
}

fn nearest2d(dims: [usize; 4], to: [usize; 2], other: bool) -> Case {
    let run: Run = Box::new(move |inputs| match other {
        false => inputs[0].interpolate2d(to[0], to[1]),
        true => inputs[0].upsample_nearest2d(to[0], to[1]),
    });
    let reference: Reference = Box::new(move |inputs| nearest(&inputs[0], &to));
    case("upsample_nearest2d", &dims, run, reference)
}

fn bilinear2d(dims: [usize; 4], to: [usize; 2], align: bool) -> Case {
    let ratio = |at: usize| Some(to[at] as f64 / dims[at + 2] as f64);
    let scales = if align {
        [None; 2]
    } else {
        [ratio(0), ratio(1)]
    };
    let run: Run = Box::new(move |inputs| inputs[0].upsample_bilinear2d(to[0], to[1], align));
    let reference: Reference = Box::new(move |inputs| bilinear(&inputs[0], to, scales));
    case("upsample_bilinear2d", &dims, run, reference)
}

fn scaled(dims: [usize; 4], scales: [f64; 2], to: [usize; 2], align: bool) -> Case {
    let run: Run = Box::new(move |inputs| {
        inputs[0].upsample_bilinear2d_with_scale(scales[0], scales[1], align)
    });
    let own = if align { [None; 2] } else { scales.map(Some) };
    let reference: Reference = Box::new(move |inputs| bilinear(&inputs[0], to, own));
    case("upsample_bilinear2d_with_scale", &dims, run, reference)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, &(from, to)) in SIZES.iter().enumerate() {
        let (batch, channels) = [(1, 1), (2, 3), (1, 2)][at % 3];
        let other = at % 2 == 1;
        cases.push(nearest1d([batch, channels, from[1]], to[1], other));
        let dims = [batch, channels, from[0], from[1]];
        cases.push(nearest2d(dims, to, other));
        cases.extend([false, true].map(|align| bilinear2d(dims, to, align)));
    }
    let rows: [([usize; 2], [f64; 2], [usize; 2]); 4] = [
        ([3, 4], [2.0, 3.0], [6, 12]),
        ([3, 5], [1.7, 2.5], [5, 12]),
        ([8, 9], [0.5, 0.3], [4, 2]),
        ([4, 4], [0.1, 1.0], [0, 4]),
    ];
    for (from, scales, to) in rows {
        let dims = [1, 2, from[0], from[1]];
        cases.extend([false, true].map(|align| scaled(dims, scales, to, align)));
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let (batch, channels) = (draw.number("batch", 0, 2), draw.number("channels", 0, 3));
    let mut size = |name| draw.number(name, 1, 33);
    let (from, to) = (
        [size("from rows"), size("from")],
        [size("to rows"), size("to")],
    );
    let (dims, flag) = ([batch, channels, from[0], from[1]], draw.flag("other"));
    match draw.below(4) {
        0 => nearest1d([batch, channels, from[1]], to[1], flag),
        1 => nearest2d(dims, to, flag),
        2 => bilinear2d(dims, to, flag),
        _ => {
            let mut scale = || draw.pick("scale", &[1.0, 2.0, 0.5, 1.7, 2.5, 0.3, 3.0]);
            let scales = [scale(), scale()];
            let to = [0, 1].map(|at| (from[at] as f64 * scales[at]) as usize);
            scaled(dims, scales, to, flag)
        }
    }
}
