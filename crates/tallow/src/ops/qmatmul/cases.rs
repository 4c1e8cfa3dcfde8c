//! The reference multiplies with the unpacked weights in f64.

use crate::quantized::{GgmlDType, QMatMul, QTensor};
use crate::testing::{Array, Case, Input, Tolerance, Values};
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

fn expert_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (format, experts, x, slots, id_dtype) in [
        (GgmlDType::Q4K, 4, [5, 1, 256], 2, DType::U32),
        (GgmlDType::Q8_0, 3, [2, 3, 64], 3, DType::I64),
        (GgmlDType::F16, 1, [1, 1, 32], 1, DType::U8),
        (GgmlDType::F32, 2, [0, 1, 32], 2, DType::U32),
        (GgmlDType::Q4_0, 6, [40, 1, 32], 4, DType::U32),
    ] {
        let weight = Input::new(&[experts, 7, x[2]], Values::Range(-1.0, 1.0)).array(78);
        let packed = weight
            .to_tensor(DType::F32)
            .and_then(|weight| QTensor::quantize(&weight, format));
        let unpacked = |packed: &QTensor| Array::from_tensor(&packed.dequantize(&Device::Cpu)?);
        // The format and the sizes are right by construction.
        let Ok((packed, unpacked)) = packed.and_then(|p| unpacked(&p).map(|u| (p, u))) else {
            continue;
        };
        let ids = Values::Range(0.0, experts as f64 - 0.001);
        cases.push(Case {
            op: "indexed_moe_forward",
            dtypes: &[DType::F32],
            inputs: vec![
                Input::new(&x, Values::Range(-1.0, 1.0)),
                Input::of(&[x[0], slots], ids, id_dtype),
            ],
            run: Box::new(move |inputs| packed.indexed_moe_forward(&inputs[0], &inputs[1])),
            reference: Box::new(move |inputs| expert_product(&inputs[0], &inputs[1], &unpacked)),
            tolerance: tolerance(x[2]),
        });
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    use GgmlDType::{BF16, F16, F32, Q2K, Q3K, Q4_0, Q4_1, Q4K, Q5_0, Q5_1, Q5K, Q6K, Q8_0};
    let mut cases = expert_cases();
    for format in [
        F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2K, Q3K, Q4K, Q5K, Q6K,
    ] {
        for dims in [
            vec![256],
            vec![1, 1, 256],
            vec![3, 256],
            vec![2, 0, 256],
            vec![2, 19, 512],
        ] {
            let columns = dims[dims.len() - 1];
            // The format and the sizes are right by construction.
            let Ok((matrix, unpacked)) = weight(format, 37, columns) else {
                continue;
            };
            cases.push(Case {
                op: "qmatmul",
                dtypes: &[DType::F32],
                inputs: vec![Input::new(&dims, Values::Range(-1.0, 1.0))],
                run: Box::new(move |inputs| matrix.forward(&inputs[0])),
                reference: Box::new(move |inputs| product(&inputs[0], &unpacked)),
                tolerance: tolerance(columns),
            });
        }
    }
    cases
}
