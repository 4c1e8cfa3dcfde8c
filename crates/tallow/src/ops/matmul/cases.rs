//! The reference is the triple loop.

use crate::DType;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values, sum};

fn matmul(lhs: &Array, rhs: &Array) -> Array {
    let (lhs_rank, rhs_rank) = (lhs.dims.len(), rhs.dims.len());
    let inner = lhs.dims[lhs_rank - 1];
    let batch = |dims: &[usize], at: usize, rank: usize| {
        (at + dims.len() - 2)
            .checked_sub(rank)
            .map_or(1, |dim| dims[dim])
    };
    let rank = lhs_rank.max(rhs_rank) - 2;
    let mut dims: Vec<usize> = (0..rank)
        .map(
            |at| match (batch(&lhs.dims, at, rank), batch(&rhs.dims, at, rank)) {
                (1, right) => right,
                (left, _) => left,
            },
        )
        .collect();
    dims.extend([lhs.dims[lhs_rank - 2], rhs.dims[rhs_rank - 1]]);
    Array::from_fn(&dims, |index| {
        let (batch, cell) = index.split_at(rank);
        let product = |at: usize| {
            let left = lhs.at_broadcast(&[batch, &[cell[0], at]].concat());
            left * rhs.at_broadcast(&[batch, &[at, cell[1]]].concat())
        };
        sum((0..inner).map(product))
    })
}

fn case(op: &'static str, lhs: &[usize], rhs: &[usize]) -> Case {
    let inner = lhs[lhs.len() - 1];
    Case {
        op,
        dtypes: &DType::FLOATS,
        inputs: vec![
            Input::new(lhs, Values::Range(-1.0, 1.0)),
            Input::new(rhs, Values::Range(-1.0, 1.0)),
        ],
        run: Box::new(move |inputs| match op {
            "matmul" => inputs[0].matmul(&inputs[1]),
            _ => inputs[0].broadcast_matmul(&inputs[1]),
        }),
        reference: Box::new(|inputs| matmul(&inputs[0], &inputs[1])),
        tolerance: Tolerance::of_products(inner),
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let same_batch: &[(&[usize], &[usize])] = &[
        (&[1, 1], &[1, 1]),
        (&[2, 3], &[3, 4]),
        (&[0, 3], &[3, 4]),
        (&[2, 0], &[0, 4]),
        (&[2, 3], &[3, 0]),
        (&[3, 2, 0], &[3, 0, 4]),
        (&[1, 70], &[70, 33]),
        (&[37, 70], &[70, 1]),
        (&[35, 67], &[67, 50]),
        // A vector on either side, longer than what a group of threads takes at once, and rows and
        // columns enough for the largest tiles.
        (&[1, 1100], &[1100, 3]),
        (&[9, 300], &[300, 1]),
        (&[2, 1, 40], &[2, 40, 70]),
        (&[3, 1, 130], &[3, 130, 1]),
        (&[70, 40], &[40, 90]),
        (&[40, 33], &[33, 9]),
        (&[3, 5, 7], &[3, 7, 2]),
        (&[0, 5, 7], &[0, 7, 2]),
        (&[2, 1, 3, 4, 5], &[2, 1, 3, 5, 6]),
        (&[1, 2, 1, 1, 2, 1, 1, 3, 4], &[1, 2, 1, 1, 2, 1, 1, 4, 2]),
    ];
    let broadcast: &[(&[usize], &[usize])] = &[
        (&[3, 5, 7], &[7, 2]),
        (&[5, 7], &[3, 7, 2]),
        (&[2, 1, 3, 4], &[5, 4, 2]),
        (&[1, 3, 4], &[2, 4, 1]),
    ];
    let plain = same_batch.iter().map(|&shapes| ("matmul", shapes));
    for (op, (lhs, rhs)) in
        plain.chain(broadcast.iter().map(|&shapes| ("broadcast_matmul", shapes)))
    {
        cases.push(case(op, lhs, rhs));
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    // The reference takes rows · inner · columns steps for each of them.
    const BATCH_MAX: usize = 20;
    let batch: Vec<usize> = match draw.dims_of(0..=7, 0) {
        dims if dims.iter().product::<usize>() > BATCH_MAX => vec![dims[0].min(BATCH_MAX)],
        dims => dims,
    };
    let [rows, inner, columns] = [draw.size(0), draw.size(0), draw.size(0)];
    let (op, left, right) = match draw.below(2) {
        0 => ("matmul", batch.clone(), batch),
        _ => (
            "broadcast_matmul",
            draw.narrower(&batch),
            draw.narrower(&batch),
        ),
    };
    let (lhs, rhs) = ([left, vec![rows, inner]], [right, vec![inner, columns]]);
    case(op, &lhs.concat(), &rhs.concat())
}
