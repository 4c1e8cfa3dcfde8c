//! Joining references, index by index.

use crate::testing::{Array, Case, Draw, Input, Reference, Run, Tolerance, Values};
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

fn cat(dims: &[&[usize]], dim: usize) -> Case {
    let run: Run = Box::new(move |inputs| Tensor::cat(inputs, dim));
    case(
        "cat",
        dims,
        run,
        Box::new(move |inputs| joined(inputs, dim)),
    )
}

fn stack(dims: &[usize], count: usize, dim: usize) -> Case {
    let run: Run = Box::new(move |inputs| Tensor::stack(inputs, dim));
    let reference: Reference = Box::new(move |inputs| {
        let inputs: Vec<Array> = inputs.iter().map(|input| with_dim(input, dim)).collect();
        joined(&inputs, dim)
    });
    case("stack", &vec![dims; count], run, reference)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = JOINS.iter().map(|&(dims, dim)| cat(dims, dim)).collect();
    let shapes: [(&[usize], usize); 6] = [
        (&[], 0),
        (&[5], 0),
        (&[5], 1),
        (&[3, 4], 1),
        (&[0, 2], 2),
        (&[150, 200], 2),
    ];
    cases.extend(shapes.map(|(dims, dim)| stack(dims, 3, dim)));
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

fn set(inputs: &[Tensor], dim: usize, start: usize) -> Result<Tensor> {
    let target = inputs[0].copy()?;
    target.slice_set(&inputs[1], dim, start).map(|()| target)
}

type Write = (&'static str, fn(&[Tensor], usize, usize) -> Result<Tensor>);

const WRITES: [Write; 3] = [
    ("slice_set", set_transposed),
    ("slice_set", set),
    ("slice_scatter", |inputs, dim, start| {
        inputs[0].slice_scatter(&inputs[1], dim, start)
    }),
];

fn write((op, run): Write, dims: [&[usize]; 2], dim: usize, start: usize) -> Case {
    let reference: Reference = Box::new(move |inputs: &[Array]| {
        let starts = (0..inputs[0].dims.len()).map(|at| if at == dim { start } else { 0 });
        written(&inputs[0], &inputs[1], &starts.collect::<Vec<_>>())
    });
    let run: Run = Box::new(move |inputs| run(inputs, dim, start));
    case(op, &dims, run, reference)
}

fn assign(dims: [&[usize]; 2], starts: &[usize]) -> Case {
    let ranges: Vec<_> = starts
        .iter()
        .zip(dims[1])
        .map(|(&start, &len)| start..start + len)
        .collect();
    let starts = starts.to_vec();
    let run: Run = Box::new(move |inputs| inputs[0].slice_assign(&ranges, &inputs[1]));
    let reference: Reference = Box::new(move |inputs| written(&inputs[0], &inputs[1], &starts));
    case("slice_assign", &dims, run, reference)
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
        cases.extend(WRITES.map(|kind| write(kind, [whole, src], dim, start)));
    }
    cases.push(assign([&[5, 7], &[2, 4]], &[1, 2]));
    // Of no elements, and large enough in two dimensions for a transposed view to go by tiles.
    cases.push(assign([&[3, 11, 9], &[0, 11, 8]], &[1, 0, 1]));
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let least_rank = draw.below(2);
    let mut dims = draw.dims_of(least_rank..=8, 0);
    if least_rank == 0 {
        let (count, dim) = (
            draw.number("count", 1, 4),
            draw.number("dim", 0, dims.len()),
        );
        return stack(&dims, count, dim);
    }
    let dim = draw.number("dim", 0, dims.len() - 1);
    if draw.below(2) == 0 {
        let mut all: Vec<Vec<usize>> = Vec::new();
        for _ in 0..draw.number("count", 1, 4) {
            dims[dim] = draw.size(0).min(40);
            all.push(dims.clone());
        }
        return cat(&all.iter().map(Vec::as_slice).collect::<Vec<_>>(), dim);
    }
    let part = |draw: &mut Draw, size: usize| {
        let len = draw.below(size + 1);
        (draw.number("start", 0, size - len), len)
    };
    if draw.below(2) == 0 {
        let parts: Vec<(usize, usize)> = dims.iter().map(|&size| part(draw, size)).collect();
        let (starts, lens): (Vec<usize>, Vec<usize>) = parts.into_iter().unzip();
        return assign([&dims, &lens], &starts);
    }
    let mut src = dims.clone();
    let (start, len) = part(draw, dims[dim]);
    src[dim] = len;
    let kind = WRITES[draw.below(WRITES.len())];
    write(kind, [&dims, &src], dim, start)
}
