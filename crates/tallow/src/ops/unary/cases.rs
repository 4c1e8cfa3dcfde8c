//! Unary references: the functions as the textbook has them, in f64.

use super::formulas::FAMILY;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values, elementwise_shapes};
use crate::{DType, Result, Tensor};

/// Run, reference, and the range of values that keeps the right answer finite in every dtype.
struct Row {
    op: &'static str,
    run: fn(&Tensor) -> Result<Tensor>,
    reference: fn(f64) -> f64,
    range: (f64, f64),
    tolerance: Tolerance,
}

// Below -3 the reference of gelu_erf, x/2 · (1 + erf), cancels: its own error is some 20 units of 1
// in f64, which the last tolerance of that row allows.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("exp", |x| x.exp(), |x| x.exp(), (-8.0, 5.0), Tolerance::MATHS),
    row("log", |x| x.log(), |x| x.ln(), (0.001, 200.0), Tolerance::units(3.0, 1.0)),
    row("sin", |x| x.sin(), |x| x.sin(), (-20.0, 20.0), Tolerance::units(3.0, 1.0)),
    row("cos", |x| x.cos(), |x| x.cos(), (-20.0, 20.0), Tolerance::units(3.0, 1.0)),
    row("tanh", |x| x.tanh(), |x| x.tanh(), (-6.0, 6.0), Tolerance::MATHS),
    row("erf", |x| x.erf(), erf, (-3.5, 3.5), Tolerance::units(4.0, 4.0)),
    row("sqrt", |x| x.sqrt(), |x| x.sqrt(), (0.0, 200.0), Tolerance::ROUNDED),
    row("rsqrt", |x| x.rsqrt(), |x| 1.0 / x.sqrt(), (0.01, 200.0), Tolerance::units(2.0, 0.0)),
    row("recip", |x| x.recip(), |x| 1.0 / x, (0.01, 200.0), Tolerance::ROUNDED),
    row("sqr", |x| x.sqr(), |x| x * x, (-10.0, 11.0), Tolerance::ROUNDED),
    row("abs", |x| x.abs(), |x| x.abs(), (-100.0, 100.0), Tolerance::EXACT),
    row("neg", |x| x.neg(), |x| -x, (-100.0, 100.0), Tolerance::EXACT),
    row("sign", |x| x.sign(), sign, (-3.0, 3.0), Tolerance::EXACT),
    row("floor", |x| x.floor(), |x| x.floor(), (-9.0, 9.0), Tolerance::EXACT),
    row("ceil", |x| x.ceil(), |x| x.ceil(), (-9.0, 9.0), Tolerance::EXACT),
    row("round", |x| x.round(), |x| x.round(), (-9.0, 9.0), Tolerance::EXACT),
    row("relu", |x| x.relu(), |x| if x < 0.0 { 0.0 } else { x }, (-9.0, 9.0), Tolerance::EXACT),
    row("gelu", |x| x.gelu(), gelu, (-4.0, 6.0), Tolerance::units(6.0, 8.0)),
    row("gelu_erf", |x| x.gelu_erf(), gelu_erf, (-4.0, 6.0), Tolerance::units(6.0, 24.0)),
    row("silu", |x| x.silu(), |x| x / (1.0 + (-x).exp()), (-9.0, 9.0), Tolerance::units(4.0, 0.0)),
    row("sigmoid", |x| x.sigmoid(), sigmoid, (-9.0, 9.0), Tolerance::units(4.0, 0.0)),
];

const fn row(
    op: &'static str,
    run: fn(&Tensor) -> Result<Tensor>,
    reference: fn(f64) -> f64,
    range: (f64, f64),
    tolerance: Tolerance,
) -> Row {
    Row {
        op,
        run,
        reference,
        range,
        tolerance,
    }
}

fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn gelu_erf(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x / 2f64.sqrt()))
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
}

/// Up to 1, 2/√π · e^(-x²) · Σ 2ⁿ x²ⁿ⁺¹ / (1 · 3 · … · (2n+1)) (Abramowitz and Stegun 7.1.6), whose
/// terms have one sign, so that nothing cancels. From there on 1 − e^(-x²)/√π · 1/(x + ½/(x +
/// 1/(x + 3/2/(x + …)))) (7.1.14), whose rounding is as small beside 1 as what is taken off it.
fn erf(x: f64) -> f64 {
    let size = x.abs();
    let scale = (-x * x).exp() / std::f64::consts::PI.sqrt();
    if size >= 1.0 {
        let below = (1..=200).rev();
        let fraction = below.fold(size, |fraction, n| size + 0.5 * f64::from(n) / fraction);
        return (1.0 - scale / fraction).copysign(x);
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..40 {
        term *= 2.0 * x * x / f64::from(2 * n + 1);
        sum += term;
    }
    sum * 2.0 * scale
}

/// Values at which functions break: zeros of both signs, halves, infinities, NaN, tiny and huge.
fn edges() -> Vec<f64> {
    let positive = [0.0, 0.5, 1.0, 1.5, 2.5, 1e-30, 1e-40, 3e38, f64::INFINITY];
    let mut edges: Vec<f64> = positive.iter().flat_map(|&x| [x, -x]).collect();
    edges.push(f64::NAN);
    edges
}

fn case(row: &Row, dims: &[usize], values: Values, dtypes: Option<&'static [DType]>) -> Case {
    let info = FAMILY.ops.iter().find(|op| op.name == row.op);
    let (run, reference) = (row.run, row.reference);
    Case {
        op: row.op,
        dtypes: dtypes.unwrap_or(info.map_or(&[][..], |op| op.dtypes)),
        inputs: vec![Input::new(dims, values)],
        run: Box::new(move |inputs| run(&inputs[0])),
        reference: Box::new(move |inputs: &[Array]| inputs[0].map(reference)),
        tolerance: row.tolerance,
    }
}

/// f32 alone: the narrower types hold few of these values, and the formula is the same.
const EDGE_DTYPES: &[DType] = &[DType::F32];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for row in ROWS {
        for dims in elementwise_shapes() {
            cases.push(case(
                row,
                &dims,
                Values::Range(row.range.0, row.range.1),
                None,
            ));
        }
        let edges = edges();
        cases.push(case(
            row,
            &[edges.len()],
            Values::List(edges),
            Some(EDGE_DTYPES),
        ));
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let row = &ROWS[draw.below(ROWS.len())];
    let dims = draw.dims();
    match draw.rarely(8) {
        true => case(row, &dims, Values::List(edges()), Some(EDGE_DTYPES)),
        false => case(row, &dims, Values::Range(row.range.0, row.range.1), None),
    }
}
