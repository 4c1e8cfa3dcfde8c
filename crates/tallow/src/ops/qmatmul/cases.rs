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

pub(super) fn cases() -> Vec<Case> {
    use GgmlDType::{BF16, F16, F32, Q2K, Q3K, Q4_0, Q4_1, Q4K, Q5_0, Q5_1, Q5K, Q6K, Q8_0};
    let mut cases = Vec::new();
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
                // An activation in -1 to 1 is off by up to 1/254 once it has 8 bits. The errors of
                // `columns` of them, times weights of at most 1, add up like a random walk.
                tolerance: Tolerance::units(
                    0.0,
                    (columns as f64).sqrt() * 4.0 / 254.0 * 8_388_608.0,
                ),
            });
        }
    }
    cases
}
