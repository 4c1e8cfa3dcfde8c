//! The reference sorts a row's places with the standard library's stable sort.

use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
use crate::{DType, Result, Tensor};
use std::cmp::Ordering;

/// NaN last in both directions, else by value.
fn compare(a: f64, b: f64, ascending: bool) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        _ if a == b => Ordering::Equal,
        _ if (a < b) == ascending => Ordering::Less,
        _ => Ordering::Greater,
    }
}

/// Places, or with `values` the elements there, of the first `count` of each row.
fn reference(x: &Array, ascending: bool, count: usize, values: bool) -> Array {
    let mut dims = x.dims.clone();
    let len = std::mem::replace(dims.last_mut().expect("rows"), count);
    let mut data = Vec::new();
    for row in x.data.chunks(len.max(1)) {
        let mut places: Vec<usize> = (0..row.len()).collect();
        places.sort_by(|&a, &b| compare(row[a], row[b], ascending));
        let pick = |place: usize| if values { row[place] } else { place as f64 };
        data.extend(places.into_iter().take(count).map(pick));
    }
    Array { dims, data }
}

fn run(op: &str, x: &Tensor, ascending: bool, count: usize) -> Result<[Tensor; 2]> {
    Ok(match op {
        "arg_sort_last_dim" => {
            let order = x.arg_sort_last_dim(ascending)?;
            [order.clone(), order]
        }
        "sort_last_dim" => x.sort_last_dim(ascending)?.into(),
        _ => x.topk_last_dim(count, !ascending)?.into(),
    })
}

/// `which`: 0 the elements, 1 the places that they had. `ascending`, and how many are kept.
fn case(
    (op, which): (&'static str, usize),
    dims: &[usize],
    values: Values,
    (ascending, count): (bool, usize),
    dtypes: &'static [DType],
) -> Case {
    Case {
        op,
        dtypes,
        inputs: vec![Input::new(dims, values)],
        run: Box::new(move |inputs| Ok(run(op, &inputs[0], ascending, count)?[which].clone())),
        reference: Box::new(move |inputs| {
            let elements = which == 0 && op != "arg_sort_last_dim";
            reference(&inputs[0], ascending, count, elements)
        }),
        tolerance: Tolerance::EXACT,
    }
}

const OPS: [&str; 3] = ["arg_sort_last_dim", "sort_last_dim", "topk_last_dim"];

const SIGNED: &[DType] = &[
    DType::F32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::I16,
    DType::I32,
];

fn edges() -> Values {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    Values::List(vec![
        1.0, nan, -inf, 0.0, -0.0, inf, nan, -3.0, 1.0, 0.0, -0.0, 5.0, -inf,
    ])
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut push = |op: &'static str, dims: &[usize], values: Values, ascending, count, dtypes| {
        for which in 0..2 {
            let order = (ascending, count);
            cases.push(case((op, which), dims, values.clone(), order, dtypes));
        }
    };
    let shapes: &[&[usize]] = &[
        &[1],
        &[2, 0],
        &[0, 3],
        &[7],
        &[3, 4, 33],
        &[159],
        &[160],
        &[2, 1030],
        &[40, 300],
        &[1, 2, 1, 2, 1, 2, 1, 2, 3],
    ];
    for dims in shapes {
        let len = dims[dims.len() - 1];
        for ascending in [true, false] {
            let spread = Values::Range(0.0, 250.0);
            push(
                "arg_sort_last_dim",
                dims,
                spread.clone(),
                ascending,
                len,
                &DType::COMPUTE,
            );
            push(
                "sort_last_dim",
                dims,
                spread.clone(),
                ascending,
                len,
                &DType::COMPUTE,
            );
            for count in [1, len / 3, 200, len] {
                if count <= len {
                    push(
                        "topk_last_dim",
                        dims,
                        spread.clone(),
                        ascending,
                        count,
                        &DType::COMPUTE,
                    );
                }
            }
        }
    }
    for ascending in [true, false] {
        for op in OPS {
            push(
                op,
                &[3, 300],
                Values::Range(-100.0, 100.0),
                ascending,
                300,
                SIGNED,
            );
            let floats = &SIGNED[..4];
            push(op, &[13], edges(), ascending, 13, floats);
            push(op, &[400], edges(), ascending, 400, floats);
        }
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let (op, which) = (draw.pick("op", &OPS), draw.number("result", 0, 1));
    let mut dims = draw.dims_of(1..=9, 0);
    let last = dims.len() - 1;
    if dims.iter().product::<usize>() < 40 && draw.rarely(8) {
        dims[last] = draw.number("row", 100, 1200);
    }
    let ascending = draw.flag("ascending");
    let count = match op {
        "topk_last_dim" => draw.number("count", 0, dims[last]),
        _ => dims[last],
    };
    let (values, dtypes) = match draw.below(4) {
        0 => (Values::Range(0.0, 250.0), &DType::COMPUTE[..]),
        1 => (Values::Range(0.0, 4.0), &DType::COMPUTE[..]),
        2 => (Values::Range(-100.0, 100.0), SIGNED),
        _ => (edges(), &SIGNED[..4]),
    };
    case((op, which), &dims, values, (ascending, count), dtypes)
}
