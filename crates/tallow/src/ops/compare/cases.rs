//! Comparison references.

use crate::testing::{Array, Case, Draw, Input, Tolerance, Values, elementwise_shapes};
use crate::{DType, Result, Tensor};

struct Row {
    op: &'static str,
    broadcast_op: &'static str,
    run: fn(&Tensor, &Tensor) -> Result<Tensor>,
    broadcast_run: fn(&Tensor, &Tensor) -> Result<Tensor>,
    holds: fn(f64, f64) -> bool,
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { op: "eq", broadcast_op: "broadcast_eq", run: |a, b| a.eq(b),
        broadcast_run: Tensor::broadcast_eq, holds: |a, b| a == b },
    Row { op: "ne", broadcast_op: "broadcast_ne", run: |a, b| a.ne(b),
        broadcast_run: Tensor::broadcast_ne, holds: |a, b| a != b },
    Row { op: "lt", broadcast_op: "broadcast_lt", run: |a, b| a.lt(b),
        broadcast_run: Tensor::broadcast_lt, holds: |a, b| a < b },
    Row { op: "le", broadcast_op: "broadcast_le", run: |a, b| a.le(b),
        broadcast_run: Tensor::broadcast_le, holds: |a, b| a <= b },
    Row { op: "gt", broadcast_op: "broadcast_gt", run: |a, b| a.gt(b),
        broadcast_run: Tensor::broadcast_gt, holds: |a, b| a > b },
    Row { op: "ge", broadcast_op: "broadcast_ge", run: |a, b| a.ge(b),
        broadcast_run: Tensor::broadcast_ge, holds: |a, b| a >= b },
];

/// Few values, so that many are equal; NaN becomes 0 in integers.
const VALUES: &[f64] = &[
    0.0,
    1.0,
    -1.0,
    2.0,
    f64::NAN,
    3.0,
    -0.0,
    f64::INFINITY,
    100.0,
    1.0,
    -7.0,
];

type Run = fn(&Tensor, &Tensor) -> Result<Tensor>;

fn case(op: &'static str, run: Run, row: &Row, lhs: &[usize], rhs: &[usize]) -> Case {
    let holds = row.holds;
    // Another length than the first list's, so that pairs change from place to place.
    let left = Values::List(VALUES.to_vec());
    let right = Values::List(VALUES[..8].to_vec());
    Case {
        op,
        dtypes: &DType::COMPUTE,
        inputs: vec![Input::new(lhs, left), Input::new(rhs, right)],
        run: Box::new(move |inputs| run(&inputs[0], &inputs[1])),
        reference: Box::new(move |inputs: &[Array]| {
            inputs[0].zip_broadcast(&inputs[1], |a, b| f64::from(u8::from(holds(a, b))))
        }),
        tolerance: Tolerance::EXACT,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for row in ROWS {
        for dims in elementwise_shapes() {
            cases.push(case(row.op, row.run, row, &dims, &dims));
        }
        let pairs: [(&[usize], &[usize]); 3] =
            [(&[5, 1], &[1, 7]), (&[4], &[3, 4]), (&[0, 1], &[2])];
        for (lhs, rhs) in pairs {
            cases.push(case(row.broadcast_op, row.broadcast_run, row, lhs, rhs));
        }
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let (row, dims) = (&ROWS[draw.below(ROWS.len())], draw.dims());
    match draw.below(2) {
        0 => case(row.op, row.run, row, &dims, &dims),
        _ => {
            let (lhs, rhs) = (draw.narrower(&dims), draw.narrower(&dims));
            case(row.broadcast_op, row.broadcast_run, row, &lhs, &rhs)
        }
    }
}
