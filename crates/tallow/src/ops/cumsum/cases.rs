//! The reference adds each element to the sum before it, in f64.

use crate::DType;
use crate::testing::{Array, Case, Input, Tolerance, Values};

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

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
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
    for (dims, dim) in shapes {
        // Sums of integers stay within a u8; 0 and 1, thinly spread.
        let few = dims[dim] <= 130;
        let values = if few {
            Values::Range(0.0, 1.9)
        } else {
            Values::Range(-1.0, 2.0)
        };
        let dtypes: &[DType] = match dims.iter().product::<usize>() {
            0..10_000 if few => &DType::COMPUTE,
            _ => &[DType::F32, DType::I64],
        };
        cases.push(Case {
            op: "cumsum",
            dtypes,
            inputs: vec![Input::new(dims, values)],
            run: Box::new(move |inputs| inputs[0].cumsum(dim)),
            reference: Box::new(move |inputs| reference(&inputs[0], dim)),
            // f64 sums are grouped in another order than the reference's.
            tolerance: Tolerance::units(64.0, 64.0),
        });
    }
    cases
}
