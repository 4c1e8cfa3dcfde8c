//! The reference looks each element up at its mirrored index.

use crate::DType;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};

fn case(dims: &[usize], flipped: &[usize]) -> Case {
    let turned = flipped.to_vec();
    let flipped = flipped.to_vec();
    Case {
        op: "flip",
        dtypes: &DType::COMPUTE,
        inputs: vec![Input::new(dims, Values::Range(0.0, 100.0))],
        run: Box::new(move |inputs| inputs[0].flip(&flipped)),
        reference: Box::new(move |inputs: &[Array]| {
            Array::from_fn(&inputs[0].dims, |index| {
                let mut own = index.to_vec();
                for &dim in &turned {
                    own[dim] = inputs[0].dims[dim] - 1 - index[dim];
                }
                inputs[0].at(&own)
            })
        }),
        tolerance: Tolerance::EXACT,
    }
}

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
    shapes
        .into_iter()
        .map(|(dims, flipped)| case(dims, flipped))
        .collect()
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let dims = draw.dims();
    let flipped = draw.some_dims("flipped", dims.len());
    case(&dims, &flipped)
}
