//! The reference folds over every element that an index of the result stands for.

use crate::testing::{Array, Case, Draw, Input, Tolerance, Values, sum};
use crate::{DType, Result, Tensor};

fn reference(x: &Array, dims: &[usize], op: &str) -> Array {
    let mut kept = x.dims.clone();
    dims.iter().for_each(|&dim| kept[dim] = 1);
    let reduced: Vec<usize> = (0..x.dims.len())
        .map(|dim| if dims.contains(&dim) { x.dims[dim] } else { 1 })
        .collect();
    let result = Array::from_fn(&kept, |index| {
        let mut values = Vec::new();
        Array::from_fn(&reduced, |inner| {
            let place: Vec<usize> = index.iter().zip(inner).map(|(a, b)| a + b).collect();
            values.push(x.at(&place));
            0.0
        });
        let pick = |better: fn(f64, f64) -> bool| {
            values
                .iter()
                .copied()
                .reduce(|a, b| if b.is_nan() || better(b, a) { b } else { a })
        };
        match op {
            "max" => pick(|b, a| b > a).unwrap_or(f64::NAN),
            "min" => pick(|b, a| b < a).unwrap_or(f64::NAN),
            "sum" => sum(values),
            _ => sum(values.iter().copied()) / values.len() as f64,
        }
    });
    let left = (0..kept.len())
        .filter(|dim| !dims.contains(dim))
        .map(|dim| kept[dim])
        .collect();
    Array {
        dims: left,
        data: result.data,
    }
}

fn run(op: &str, x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    match (op, dims) {
        ("sum", _) => x.sum(dims),
        ("mean", _) => x.mean(dims),
        ("max", [dim]) => x.max(*dim),
        ("min", [dim]) => x.min(*dim),
        ("max", _) => x.max_all(),
        _ => x.min_all(),
    }
}

const OPS: [&str; 4] = ["sum", "max", "min", "mean"];

/// None where nothing is to be picked from, or a largest element along several dimensions.
fn case(op: &'static str, dims: &[usize], reduced: &[usize]) -> Option<Case> {
    let sums = op == "sum" || op == "mean";
    let all = reduced.len() == dims.len();
    let count: usize = reduced.iter().map(|&dim| dims[dim]).product();
    if !sums && ((reduced.len() != 1 && !all) || count == 0) {
        return None;
    }
    // A u8 holds a sum of 80 numbers below 3; longer ones wrap, which the reference does not.
    let wraps = op == "sum" && count > 80;
    let floats = op == "mean" || wraps;
    let (own, over) = (reduced.to_vec(), reduced.to_vec());
    Some(Case {
        op,
        dtypes: if floats {
            &DType::FLOATS
        } else {
            &DType::COMPUTE
        },
        inputs: vec![Input::new(dims, Values::Range(0.0, 3.0))],
        run: Box::new(move |inputs| run(op, &inputs[0], &own)),
        reference: Box::new(move |inputs| reference(&inputs[0], &over, op)),
        // A lane or a column adds up to 512 numbers before its sum joins the others in f64; each
        // addition is off by up to half a unit.
        tolerance: if sums {
            Tolerance::units(256.0, 0.0)
        } else {
            Tolerance::EXACT
        },
    })
}

fn edges(op: &'static str) -> Case {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let list = vec![1.0, nan, 3.0, nan, 1.0, 2.0, 1.0, 2.0, nan, -inf, inf, 0.0];
    Case {
        op,
        dtypes: &[DType::F32, DType::F64, DType::F16, DType::BF16],
        inputs: vec![Input::new(&[4, 3], Values::List(list))],
        run: Box::new(move |inputs| run(op, &inputs[0], &[1])),
        reference: Box::new(move |inputs| reference(&inputs[0], &[1], op)),
        tolerance: Tolerance::EXACT,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let shapes: &[(&[usize], &[usize])] = &[
        (&[1], &[0]),
        (&[7], &[0]),
        (&[0, 3], &[1]),
        (&[5, 33], &[1]),
        (&[5, 33], &[0]),
        (&[3, 4, 5], &[1]),
        (&[3, 4, 20], &[1]),
        (&[3, 1, 5], &[1]),
        (&[3, 1030], &[0]),
        (&[600, 20], &[0]),
        (&[17_000], &[0]),
        (&[2, 16_500], &[1]),
        (&[1, 2, 1, 2, 1, 2, 1, 2, 3], &[7]),
    ];
    // Dimensions that a single-dim reduction cannot name at once.
    let several: &[(&[usize], &[usize])] = &[
        (&[], &[]),
        (&[3, 4, 5], &[0, 2]),
        (&[3, 4, 5], &[2, 1]),
        (&[3, 4, 5], &[0, 1, 2]),
    ];
    for op in OPS {
        for (dims, reduced) in shapes.iter().chain(several) {
            cases.extend(case(op, dims, reduced));
        }
    }
    cases.extend([edges("max"), edges("min")]);
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let op = draw.pick("op", &OPS);
    let sums = op == "sum" || op == "mean";
    let dims = draw.dims_of(usize::from(!sums)..=9, usize::from(!sums));
    let reduced = match sums {
        true => draw.some_dims("over", dims.len()),
        false => vec![draw.number("dim", 0, dims.len() - 1)],
    };
    let drawn = case(op, &dims, &reduced);
    drawn.expect("a largest element is asked of one dimension that has some")
}
