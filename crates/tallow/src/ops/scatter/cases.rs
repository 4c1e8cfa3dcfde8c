//! The references visit the source's elements in order, and write each where its index says.

use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
use crate::{DType, Result, Tensor};

/// For large shapes: a kernel of each kind, and no u8, which sums of many elements pass.
const FEW: [DType; 4] = [DType::F32, DType::BF16, DType::I16, DType::I64];

const ID_DTYPES: [DType; 5] = [DType::U32, DType::U8, DType::I16, DType::I32, DType::I64];

const SCATTERS: [&str; 4] = ["scatter", "scatter_add", "scatter_set", "scatter_add_set"];

fn flat(dims: &[usize], index: &[usize]) -> usize {
    index
        .iter()
        .zip(dims)
        .fold(0, |at, (index, size)| at * size + index)
}

/// `slices`: the ids are of rank 1 and name slices.
fn reference(inputs: &[Array], dim: usize, add: bool, slices: bool) -> Array {
    let [target, ids, source] = [&inputs[0], &inputs[1], &inputs[2]];
    let mut out = target.clone();
    Array::from_fn(&source.dims, |index| {
        let id = if slices {
            ids.data[index[dim]]
        } else {
            ids.at(index)
        };
        let mut place = index.to_vec();
        place[dim] = id as usize;
        let slot = &mut out.data[flat(&target.dims, &place)];
        *slot = if add {
            *slot + source.at(index)
        } else {
            source.at(index)
        };
        0.0
    });
    out
}

fn run(op: &str, inputs: &[Tensor], dim: usize) -> Result<Tensor> {
    let [target, ids, source] = [&inputs[0], &inputs[1], &inputs[2]];
    match op {
        "scatter" => target.scatter(ids, source, dim),
        "scatter_add" => target.scatter_add(ids, source, dim),
        "index_add" => target.index_add(ids, source, dim),
        _ => {
            // A fresh target of the operand's own strides, but for broadcast ones.
            let rank = target.rank();
            let overlaps = target.stride().contains(&0);
            let fresh = if rank > 1 && !target.is_contiguous() && !overlaps {
                target
                    .transpose(0, rank - 1)?
                    .copy()?
                    .transpose(0, rank - 1)?
            } else {
                target.copy()?
            };
            match op {
                "scatter_set" => fresh.scatter_set(ids, source, dim)?,
                _ => fresh.scatter_add_set(ids, source, dim)?,
            }
            Ok(fresh)
        }
    }
}

fn case(op: &'static str, target: &[usize], dim: usize, ids: &[usize], id_dtype: DType) -> Case {
    let (add, slices) = (op.contains("add"), op == "index_add");
    let mut source = ids.to_vec();
    if slices {
        source = target.to_vec();
        source[dim] = ids[0];
    }
    let range = Values::Range(0.0, target[dim] as f64 - 0.001);
    // Whole numbers: every order of a sum is exact.
    let whole = |count: usize| Values::List((0..count).map(|at| (at % 3) as f64).collect());
    let values = if add {
        whole(7)
    } else {
        Values::Range(0.0, 100.0)
    };
    Case {
        op,
        dtypes: match source.iter().product::<usize>() {
            0..10_000 => &DType::COMPUTE,
            _ => &FEW,
        },
        inputs: vec![
            Input::new(target, values.clone()),
            Input::of(ids, range, id_dtype),
            Input::new(&source, values),
        ],
        run: Box::new(move |inputs| run(op, inputs, dim)),
        reference: Box::new(move |inputs| reference(inputs, dim, add, slices)),
        tolerance: Tolerance::EXACT,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut push = |op: &'static str, target: &[usize], dim: usize, ids: &[usize], id_dtype| {
        cases.push(case(op, target, dim, ids, id_dtype));
    };
    for op in SCATTERS {
        for id_dtype in ID_DTYPES {
            push(op, &[5, 4], 1, &[5, 3], id_dtype);
        }
        for (target, dim, ids) in [
            (&[1][..], 0, &[1][..]),
            (&[7], 0, &[0]),
            (&[0, 3], 1, &[0, 2]),
            (&[9], 0, &[9]),
            (&[3, 5, 2], 1, &[2, 7, 2]),
            (&[6, 4, 3], 0, &[5, 4, 1]),
            (&[300, 150], 1, &[300, 140]),
            (&[700, 70], 0, &[600, 70]),
            (
                &[1, 2, 1, 2, 1, 2, 1, 5, 3],
                7,
                &[1, 2, 1, 2, 1, 2, 1, 4, 3],
            ),
        ] {
            push(op, target, dim, ids, DType::U32);
        }
        // Threads take columns.
        for id_dtype in [DType::U32, DType::I64] {
            push(op, &[40, 901], 0, &[50, 901], id_dtype);
        }
    }
    for id_dtype in ID_DTYPES {
        push("index_add", &[5, 4], 0, &[6], id_dtype);
    }
    for (target, dim, count) in [
        (&[1][..], 0, 1),
        (&[7], 0, 0),
        (&[4, 0], 0, 3),
        (&[3, 5, 2], 1, 7),
        (&[3, 5, 2], 2, 3),
        (&[500, 130], 0, 300),
        (&[70, 900], 1, 600),
        (&[1, 2, 1, 2, 1, 2, 1, 5, 3], 7, 4),
    ] {
        push("index_add", target, dim, &[count], DType::U32);
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let mut target = draw.dims_of(1..=9, 0);
    let dim = draw.number("dim", 0, target.len() - 1);
    // A u8 names 256 slices.
    target[dim] = target[dim].clamp(1, 256);
    let id_dtype = draw.pick("ids", &ID_DTYPES);
    let count = draw.size(0).min(60);
    let mut drawn = match SCATTERS.get(draw.below(5)) {
        None => case("index_add", &target, dim, &[count], id_dtype),
        Some(op) => {
            let mut ids = target.clone();
            for (at, size) in ids.iter_mut().enumerate() {
                match at == dim {
                    true => *size = count,
                    false => *size -= if draw.rarely(4) { draw.below(*size) } else { 0 },
                }
            }
            case(op, &target, dim, &ids, id_dtype)
        }
    };
    // f8e4m3 has no whole number between 16 and 18: a sum of eight twos may pass that.
    if count > 7 {
        drawn.dtypes = &FEW;
    }
    drawn
}
