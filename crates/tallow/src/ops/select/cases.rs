//! The selection reference.

use crate::DType;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values, elementwise_shapes};

const CONDITIONS: [DType; 5] = [DType::U8, DType::U32, DType::I16, DType::I32, DType::I64];

fn case(condition: DType, dims: &[usize]) -> Case {
    let choice = Values::List(vec![0.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0]);
    Case {
        op: super::NAME,
        dtypes: &DType::COMPUTE,
        inputs: vec![
            Input::of(dims, choice, condition),
            Input::new(dims, Values::Range(0.0, 100.0)),
            Input::new(dims, Values::List(vec![-1.0, f64::NAN, 3.0])),
        ],
        run: Box::new(|inputs| inputs[0].where_cond(&inputs[1], &inputs[2])),
        reference: Box::new(|inputs: &[Array]| {
            let choices = inputs[1].data.iter().zip(&inputs[2].data);
            let chosen = inputs[0].data.iter().zip(choices);
            let data = chosen
                .map(|(&c, (&t, &f))| if c != 0.0 { t } else { f })
                .collect();
            Array {
                dims: inputs[0].dims.clone(),
                data,
            }
        }),
        tolerance: Tolerance::EXACT,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let shapes = elementwise_shapes();
    CONDITIONS
        .iter()
        .flat_map(|&condition| shapes.iter().map(move |dims| case(condition, dims)))
        .collect()
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    case(draw.pick("condition", &CONDITIONS), &draw.dims())
}
