//! The reference looks at each element in turn.

use crate::DType;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};

fn reference(x: &Array, dim: usize, greatest: bool) -> Array {
    let mut dims = x.dims.clone();
    dims.remove(dim);
    Array::from_fn(&dims, |index| {
        let mut place = index.to_vec();
        place.insert(dim, 0);
        let mut best = (0, x.at(&place));
        for at in 1..x.dims[dim] {
            place[dim] = at;
            let value = x.at(&place);
            let ahead = if greatest {
                value > best.1
            } else {
                value < best.1
            };
            if !best.1.is_nan() && (ahead || value.is_nan()) {
                best = (at, value);
            }
        }
        best.0 as f64
    })
}

fn case(
    greatest: bool,
    dims: &[usize],
    dim: usize,
    values: Values,
    dtypes: &'static [DType],
) -> Case {
    Case {
        op: if greatest { "argmax" } else { "argmin" },
        dtypes,
        inputs: vec![Input::new(dims, values)],
        run: Box::new(move |inputs| match greatest {
            true => inputs[0].argmax(dim),
            false => inputs[0].argmin(dim),
        }),
        reference: Box::new(move |inputs| reference(&inputs[0], dim, greatest)),
        tolerance: Tolerance::EXACT,
    }
}

/// Infinities, several NaN in a row, zeros of both signs, equal numbers.
fn edges() -> Values {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let mut list = vec![1.0, nan, 3.0, nan, 1.0, 2.0, 1.0, 2.0, nan];
    list.extend([-inf, inf, inf, 0.0, -0.0, 0.0]);
    Values::List(list)
}

const EDGE_DTYPES: &[DType] = &[DType::F32, DType::F64, DType::F16, DType::BF16];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for greatest in [true, false] {
        for (dims, dim) in [
            (&[1][..], 0),
            (&[0, 3], 1),
            (&[5, 33], 1),
            (&[5, 33], 0),
            (&[3, 700], 1),
            (&[2, 40_000], 1),
            (&[1, 2, 1, 2, 1, 2, 1, 2, 3], 7),
        ] {
            let values = Values::Range(0.0, 250.0);
            cases.push(case(greatest, dims, dim, values, &DType::COMPUTE));
        }
        cases.push(case(greatest, &[5, 3], 1, edges(), EDGE_DTYPES));
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let mut dims = draw.dims_of(1..=9, 0);
    let dim = draw.number("dim", 0, dims.len() - 1);
    dims[dim] = dims[dim].max(1);
    let (values, dtypes) = match draw.below(3) {
        0 => (Values::Range(0.0, 250.0), &DType::COMPUTE[..]),
        // Few values, so that many are equal.
        1 => (Values::Range(0.0, 3.0), &DType::COMPUTE[..]),
        _ => (edges(), EDGE_DTYPES),
    };
    case(draw.rarely(2), &dims, dim, values, dtypes)
}
