//! The reference looks each element up at its mirrored index.

use crate::DType;
use crate::testing::{Array, Case, Input, Tolerance, Values};

pub(super) fn cases() -> Vec<Case> {
    let shapes: [(&[usize], &[usize]); 10] = [
        (&[], &[]),
        (&[1], &[0]),
        (&[0, 3], &[0, 1]),
        (&[33], &[0]),
        (&[5, 7], &[]),
        (&[5, 7], &[0]),
        (&[5, 7], &[1]),
        (&[3, 4, 5], &[2, 0]),
        (&[210, 190], &[1]),
        (&[1, 2, 1, 2, 1, 2, 1, 2, 3], &[8, 1, 7]),
    ];
    let case = |(dims, flipped): (&'static [usize], &'static [usize])| Case {
        op: "flip",
        dtypes: &DType::COMPUTE,
        inputs: vec![Input::new(dims, Values::Range(0.0, 100.0))],
        run: Box::new(move |inputs| inputs[0].flip(flipped)),
        reference: Box::new(move |inputs: &[Array]| {
            Array::from_fn(dims, |index| {
                let mut own = index.to_vec();
                for &dim in flipped {
                    own[dim] = dims[dim] - 1 - index[dim];
                }
                inputs[0].at(&own)
            })
        }),
        tolerance: Tolerance::EXACT,
    };
    shapes.into_iter().map(case).collect()
}
