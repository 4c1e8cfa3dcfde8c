//! The references are the definitions.

use super::{layer_norm, rms_norm};
use crate::DType;
use crate::testing::{Array, Case, Input, Tolerance, Values};

const EPS: f32 = 1e-5;

/// The row of x that an index is in.
fn row(x: &Array, index: &[usize]) -> Vec<f64> {
    let (leading, len) = (&index[..index.len() - 1], x.dims[x.dims.len() - 1]);
    (0..len)
        .map(|at| x.at(&[leading, &[at]].concat()))
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn reference(inputs: &[Array]) -> Array {
    let x = &inputs[0];
    Array::from_fn(&x.dims, |index| {
        let row = row(x, index);
        let at = index[index.len() - 1];
        let (center, bias) = match inputs.get(2) {
            Some(bias) => (mean(&row), bias.at(&[at])),
            None => (0.0, 0.0),
        };
        let squares: Vec<f64> = row.iter().map(|value| (value - center).powi(2)).collect();
        let spread = (mean(&squares) + f64::from(EPS)).sqrt();
        (x.at(index) - center) / spread * inputs[1].at(&[at]) + bias
    })
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
        let len = &dims[dims.len() - 1..];
        // Where a row is constant, x − mean is a rounding error that 1/√eps, 316, magnifies to 3 ·
        // 316 units. The narrow types compute in f32, and only their last rounding shows.
        let wide = (&[DType::F32, DType::F64][..], Tolerance::units(6.0, 1000.0));
        let narrow = (&[DType::F16, DType::BF16][..], Tolerance::units(2.0, 1.0));
        for (dtypes, tolerance) in [wide, narrow] {
            let (x, scale) = (
                Input::new(dims, Values::Range(-2.0, 3.0)),
                Input::new(len, Values::Range(0.5, 1.5)),
            );
            cases.push(Case {
                op: "rms_norm",
                dtypes,
                inputs: vec![x.clone(), scale.clone()],
                run: Box::new(|inputs| rms_norm(&inputs[0], &inputs[1], EPS)),
                reference: Box::new(reference),
                tolerance: Tolerance::units(6.0, 1.0),
            });
            cases.push(Case {
                op: "layer_norm",
                dtypes,
                inputs: vec![x, scale, Input::new(len, Values::Range(-1.0, 1.0))],
                run: Box::new(|inputs| layer_norm(&inputs[0], &inputs[1], &inputs[2], EPS)),
                reference: Box::new(reference),
                tolerance,
            });
        }
    }
    cases
}
