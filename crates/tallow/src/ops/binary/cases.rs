//! Binary references: the functions as the textbook has them, in f64; integers wrap by hand.

use crate::testing::{Case, Draw, Input, Tolerance, Values, elementwise_shapes};
use crate::{DType, Result, Tensor};

type Run = fn(&Tensor, &Tensor) -> Result<Tensor>;

/// The operation for one shape and for two, the reference, the values of each side that every dtype
/// has an answer for, and the dtypes with edges that only floats have.
struct Row {
    op: &'static str,
    broadcast_op: &'static str,
    run: Run,
    broadcast_run: Run,
    reference: fn(f64, f64) -> f64,
    lhs: (f64, f64),
    rhs: (f64, f64),
    tolerance: Tolerance,
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { op: "add", broadcast_op: "broadcast_add", run: Tensor::add,
        broadcast_run: Tensor::broadcast_add, reference: |a, b| a + b,
        lhs: (0.0, 60.0), rhs: (0.0, 60.0), tolerance: Tolerance::ROUNDED },
    Row { op: "sub", broadcast_op: "broadcast_sub", run: Tensor::sub,
        broadcast_run: Tensor::broadcast_sub, reference: |a, b| a - b,
        lhs: (60.0, 120.0), rhs: (0.0, 60.0), tolerance: Tolerance::ROUNDED },
    Row { op: "mul", broadcast_op: "broadcast_mul", run: Tensor::mul,
        broadcast_run: Tensor::broadcast_mul, reference: |a, b| a * b,
        lhs: (0.0, 15.9), rhs: (0.0, 15.9), tolerance: Tolerance::ROUNDED },
    Row { op: "div", broadcast_op: "broadcast_div", run: Tensor::div,
        broadcast_run: Tensor::broadcast_div, reference: |a, b| a / b,
        lhs: (0.0, 200.0), rhs: (1.0, 9.0), tolerance: Tolerance::ROUNDED },
    Row { op: "maximum", broadcast_op: "broadcast_maximum", run: |a, b| a.maximum(b),
        broadcast_run: Tensor::broadcast_maximum, reference: max,
        lhs: (-20.0, 20.0), rhs: (-20.0, 20.0), tolerance: Tolerance::EXACT },
    Row { op: "minimum", broadcast_op: "broadcast_minimum", run: |a, b| a.minimum(b),
        broadcast_run: Tensor::broadcast_minimum, reference: |a, b| -max(-a, -b),
        lhs: (-20.0, 20.0), rhs: (-20.0, 20.0), tolerance: Tolerance::EXACT },
    Row { op: "pow", broadcast_op: "broadcast_pow", run: Tensor::pow,
        broadcast_run: Tensor::broadcast_pow, reference: f64::powf,
        lhs: (0.0, 5.9), rhs: (0.0, 3.9), tolerance: Tolerance::ROUNDED },
];

fn max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

/// Shapes that broadcast: rows, columns, both ways at once, more dims on one side, empty.
const PAIRS: &[(&[usize], &[usize])] = &[
    (&[], &[3]),
    (&[4, 5], &[5]),
    (&[4, 1], &[4, 5]),
    (&[3, 1], &[1, 7]),
    (&[2, 1, 3, 1, 2], &[4, 1, 5, 1]),
    (&[0, 3], &[1, 3]),
    (&[70, 40], &[40]),
    (&[300, 1], &[300, 257]),
];

/// Sums and products that leave the integer's range, and the least number divided by -1.
fn wrapping(op: &str, dtype: DType, a: f64, b: f64) -> f64 {
    let (a, b) = (a as i128, b as i128);
    let exact = match op {
        "add" => a + b,
        "sub" => a - b,
        "mul" => a * b,
        _ => a / b,
    };
    match dtype {
        DType::U8 => f64::from(exact as u8),
        DType::U32 => f64::from(exact as u32),
        DType::I16 => f64::from(exact as i16),
        _ => f64::from(exact as i32),
    }
}

/// NaN, infinities, zeros of both signs, negative bases, whole and broken exponents.
const EDGES: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -3.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn case(
    (op, run): (&'static str, Run),
    row: &Row,
    dims: [&[usize]; 2],
    values: [Values; 2],
    dtypes: &'static [DType],
) -> Case {
    let ([lhs, rhs], reference) = (values, row.reference);
    Case {
        op,
        dtypes,
        inputs: vec![Input::new(dims[0], lhs), Input::new(dims[1], rhs)],
        run: Box::new(move |inputs| run(&inputs[0], &inputs[1])),
        reference: Box::new(move |inputs| inputs[0].zip_broadcast(&inputs[1], reference)),
        tolerance: row.tolerance,
    }
}

impl Row {
    fn plain(&self) -> (&'static str, Run) {
        (self.op, self.run)
    }

    fn broadcast(&self) -> (&'static str, Run) {
        (self.broadcast_op, self.broadcast_run)
    }

    fn values(&self) -> [Values; 2] {
        [self.lhs, self.rhs].map(|(low, high)| Values::Range(low, high))
    }
}

const EDGE_DTYPES: &[DType] = &[DType::F32, DType::F64];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for row in ROWS {
        let all = &DType::COMPUTE;
        for dims in elementwise_shapes() {
            cases.push(case(row.plain(), row, [&dims, &dims], row.values(), all));
        }
        for &(lhs, rhs) in PAIRS {
            cases.push(case(row.broadcast(), row, [lhs, rhs], row.values(), all));
        }
        let edges = [Values::List(EDGES.to_vec()), Values::List(EDGES.to_vec())];
        let sides = [&[EDGES.len(), 1], &[1, EDGES.len()][..]];
        cases.push(case(row.broadcast(), row, sides, edges, EDGE_DTYPES));
    }
    cases.extend(wrapping_cases());
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let row = &ROWS[draw.below(ROWS.len())];
    let dims = draw.dims();
    let (op, sides) = match draw.below(2) {
        0 => (row.plain(), [dims.clone(), dims]),
        _ => (
            row.broadcast(),
            [draw.narrower(&dims), draw.narrower(&dims)],
        ),
    };
    let (values, dtypes) = match draw.rarely(8) {
        true => {
            let turned = [&EDGES[3..], &EDGES[..2]].concat();
            (
                [Values::List(EDGES.to_vec()), Values::List(turned)],
                EDGE_DTYPES,
            )
        }
        false => (row.values(), &DType::COMPUTE[..]),
    };
    case(op, row, [&sides[0], &sides[1]], values, dtypes)
}

fn wrapping_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for row in ROWS.iter().take(4) {
        for dtypes in [&[DType::U8], &[DType::I16], &[DType::I32], &[DType::U32]] {
            let (op, run, dtype) = (row.op, row.run, dtypes[0]);
            let extremes: &[f64] = match dtype {
                DType::U8 => &[255.0, 3.0, 128.0],
                DType::U32 => &[4_294_967_295.0, 2.0, 65_537.0],
                DType::I16 => &[-32_768.0, -1.0, 32_767.0],
                _ => &[-2_147_483_648.0, -1.0, 2_147_483_647.0],
            };
            let turned: Vec<f64> = [&extremes[1..], &extremes[..1]].concat();
            cases.push(Case {
                op,
                dtypes,
                inputs: vec![
                    Input::new(&[39], Values::List(extremes.to_vec())),
                    Input::new(&[39], Values::List(turned)),
                ],
                run: Box::new(move |inputs| run(&inputs[0], &inputs[1])),
                reference: Box::new(move |inputs| {
                    inputs[0].zip_broadcast(&inputs[1], |a, b| wrapping(op, dtype, a, b))
                }),
                tolerance: Tolerance::EXACT,
            });
        }
    }
    cases
}
