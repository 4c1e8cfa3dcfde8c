//! Joining references, index by index.

use crate::testing::{Array, Case, Input, Reference, Run, Tolerance, Values};
use crate::{DType, Result, Tensor};

fn case(op: &'static str, dims: &[&[usize]], run: Run, reference: Reference) -> Case {
    let values = || Values::Range(0.0, 100.0);
    let inputs = dims.iter().map(|dims| Input::new(dims, values())).collect();
    Case {
        op,
        dtypes: &DType::COMPUTE,
        inputs,
        run,
        reference,
        tolerance: Tolerance::EXACT,
    }
}

/// Walks the operands along the joined dim until the index lies in one.
fn joined(inputs: &[Array], dim: usize) -> Array {
    let mut dims = inputs[0].dims.clone();
    dims[dim] = inputs.iter().map(|input| input.dims[dim]).sum();
    Array::from_fn(&dims, |index| {
        let mut index = index.to_vec();
        let mut operand = 0;
        while index[dim] >= inputs[operand].dims[dim] {
            index[dim] -= inputs[operand].dims[dim];
            operand += 1;
        }
        inputs[operand].at(&index)
    })
}

fn with_dim(array: &Array, dim: usize) -> Array {
    let mut dims = array.dims.clone();
    dims.insert(dim, 1);
    Array {
        dims,
        data: array.data.clone(),
    }
}

/// `src` over the part of `whole` that starts at these indexes.
fn written(whole: &Array, src: &Array, starts: &[usize]) -> Array {
    Array::from_fn(&whole.dims, |index| {
        let own: Option<Vec<usize>> = index
            .iter()
            .zip(starts)
            .map(|(at, start)| at.checked_sub(*start))
            .collect();
        match own.filter(|own| own.iter().zip(&src.dims).all(|(at, size)| at < size)) {
            Some(own) => src.at(&own),
            None => whole.at(index),
        }
    })
}

/// Shapes and the dim that they are joined along.
const JOINS: &[(&[&[usize]], usize)] = &[
    (&[&[3], &[4]], 0),
    (&[&[2, 3], &[4, 3], &[1, 3]], 0),
    (&[&[5, 3], &[5, 1], &[5, 0], &[5, 8]], 1),
    (&[&[2, 3, 4], &[2, 2, 4]], 1),
    (&[&[0, 3], &[0, 2]], 1),
    (&[&[40, 1], &[40, 1]], 1),
    (
        &[&[2, 1, 2, 3, 1, 2, 1, 2, 1], &[2, 1, 2, 1, 1, 2, 1, 2, 1]],
        3,
    ),
    (&[&[300, 150], &[300, 75]], 1),
    (&[&[40_000], &[30_001]], 0),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &(dims, dim) in JOINS {
        let run: Run = Box::new(move |inputs| Tensor::cat(inputs, dim));
        cases.push(case(
            "cat",
            dims,
            run,
            Box::new(move |inputs| joined(inputs, dim)),
        ));
    }
    let shapes: [(&[usize], usize); 6] = [
        (&[], 0),
        (&[5], 0),
        (&[5], 1),
        (&[3, 4], 1),
        (&[0, 2], 2),
        (&[150, 200], 2),
    ];
    for (dims, dim) in shapes {
        let run: Run = Box::new(move |inputs| Tensor::stack(inputs, dim));
        let reference: Reference = Box::new(move |inputs| {
            let inputs: Vec<Array> = inputs.iter().map(|input| with_dim(input, dim)).collect();
            joined(&inputs, dim)
        });
        cases.push(case("stack", &[dims, dims, dims], run, reference));
    }
    cases.extend(writes());
    cases
}

/// `slice_set` into a transposed copy, so that the target has strides of its own.
fn set_transposed(inputs: &[Tensor], dim: usize, start: usize) -> Result<Tensor> {
    let order: Vec<usize> = (0..inputs[0].rank()).rev().collect();
    let target = inputs[0].permute(order.clone())?.copy()?.permute(order)?;
    target.slice_set(&inputs[1], dim, start)?;
    Ok(target)
}

fn writes() -> Vec<Case> {
    let shapes: [(&[usize], &[usize], usize, usize); 6] = [
        (&[5], &[2], 0, 3),
        (&[4, 6], &[2, 6], 0, 1),
        (&[4, 6], &[4, 3], 1, 2),
        (&[2, 3, 4], &[2, 0, 4], 1, 3),
        (&[2, 3, 4], &[2, 3, 4], 2, 0),
        (&[200, 300], &[200, 170], 1, 120),
    ];
    let mut cases = Vec::new();
    for (whole, src, dim, start) in shapes {
        let starts = move |rank: usize| {
            (0..rank)
                .map(|at| if at == dim { start } else { 0 })
                .collect()
        };
        let reference = move || -> Reference {
            Box::new(move |inputs: &[Array]| {
                let starts: Vec<usize> = starts(inputs[0].dims.len());
                written(&inputs[0], &inputs[1], &starts)
            })
        };
        let run = |run: fn(&[Tensor], usize, usize) -> Result<Tensor>| -> Run {
            Box::new(move |inputs| run(inputs, dim, start))
        };
        let dims = [whole, src];
        cases.push(case("slice_set", &dims, run(set_transposed), reference()));
        let set = |inputs: &[Tensor], dim: usize, start: usize| {
            let target = inputs[0].copy()?;
            target.slice_set(&inputs[1], dim, start).map(|()| target)
        };
        cases.push(case("slice_set", &dims, run(set), reference()));
        let scatter = |inputs: &[Tensor], dim: usize, start: usize| {
            inputs[0].slice_scatter(&inputs[1], dim, start)
        };
        cases.push(case("slice_scatter", &dims, run(scatter), reference()));
    }
    let assign: Run = Box::new(|inputs| inputs[0].slice_assign(&[1..3, 2..6], &inputs[1]));
    let reference: Reference = Box::new(|inputs| written(&inputs[0], &inputs[1], &[1, 2]));
    cases.push(case("slice_assign", &[&[5, 7], &[2, 4]], assign, reference));
    cases
}
