//! The references look each element up.

use crate::DType;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};

const ID_DTYPES: [DType; 5] = [DType::U32, DType::U8, DType::I16, DType::I32, DType::I64];

fn select(x: &Array, ids: &Array, dim: usize) -> Array {
    let mut dims = x.dims.clone();
    dims[dim] = ids.dims[0];
    Array::from_fn(&dims, |index| {
        let mut index = index.to_vec();
        index[dim] = ids.data[index[dim]] as usize;
        x.at(&index)
    })
}

fn gather(x: &Array, ids: &Array, dim: usize) -> Array {
    Array::from_fn(&ids.dims, |index| {
        let mut place = index.to_vec();
        place[dim] = ids.at(index) as usize;
        x.at(&place)
    })
}

fn case(op: &'static str, x: &[usize], dim: usize, id_dims: &[usize], id_dtype: DType) -> Case {
    // Casting to an integer dtype cuts the fraction off.
    let ids = Values::Range(0.0, x[dim] as f64 - 0.001);
    Case {
        op,
        dtypes: &DType::COMPUTE,
        inputs: vec![
            Input::new(x, Values::Range(0.0, 100.0)),
            Input::of(id_dims, ids, id_dtype),
        ],
        run: Box::new(move |inputs| match op {
            "gather" => inputs[0].gather(&inputs[1], dim),
            _ => inputs[0].index_select(&inputs[1], dim),
        }),
        reference: Box::new(move |inputs| match op {
            "gather" => gather(&inputs[0], &inputs[1], dim),
            _ => select(&inputs[0], &inputs[1], dim),
        }),
        tolerance: Tolerance::EXACT,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut push = |op, x: &[usize], dim, id_dims: &[usize], id_dtype| {
        cases.push(case(op, x, dim, id_dims, id_dtype));
    };
    for id_dtype in ID_DTYPES {
        push("index_select", &[5, 3], 0, &[4], id_dtype);
        push("gather", &[5, 3], 1, &[5, 4], id_dtype);
    }
    for (x, dim, count) in [
        (&[1][..], 0, 1),
        (&[7], 0, 0),
        (&[4, 0], 0, 3),
        (&[3, 5, 2], 1, 7),
        (&[3, 5, 2], 2, 3),
        (&[90, 70], 0, 600),
        (&[1, 2, 1, 2, 1, 2, 1, 5, 3], 7, 2),
    ] {
        push("index_select", x, dim, &[count], DType::U32);
    }
    for (x, dim, id_dims) in [
        (&[1][..], 0, &[1][..]),
        (&[7], 0, &[0]),
        (&[3, 5, 2], 1, &[2, 7, 2]),
        (&[3, 5, 2], 0, &[6, 4, 1]),
        (&[90, 70], 1, &[90, 500]),
        (
            &[1, 2, 1, 2, 1, 2, 1, 5, 3],
            7,
            &[1, 2, 1, 2, 1, 2, 1, 3, 3],
        ),
    ] {
        push("gather", x, dim, id_dims, DType::U32);
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let mut x = draw.dims_of(1..=9, 0);
    let dim = draw.number("dim", 0, x.len() - 1);
    // A u8 names 256 slices.
    x[dim] = x[dim].clamp(1, 256);
    let id_dtype = draw.pick("ids", &ID_DTYPES);
    match draw.below(2) {
        0 => case("index_select", &x, dim, &[draw.size(0)], id_dtype),
        _ => {
            let mut ids = x.clone();
            for (at, size) in ids.iter_mut().enumerate() {
                match at == dim {
                    true => *size = draw.size(0),
                    false => *size -= if draw.rarely(4) { draw.below(*size) } else { 0 },
                }
            }
            case("gather", &x, dim, &ids, id_dtype)
        }
    }
}
