//! The reference turns each pair by the textbook's rotation.

use crate::DType;
use crate::testing::{Array, Case, Input, Tolerance, Values};

fn rope(inputs: &[Array], halves: bool) -> Array {
    let (x, half) = (&inputs[0], inputs[0].dims[3] / 2);
    Array::from_fn(&x.dims, |index| {
        let feature = index[3];
        let (pair, other, first) = match halves {
            true => (
                feature % half,
                (feature + half) % (2 * half),
                feature < half,
            ),
            false => (feature / 2, feature ^ 1, feature % 2 == 0),
        };
        let table = |table: &Array| match table.dims.len() {
            2 => table.at(&[index[2], pair]),
            _ => table.at(&[index[0], index[2], pair]),
        };
        let (cos, sin) = (table(&inputs[1]), table(&inputs[2]));
        let partner = x.at(&[index[0], index[1], index[2], other]);
        x.at(index) * cos + if first { -partner * sin } else { partner * sin }
    })
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let shapes: &[(&[usize], &[usize])] = &[
        (&[1, 1, 1, 2], &[1, 1]),
        (&[2, 3, 5, 8], &[5, 4]),
        (&[2, 3, 5, 8], &[2, 5, 4]),
        (&[1, 2, 3, 6], &[9, 3]),
        (&[1, 4, 0, 8], &[0, 4]),
        (&[0, 4, 2, 8], &[2, 4]),
        (&[1, 9, 80, 64], &[80, 32]),
    ];
    for (x, table) in shapes {
        for op in ["rope", "rope_i"] {
            cases.push(Case {
                op,
                dtypes: &[DType::F32, DType::F64, DType::F16, DType::BF16],
                inputs: vec![
                    Input::new(x, Values::Range(-2.0, 2.0)),
                    Input::new(table, Values::Range(-1.0, 1.0)),
                    Input::new(table, Values::Range(-1.0, 1.0)),
                ],
                run: Box::new(move |inputs| match op {
                    "rope" => super::rope(&inputs[0], &inputs[1], &inputs[2]),
                    _ => super::rope_i(&inputs[0], &inputs[1], &inputs[2]),
                }),
                reference: Box::new(move |inputs| rope(inputs, op == "rope")),
                // Two products of at most 2, each rounded, and the sum.
                tolerance: Tolerance::units(1.0, 4.0),
            });
        }
    }
    cases
}
