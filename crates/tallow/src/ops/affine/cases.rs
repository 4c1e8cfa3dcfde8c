//! References of the functions with numbers as parameters.

use crate::testing::{Array, Case, Draw, Input, Tolerance, Values, elementwise_shapes};
use crate::{DType, Result, Tensor};

struct Row {
    op: &'static str,
    run: fn(&Tensor) -> Result<Tensor>,
    reference: fn(f64) -> f64,
    range: (f64, f64),
    dtypes: &'static [DType],
    tolerance: Tolerance,
}

const ALL: &[DType] = &DType::COMPUTE;
const FLOATS: &[DType] = &DType::FLOATS;

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("affine", |x| x.affine(2.0, 1.0), |x| x * 2.0 + 1.0, (0.0, 60.0), ALL, Tolerance::ROUNDED),
    row("affine", |x| x.affine(-0.7, 3.3), |x| x * -0.7 + 3.3, (-9.0, 9.0), FLOATS,
        Tolerance::units(1.0, 8.0)),
    row("powf", |x| x.powf(2.0), |x| x * x, (0.0, 11.0), ALL, Tolerance::ROUNDED),
    row("powf", |x| x.powf(1.0), |x| x, (0.0, 100.0), ALL, Tolerance::ROUNDED),
    row("powf", |x| x.powf(3.0), |x| x * x * x, (0.0, 5.0), ALL, Tolerance::ROUNDED),
    row("powf", |x| x.powf(-1.0), |x| 1.0 / x, (0.1, 9.0), FLOATS, Tolerance::ROUNDED),
    row("powf", |x| x.powf(0.5), |x| x.powf(0.5), (0.0, 200.0), FLOATS, Tolerance::ROUNDED),
    row("powf", |x| x.powf(-2.5), |x| x.powf(-2.5), (0.1, 9.0), FLOATS, Tolerance::ROUNDED),
    row("elu", |x| x.elu(1.5), elu, (-6.0, 6.0), FLOATS, Tolerance::units(8.0, 0.0)),
    row("elu", |x| x.elu(1.5), elu, (0.0, 100.0), ALL, Tolerance::ROUNDED),
    row("clamp", |x| x.clamp(2f32, 30f32), |x| x.clamp(2.0, 30.0), (-60.0, 60.0), ALL,
        Tolerance::EXACT),
];

const fn row(
    op: &'static str,
    run: fn(&Tensor) -> Result<Tensor>,
    reference: fn(f64) -> f64,
    range: (f64, f64),
    dtypes: &'static [DType],
    tolerance: Tolerance,
) -> Row {
    Row {
        op,
        run,
        reference,
        range,
        dtypes,
        tolerance,
    }
}

fn elu(x: f64) -> f64 {
    if x > 0.0 || x.is_nan() {
        x
    } else {
        1.5 * x.exp_m1()
    }
}

/// Zeros of both signs, tiny and huge numbers, infinities, NaN.
const EDGES: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e-30,
    -1e-30,
    1e-6,
    -1e-6,
    90.0,
    -90.0,
    1e30,
    -1e30,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn case(row: &Row, dims: &[usize], values: Values, dtypes: &'static [DType]) -> Case {
    let (run, reference) = (row.run, row.reference);
    Case {
        op: row.op,
        dtypes,
        inputs: vec![Input::new(dims, values)],
        run: Box::new(move |inputs| run(&inputs[0])),
        reference: Box::new(move |inputs: &[Array]| inputs[0].map(reference)),
        tolerance: row.tolerance,
    }
}

const EDGE_DTYPES: &[DType] = &[DType::F32, DType::F64];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for row in ROWS {
        let range = Values::Range(row.range.0, row.range.1);
        for dims in elementwise_shapes() {
            cases.push(case(row, &dims, range.clone(), row.dtypes));
        }
        let edges = Values::List(EDGES.to_vec());
        cases.push(case(row, &[EDGES.len()], edges, EDGE_DTYPES));
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let at = draw.number("row", 0, ROWS.len() - 1);
    let (row, dims) = (&ROWS[at], draw.dims());
    match draw.rarely(8) {
        true => case(row, &dims, Values::List(EDGES.to_vec()), EDGE_DTYPES),
        false => case(
            row,
            &dims,
            Values::Range(row.range.0, row.range.1),
            row.dtypes,
        ),
    }
}
