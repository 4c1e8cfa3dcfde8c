//! The references are the definitions.

use super::{layer_norm, rms_norm};
use crate::DType;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values, sum};

const EPS: f32 = 1e-5;

/// The row of x that an index is in.
fn row(x: &Array, index: &[usize]) -> Vec<f64> {
    let (leading, len) = (&index[..index.len() - 1], x.dims[x.dims.len() - 1]);
    (0..len)
        .map(|at| x.at(&[leading, &[at]].concat()))
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    sum(values.iter().copied()) / values.len() as f64
}

fn reference(inputs: &[Array]) -> Array {
    let x = &inputs[0];
    let (mut center, mut spread) = (0.0, 0.0);
    Array::from_fn(&x.dims, |index| {
        let at = index[index.len() - 1];
        if at == 0 {
            let row = row(x, index);
            center = if inputs.len() > 2 { mean(&row) } else { 0.0 };
            let squares: Vec<f64> = row.iter().map(|value| (value - center).powi(2)).collect();
            spread = (mean(&squares) + f64::from(EPS)).sqrt();
        }
        let bias = inputs.get(2).map_or(0.0, |bias| bias.at(&[at]));
        (x.at(index) - center) / spread * inputs[1].at(&[at]) + bias
    })
}

/// The dtypes that are judged alike. f64 adds up one number after the other, where n terms cost up
/// to n/2 units; f32 in a vector's lanes; the narrow types in f32: only their last rounding shows.
const KINDS: [&[DType]; 3] = [&[DType::F32], &[DType::F64], &[DType::F16, DType::BF16]];

/// Units that a sum of n terms loses in the dtype.
fn lost(dtypes: &[DType], len: usize) -> f64 {
    match dtypes.contains(&DType::F64) {
        true => 0.5 * len as f64,
        false => 0.0,
    }
}

fn rms(dims: &[usize], dtypes: &'static [DType]) -> Case {
    let len = dims[dims.len() - 1];
    Case {
        op: "rms_norm",
        dtypes,
        inputs: vec![
            Input::new(dims, Values::Range(-2.0, 3.0)),
            Input::new(&[len], Values::Range(0.5, 1.5)),
        ],
        run: Box::new(|inputs| rms_norm(&inputs[0], &inputs[1], EPS)),
        reference: Box::new(reference),
        tolerance: Tolerance::units(6.0 + lost(dtypes, len), 1.0),
    }
}

fn layer(dims: &[usize], dtypes: &'static [DType]) -> Case {
    let (len, rms) = (dims[dims.len() - 1], rms(dims, dtypes));
    let mut inputs = rms.inputs;
    inputs.push(Input::new(&[len], Values::Range(-1.0, 1.0)));
    let tolerance = match dtypes {
        [DType::F32] => Tolerance::units(6.0, 6.0),
        // Where a row is constant, the reference's x − mean is a rounding error: numbers up to 3
        // and their mean are off by up to 6 units of 1, which 1/√eps, 316, and the scale, 1.5,
        // magnify.
        [DType::F64] => Tolerance::units(
            6.0 + lost(dtypes, len),
            (6.0 + 3.0 * lost(dtypes, len)) * 1.5 * 316.0,
        ),
        _ => Tolerance::units(2.0, 1.0),
    };
    Case {
        op: "layer_norm",
        inputs,
        run: Box::new(|inputs| layer_norm(&inputs[0], &inputs[1], &inputs[2], EPS)),
        tolerance,
        ..rms
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for dims in [
        &[1][..],
        &[7],
        &[0, 7],
        &[3, 33],
        &[2, 5, 64],
        &[60, 300],
        &[1, 2, 1, 2, 1, 2, 1, 2, 5],
    ] {
        for dtypes in KINDS {
            cases.extend([rms(dims, dtypes), layer(dims, dtypes)]);
        }
    }
    // Thousands of equal squares, each sum of which rounds the same way.
    let mut equal = rms(&[30_696], KINDS[0]);
    equal.inputs[0] = Input::new(&[30_696], Values::List(vec![1.7]));
    cases.push(equal);
    // Rows that are nearly constant: what is away from the mean is a few of f32's last digits.
    for dims in [&[3, 33][..], &[1, 4096]] {
        let mut near = layer(dims, KINDS[0]);
        let steps = [0.0, 1.0, 3.0, 1.0, 2.0, 5.0, 1.0];
        let values = steps.iter().map(|step| 4096.0 + step / 2048.0);
        near.inputs[0] = Input::new(dims, Values::List(values.collect()));
        cases.push(near);
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let dims = draw.dims_of(1..=9, 0);
    let dtypes = KINDS[draw.below(KINDS.len())];
    match draw.below(2) {
        0 => rms(&dims, dtypes),
        _ => layer(&dims, dtypes),
    }
}
