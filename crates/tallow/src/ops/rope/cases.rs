//! The reference turns each pair by the textbook's rotation.

use crate::DType;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};

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

fn case(op: &'static str, x: &[usize], table: &[usize]) -> Case {
    Case {
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
    }
}

pub(super) fn cases() -> Vec<Case> {
    let shapes: &[(&[usize], &[usize])] = &[
        (&[1, 1, 1, 2], &[1, 1]),
        (&[2, 3, 5, 8], &[5, 4]),
        (&[2, 3, 5, 8], &[2, 5, 4]),
        (&[1, 2, 3, 6], &[9, 3]),
        (&[1, 4, 0, 8], &[0, 4]),
        (&[0, 4, 2, 8], &[2, 4]),
        (&[1, 9, 80, 64], &[80, 32]),
    ];
    shapes
        .iter()
        .flat_map(|(x, table)| ["rope", "rope_i"].map(|op| case(op, x, table)))
        .collect()
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let mut x = draw.dims_of(4..=4, 0);
    let half = x[3].div_ceil(2).max(1);
    x[3] = 2 * half;
    let len = x[2] + draw.number("longer", 0, 3);
    let table = match draw.flag("a table for each") {
        true => vec![x[0], len, half],
        false => vec![len, half],
    };
    case(["rope", "rope_i"][draw.below(2)], &x, &table)
}
