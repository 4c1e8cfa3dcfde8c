//! A copy shows what its source shows.

use crate::DType;
use crate::testing::{Case, Draw, Input, Tolerance, Values, elementwise_shapes};

fn case(contiguous: bool, dims: &[usize]) -> Case {
    Case {
        op: if contiguous { "contiguous" } else { "copy" },
        dtypes: &DType::COMPUTE,
        inputs: vec![Input::new(dims, Values::Range(0.0, 100.0))],
        run: Box::new(move |inputs| match contiguous {
            true => inputs[0].contiguous(),
            false => inputs[0].copy(),
        }),
        reference: Box::new(|inputs| inputs[0].clone()),
        tolerance: Tolerance::EXACT,
    }
}

pub(super) fn cases() -> Vec<Case> {
    // Shapes for the blocked tiles: several blocks, middle dims, edges that are no whole tile.
    let tiles = [
        vec![130, 70],
        vec![33, 3, 50],
        vec![2, 40, 5, 35],
        vec![16, 16],
        vec![8, 9],
    ];
    let shapes = elementwise_shapes().into_iter().chain(tiles);
    shapes
        .flat_map(|dims| [case(false, &dims), case(true, &dims)])
        .collect()
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    case(draw.rarely(2), &draw.dims())
}
