//! The reference of a step.

use super::AdamwStep;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values, elementwise_shapes};
use crate::{DType, Tensor};

/// Numbers of a first step and of a later one.
const NUMBERS: [AdamwStep; 2] = [
    AdamwStep {
        beta1: 0.75,
        beta2: 0.5,
        eps: 0.25,
        keep: 0.875,
        length: 0.5,
        root: 1.5,
    },
    AdamwStep {
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        keep: 0.99999,
        length: 2.4e-3,
        root: 10.0,
    },
];

fn case(dims: &[usize], numbers: AdamwStep) -> Case {
    let signed = || Input::new(dims, Values::Range(-4.0, 4.0));
    Case {
        op: super::NAME,
        dtypes: &[DType::F32, DType::F64],
        inputs: vec![
            signed(),
            signed(),
            signed(),
            Input::new(dims, Values::Range(0.5, 4.0)),
        ],
        run: Box::new(move |inputs| {
            let [x, g, m, v] = [0, 1, 2, 3].map(|at| &inputs[at]);
            let stepped = super::adamw_step(x, g, m, v, numbers)?;
            Tensor::stack(&[stepped.value, stepped.first, stepped.second], 0)
        }),
        reference: Box::new(move |inputs| reference(inputs, numbers)),
        // Some roundings; the two terms of a mean and of the variable may cancel.
        tolerance: Tolerance::units(8.0, 16.0),
    }
}

fn reference(inputs: &[Array], numbers: AdamwStep) -> Array {
    let AdamwStep {
        beta1, beta2, eps, ..
    } = numbers;
    let count = inputs[0].data.len();
    let mut data = vec![0.0; 3 * count];
    for at in 0..count {
        let [x, g, m, v] = [0, 1, 2, 3].map(|input| inputs[input].data[at]);
        let first = beta1 * m + (1.0 - beta1) * g;
        let second = beta2 * v + (1.0 - beta2) * g * g;
        let step = numbers.length * first / (second.sqrt() * numbers.root + eps);
        data[at] = x * numbers.keep - step;
        data[count + at] = first;
        data[2 * count + at] = second;
    }
    let dims = [&[3], &inputs[0].dims[..]].concat();
    Array { dims, data }
}

pub(super) fn cases() -> Vec<Case> {
    let shapes = elementwise_shapes();
    let of_shape = |dims: &Vec<usize>| NUMBERS.map(|numbers| case(dims, numbers));
    shapes.iter().flat_map(of_shape).collect()
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let numbers = NUMBERS[draw.below(NUMBERS.len())];
    case(&draw.dims(), numbers)
}
