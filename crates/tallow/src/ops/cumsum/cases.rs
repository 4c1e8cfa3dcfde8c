//! The reference adds each element to the sum before it, in f64.

use crate::DType;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};

fn reference(x: &Array, dim: usize) -> Array {
    let mut out = x.clone();
    let inner: usize = x.dims[dim + 1..].iter().product();
    for at in 0..out.data.len() {
        if !(at / inner).is_multiple_of(x.dims[dim]) {
            out.data[at] += out.data[at - inner];
        }
    }
    out
}

fn case(dims: &[usize], dim: usize) -> Case {
    // Sums of integers stay within a u8; 0 and 1, thinly spread.
    let few = dims[dim] <= 130;
    let values = if few {
        Values::Range(0.0, 1.9)
    } else {
        Values::Range(-1.0, 2.0)
    };
    Case {
        op: "cumsum",
        dtypes: match dims.iter().product::<usize>() {
            0..10_000 if few => &DType::COMPUTE,
            _ => &[DType::F32, DType::I64],
        },
        inputs: vec![Input::new(dims, values)],
        run: Box::new(move |inputs| inputs[0].cumsum(dim)),
        reference: Box::new(move |inputs| reference(&inputs[0], dim)),
        // f64 sums are grouped in another order than the reference's.
        tolerance: Tolerance::units(64.0, 64.0),
    }
}

pub(super) fn cases() -> Vec<Case> {
    let shapes: [(&[usize], usize); 12] = [
        (&[1], 0),
        (&[0], 0),
        (&[2, 0, 3], 0),
        (&[7], 0),
        (&[3, 33], 1),
        (&[33, 3], 0),
        (&[3, 20, 5], 1),
        (&[1, 2, 1, 2, 1, 2, 1, 2, 3], 7),
        // Several segments: rows, columns, more columns than a segment has elements.
        (&[2, 9000], 1),
        (&[1500, 20], 0),
        (&[2, 40, 9000], 1),
        (&[70, 130], 1),
    ];
    shapes
        .into_iter()
        .map(|(dims, dim)| case(dims, dim))
        .collect()
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let dims = draw.dims_of(1..=9, 0);
    let dim = draw.number("dim", 0, dims.len() - 1);
    case(&dims, dim)
}
