//! The reference is the definition, with the maximum taken off.

use super::softmax;
use crate::DType;
use crate::testing::{Array, Case, Input, Tolerance, Values};

fn reference(x: &Array, dim: usize) -> Array {
    Array::from_fn(&x.dims, |index| {
        let at = |position: usize| {
            let mut index = index.to_vec();
            index[dim] = position;
            x.at(&index)
        };
        let row: Vec<f64> = (0..x.dims[dim]).map(at).collect();
        let greatest = row.iter().fold(
            f64::NEG_INFINITY,
            |a, &b| if b > a || b.is_nan() { b } else { a },
        );
        if greatest == f64::NEG_INFINITY {
            return 0.0;
        }
        let total: f64 = row.iter().map(|value| (value - greatest).exp()).sum();
        (x.at(index) - greatest).exp() / total
    })
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut push = |dims: &[usize], dim: usize, values: Values| {
        cases.push(Case {
            op: "softmax",
            dtypes: &DType::FLOATS,
            inputs: vec![Input::new(dims, values)],
            run: Box::new(move |inputs| softmax(&inputs[0], dim)),
            reference: Box::new(move |inputs| reference(&inputs[0], dim)),
            // An exponent of up to 18 in size is rounded by up to 18/2 units of 1, which the
            // exponential makes relative; then the sum of up to 300 of them and the division.
            tolerance: Tolerance::units(20.0, 0.0),
        });
    };
    let range = || Values::Range(-9.0, 9.0);
    for (dims, dim) in [
        (&[1][..], 0),
        (&[7], 0),
        (&[0], 0),
        (&[3, 0], 1),
        (&[0, 3], 1),
        (&[5, 33], 1),
        (&[5, 33], 0),
        (&[70, 300], 1),
        (&[2, 1, 2, 1, 3, 1, 2, 5, 2], 7),
    ] {
        push(dims, dim, range());
    }
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    push(
        &[2, 3],
        1,
        Values::List(vec![-inf, -inf, -inf, -inf, 1.0, 2.0]),
    );
    push(
        &[2, 3],
        1,
        Values::List(vec![0.0, nan, 1.0, 300.0, 400.0, -400.0]),
    );
    cases
}
