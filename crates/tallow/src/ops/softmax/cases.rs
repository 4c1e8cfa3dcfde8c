//! The reference is the definition, with the maximum taken off.

use super::softmax;
use crate::DType;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};

fn reference(x: &Array, dim: usize) -> Array {
    let mut out = x.clone();
    let inner: usize = x.dims[dim + 1..].iter().product();
    let firsts = (0..x.data.len()).filter(|at| (at / inner).is_multiple_of(x.dims[dim]));
    for first in firsts {
        let places = || (0..x.dims[dim]).map(|position| first + position * inner);
        let greatest = places()
            .map(|at| x.data[at])
            .fold(
                f64::NEG_INFINITY,
                |a, b| if b > a || b.is_nan() { b } else { a },
            );
        let weight = |at: usize| match greatest == f64::NEG_INFINITY {
            true => 0.0,
            false => (x.data[at] - greatest).exp(),
        };
        let total: f64 = places().map(weight).sum();
        for at in places() {
            // A row of nothing but -∞ has no weights, and gives zeros.
            out.data[at] = if total == 0.0 {
                0.0
            } else {
                weight(at) / total
            };
        }
    }
    out
}

fn case(dims: &[usize], dim: usize, values: Values) -> Case {
    Case {
        op: "softmax",
        dtypes: &DType::FLOATS,
        inputs: vec![Input::new(dims, values)],
        run: Box::new(move |inputs| softmax(&inputs[0], dim)),
        reference: Box::new(move |inputs| reference(&inputs[0], dim)),
        // An exponent of up to 18 in size is rounded by up to 18/2 units of 1, which the
        // exponential makes relative; then the sum of up to 300 of them and the division.
        tolerance: Tolerance::units(20.0, 0.0),
    }
}

/// Rows of nothing but -∞, of NaN, of numbers whose exponentials pass every range.
fn edges() -> [Values; 2] {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    [
        vec![-inf, -inf, -inf, -inf, 1.0, 2.0],
        vec![0.0, nan, 1.0, 300.0, 400.0, -400.0],
    ]
    .map(Values::List)
}

const RANGE: Values = Values::Range(-9.0, 9.0);

pub(super) fn cases() -> Vec<Case> {
    let shapes: [(&[usize], usize); 9] = [
        (&[1], 0),
        (&[7], 0),
        (&[0], 0),
        (&[3, 0], 1),
        (&[0, 3], 1),
        (&[5, 33], 1),
        (&[5, 33], 0),
        (&[70, 300], 1),
        (&[2, 1, 2, 1, 3, 1, 2, 5, 2], 7),
    ];
    let plain = shapes.map(|(dims, dim)| case(dims, dim, RANGE));
    let edges = edges().map(|values| case(&[2, 3], 1, values));
    plain.into_iter().chain(edges).collect()
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let dims = draw.dims_of(1..=9, 0);
    let dim = draw.number("dim", 0, dims.len() - 1);
    match draw.rarely(8) {
        true => case(&dims, dim, edges()[draw.below(2)].clone()),
        false => case(&dims, dim, RANGE),
    }
}
