//! A copy shows what its source shows.

use crate::DType;
use crate::testing::{Case, Input, Tolerance, Values, elementwise_shapes};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // Shapes for the blocked tiles: several blocks, middle dims, edges that are no whole tile.
    let tiles = [
        vec![130, 70],
        vec![33, 3, 50],
        vec![2, 40, 5, 35],
        vec![16, 16],
        vec![8, 9],
    ];
    for dims in elementwise_shapes().into_iter().chain(tiles) {
        let case = |op, run: fn(&crate::Tensor) -> crate::Result<crate::Tensor>| Case {
            op,
            dtypes: &DType::COMPUTE,
            inputs: vec![Input::new(&dims, Values::Range(0.0, 100.0))],
            run: Box::new(move |inputs| run(&inputs[0])),
            reference: Box::new(|inputs| inputs[0].clone()),
            tolerance: Tolerance::EXACT,
        };
        cases.push(case("copy", |x| x.copy()));
        cases.push(case("contiguous", |x| x.contiguous()));
    }
    cases
}
