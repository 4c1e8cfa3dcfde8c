//! The reference multiplies with the unpacked weights in f64.

use crate::quantized::{GgmlDType, QMatMul, QTensor};
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
use crate::{DType, Device, Result};
use std::sync::Arc;

/// A weight matrix `[rows, columns]`, and its values once unpacked.
fn weight(format: GgmlDType, rows: usize, columns: usize) -> Result<(QMatMul, Array)> {
    let values = Input::new(&[rows, columns], Values::Range(-1.0, 1.0)).array(77);
    let packed = QTensor::quantize(&values.to_tensor(DType::F32)?, format)?;
    let unpacked = Array::from_tensor(&packed.dequantize(&Device::Cpu)?)?;
    Ok((QMatMul::from_arc(Arc::new(packed))?, unpacked))
}

fn product(x: &Array, weight: &Array) -> Array {
    let rank = x.dims.len();
    let mut dims = x.dims.clone();
    dims[rank - 1] = weight.dims[0];
    Array::from_fn(&dims, |index| {
        let (batch, row) = (&index[..rank - 1], index[rank - 1]);
        (0..x.dims[rank - 1])
            .map(|at| x.at(&[batch, &[at]].concat()) * weight.at(&[row, at]))
            .sum()
    })
}

/// An activation in -1 to 1 is off by up to 1/254 once it has 8 bits. The errors of `columns` of
/// them, times weights of at most 1, add up like a random walk.
fn tolerance(columns: usize) -> Tolerance {
    Tolerance::units(0.0, (columns as f64).sqrt() * 4.0 / 254.0 * 8_388_608.0)
}

/// `out[t, s] = x[t, s or 0] · weight[ids[t, s]]ᵀ`
fn expert_product(x: &Array, ids: &Array, weight: &Array) -> Array {
    let [tokens, slots] = [ids.dims[0], ids.dims[1]];
    Array::from_fn(&[tokens, slots, weight.dims[1]], |index| {
        let [token, slot, row] = [index[0], index[1], index[2]];
        let expert = ids.at(&[token, slot]) as usize;
        (0..x.dims[2])
            .map(|at| x.at(&[token, slot % x.dims[1], at]) * weight.at(&[expert, row, at]))
            .sum()
    })
}

/// The experts' format, their number, the activations' sizes, slots and the dtype of the ids.
type Experts = (GgmlDType, usize, [usize; 3], usize, DType);

/// None if the format cannot hold rows of that size.
fn expert_case((format, experts, x, slots, id_dtype): Experts) -> Option<Case> {
    let weight = Input::new(&[experts, 7, x[2]], Values::Range(-1.0, 1.0)).array(78);
    let packed = QTensor::quantize(&weight.to_tensor(DType::F32).ok()?, format).ok()?;
    let unpacked = Array::from_tensor(&packed.dequantize(&Device::Cpu).ok()?).ok()?;
    let ids = Values::Range(0.0, experts as f64 - 0.001);
    Some(Case {
        op: "indexed_moe_forward",
        dtypes: &[DType::F32],
        inputs: vec![
            Input::new(&x, Values::Range(-1.0, 1.0)),
            Input::of(&[x[0], slots], ids, id_dtype),
        ],
        run: Box::new(move |inputs| {
            let there = packed.to_device(inputs[0].device());
            there.indexed_moe_forward(&inputs[0], &inputs[1])
        }),
        reference: Box::new(move |inputs| expert_product(&inputs[0], &inputs[1], &unpacked)),
        tolerance: tolerance(x[2]),
    })
}

fn case(format: GgmlDType, rows: usize, dims: &[usize]) -> Option<Case> {
    let columns = *dims.last()?;
    let (matrix, unpacked) = weight(format, rows, columns).ok()?;
    Some(Case {
        op: "qmatmul",
        dtypes: &[DType::F32],
        inputs: vec![Input::new(dims, Values::Range(-1.0, 1.0))],
        run: Box::new(move |inputs| matrix.to_device(inputs[0].device())?.forward(&inputs[0])),
        reference: Box::new(move |inputs| product(&inputs[0], &unpacked)),
        tolerance: tolerance(columns),
    })
}

const FORMATS: [GgmlDType; 13] = {
    use GgmlDType::{BF16, F16, F32, Q2K, Q3K, Q4_0, Q4_1, Q4K, Q5_0, Q5_1, Q5K, Q6K, Q8_0};
    [
        F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2K, Q3K, Q4K, Q5K, Q6K,
    ]
};

pub(super) fn cases() -> Vec<Case> {
    let experts: [Experts; 5] = [
        (GgmlDType::Q4K, 4, [5, 1, 256], 2, DType::U32),
        (GgmlDType::Q8_0, 3, [2, 3, 64], 3, DType::I64),
        (GgmlDType::F16, 1, [1, 1, 32], 1, DType::U8),
        (GgmlDType::F32, 2, [0, 1, 32], 2, DType::U32),
        (GgmlDType::Q4_0, 6, [40, 1, 32], 4, DType::U32),
    ];
    let mut cases: Vec<Case> = experts.into_iter().filter_map(expert_case).collect();
    for format in FORMATS {
        for dims in [
            &[256][..],
            &[1, 1, 256],
            &[3, 256],
            &[2, 0, 256],
            &[2, 19, 512],
        ] {
            cases.extend(case(format, 37, dims));
        }
    }
    // More than a tile along each side.
    for format in [GgmlDType::Q4_1, GgmlDType::Q8_0, GgmlDType::F16] {
        cases.extend(case(format, 67, &[66, 288]));
        cases.extend(case(format, 70, &[11, 288]));
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let format = draw.pick("format", &FORMATS);
    let columns = draw.number("blocks", 1, 3) * format.block_size().max(32);
    let drawn = match draw.flag("experts") {
        true => {
            let slots = draw.number("slots", 1, 4);
            let own = if draw.flag("x of each slot") {
                slots
            } else {
                1
            };
            let x = [draw.size(0).min(40), own, columns];
            let id_dtype = draw.pick("ids", &[DType::U32, DType::U8, DType::I64]);
            expert_case((format, draw.number("experts", 1, 5), x, slots, id_dtype))
        }
        false => {
            let mut dims = draw.dims_of(1..=3, 0);
            dims.iter_mut().for_each(|size| *size = (*size).min(20));
            dims.pop();
            dims.push(columns);
            case(format, draw.number("rows", 1, 40), &dims)
        }
    };
    drawn.expect("the format and the sizes fit by construction")
}
