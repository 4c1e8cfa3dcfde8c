//! Cast references: the number itself, which the harness rounds to the result's dtype.

use crate::DType;
use crate::testing::{Case, Draw, Input, Tolerance, Values, elementwise_shapes};

/// Ties, values beyond the narrow types' ranges, subnormals, infinities, NaN.
const EDGES: &[f64] = &[
    0.0,
    -0.0,
    0.5,
    1.5,
    -2.5,
    1.0 + 1.0 / 2048.0,
    1.0 + 3.0 / 256.0,
    17.0,
    447.0,
    65_519.0,
    65_520.0,
    -65_536.0,
    1e-7,
    6e-8,
    2e-3,
    1e-40,
    3.4e38,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn case(to: DType, dims: &[usize], values: Values, dtypes: &'static [DType]) -> Case {
    Case {
        op: super::NAME,
        dtypes,
        inputs: vec![Input::new(dims, values)],
        run: Box::new(move |inputs| inputs[0].to_dtype(to)),
        reference: Box::new(|inputs| inputs[0].clone()),
        tolerance: Tolerance::EXACT,
    }
}

/// Numbers of 0 to 127 are in the range of every dtype.
const RANGE: Values = Values::Range(0.0, 127.0);

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for to in DType::COMPUTE {
        for dims in elementwise_shapes() {
            cases.push(case(to, &dims, RANGE, &DType::COMPUTE));
        }
        let edges = Values::List(EDGES.to_vec());
        cases.push(case(to, &[EDGES.len()], edges, &DType::FLOATS));
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let (to, dims) = (draw.pick("to", &DType::COMPUTE), draw.dims());
    match draw.rarely(4) {
        true => case(to, &dims, Values::List(EDGES.to_vec()), &DType::FLOATS),
        false => case(to, &dims, RANGE, &DType::COMPUTE),
    }
}
