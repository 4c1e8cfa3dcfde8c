//! The reference looks at each window for itself.

use super::ToUsize2;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
use crate::{DType, Result, Tensor};

/// The window of a result, folded.
fn pool(
    x: &Array,
    size: (usize, usize),
    stride: (usize, usize),
    fold: &dyn Fn(&[f64]) -> f64,
) -> Array {
    let rows = (x.dims[2] - size.0) / stride.0 + 1;
    let columns = (x.dims[3] - size.1) / stride.1 + 1;
    Array::from_fn(&[x.dims[0], x.dims[1], rows, columns], |index| {
        let at = |tap: usize| {
            let row = index[2] * stride.0 + tap / size.1;
            x.at(&[index[0], index[1], row, index[3] * stride.1 + tap % size.1])
        };
        fold(&(0..size.0 * size.1).map(at).collect::<Vec<_>>())
    })
}

fn largest(window: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if a > b || a.is_nan() { a } else { b };
    window.iter().copied().fold(f64::NEG_INFINITY, larger)
}

fn mean(window: &[f64]) -> f64 {
    window.iter().sum::<f64>() / window.len() as f64
}

/// The image's sizes, the window, the stride.
type Row<'a> = (&'a [usize], (usize, usize), (usize, usize));

const ROWS: &[Row<'static>] = &[
    (&[1, 1, 1, 1], (1, 1), (1, 1)),
    (&[0, 2, 3, 3], (2, 2), (2, 2)),
    (&[2, 0, 3, 3], (2, 2), (1, 1)),
    (&[2, 3, 4, 6], (2, 2), (2, 2)),
    (&[1, 2, 5, 7], (2, 2), (2, 2)),
    (&[2, 2, 5, 8], (3, 2), (1, 2)),
    (&[1, 2, 9, 40], (3, 3), (2, 2)),
    (&[1, 1, 6, 37], (2, 3), (1, 1)),
    (&[1, 2, 7, 13], (1, 4), (3, 3)),
    (&[1, 1, 12, 11], (2, 3), (5, 4)),
    (&[2, 1, 3, 5], (3, 5), (1, 1)),
    (&[1, 1, 4, 600], (2, 2), (2, 2)),
    (&[1, 9, 60, 70], (2, 2), (2, 2)),
];

fn run(op: &str, x: &Tensor, size: (usize, usize), stride: (usize, usize)) -> Result<Tensor> {
    let is_default = size.to_usize2() == stride;
    match (op, is_default) {
        ("max_pool2d", true) => x.max_pool2d(size),
        ("max_pool2d", false) => x.max_pool2d_with_stride(size, stride),
        (_, true) => x.avg_pool2d(size),
        (_, false) => x.avg_pool2d_with_stride(size, stride),
    }
}

fn max_case((dims, size, stride): Row<'_>, values: Values, dtypes: &'static [DType]) -> Case {
    Case {
        op: "max_pool2d",
        dtypes,
        inputs: vec![Input::new(dims, values)],
        run: Box::new(move |inputs| run("max_pool2d", &inputs[0], size, stride)),
        reference: Box::new(move |inputs| pool(&inputs[0], size, stride, &largest)),
        tolerance: Tolerance::EXACT,
    }
}

fn mean_case((dims, size, stride): Row<'_>) -> Case {
    Case {
        op: "avg_pool2d",
        dtypes: &DType::FLOATS,
        inputs: vec![Input::new(dims, Values::Range(-1.0, 1.0))],
        run: Box::new(move |inputs| run("avg_pool2d", &inputs[0], size, stride)),
        reference: Box::new(move |inputs| pool(&inputs[0], size, stride, &mean)),
        // Half a unit an addition of values up to 1.
        tolerance: Tolerance::units(1.0, (size.0 * size.1) as f64 * 0.5),
    }
}

const RANGE: Values = Values::Range(-60.0, 60.0);

fn odd() -> Values {
    let mut odd = vec![1.0, f64::NAN, f64::NEG_INFINITY, -3.0, f64::INFINITY, 2.0];
    odd.extend([-1.0; 11]);
    Values::List(odd)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &row in ROWS {
        cases.push(max_case(row, RANGE, &DType::COMPUTE));
        cases.push(mean_case(row));
    }
    let row: Row<'_> = (&[1, 2, 6, 37], (2, 2), (1, 2));
    cases.push(max_case(row, odd(), &DType::FLOATS[..3]));
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let dims = draw.dims_of(4..=4, 0);
    let dims = [dims[0], dims[1], dims[2].max(1), dims[3].max(1)];
    let size = |draw: &mut Draw, name, most: usize| draw.number(name, 1, most.min(5));
    let window = (size(draw, "rows", dims[2]), size(draw, "columns", dims[3]));
    let stride = match draw.flag("stride of its own") {
        true => (size(draw, "down", 5), size(draw, "right", 5)),
        false => window,
    };
    let row: Row<'_> = (&dims, window, stride);
    match draw.below(3) {
        0 => max_case(row, RANGE, &DType::COMPUTE),
        1 => mean_case(row),
        _ => max_case(row, odd(), &DType::FLOATS[..3]),
    }
}
