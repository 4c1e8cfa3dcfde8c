//! `log Σ e^x` over dimensions, without overflow: `m + log Σ e^(x - m)`, m the greatest element.
//!
//! Where the greatest element is infinite, m is 0: a row of -∞ gives -∞, a row with +∞ gives +∞. A
//! NaN gives NaN; no elements give -∞, the logarithm of an empty sum. The gradient passes m by: it
//! cancels.

use crate::ops::{Family, OpInfo};
use crate::shape::Dims;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values, sum};
use crate::{DType, Error, Result, Tensor};

/// The entry in [`ALL`](crate::ops::ALL).
pub const FAMILY: Family = Family {
    name: "log_sum_exp",
    ops: &[OpInfo {
        name: "log_sum_exp",
        dtypes: &DType::FLOATS,
    }],
    cases,
    draw,
};

impl Tensor {
    /// The logarithm of the sum of exponentials over some dimensions, which disappear. Errors for
    /// integers.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let inf = f32::INFINITY;
    /// let x = Tensor::new(&[[1000f32, 1000.], [-inf, -inf], [inf, 3.]], &Device::Cpu)?;
    /// let sums = x.log_sum_exp(1)?.to_vec1::<f32>()?;
    /// assert!((sums[0] - 1000.6931).abs() < 1e-3 && sums[1..] == [-inf, inf]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn log_sum_exp<D: Dims>(&self, sum_dims: D) -> Result<Self> {
        let dims = sum_dims.to_indexes(self.shape(), "log_sum_exp")?;
        let dtype = self.dtype();
        if !dtype.is_float() {
            return Err(Error::UnsupportedDTypeForOp(dtype, "log_sum_exp"));
        }
        if dims.iter().any(|&dim| self.dims()[dim] == 0) {
            return self.sum(dims)?.log();
        }
        // The narrow dtypes are rounded once, at the end.
        let x = match dtype {
            DType::F64 | DType::F32 => self.clone(),
            _ => self.to_dtype(DType::F32)?,
        };
        let mut greatest = x.detach();
        for &dim in &dims {
            greatest = greatest.max_keepdim(dim)?;
        }
        let finite = greatest.abs()?.lt(f64::INFINITY)?;
        let greatest = finite.where_cond(&greatest, &greatest.zeros_like()?)?;
        let sums = x.broadcast_sub(&greatest)?.exp()?.sum(dims)?;
        let result = sums.log()?.add(&greatest.reshape(sums.shape())?)?;
        result.to_dtype(dtype)
    }
}

fn reference(x: &Array, dims: &[usize]) -> Array {
    let mut kept = x.dims.clone();
    dims.iter().for_each(|&dim| kept[dim] = 1);
    let reduced: Vec<usize> = (0..x.dims.len())
        .map(|dim| if dims.contains(&dim) { x.dims[dim] } else { 1 })
        .collect();
    let data = Array::from_fn(&kept, |index| {
        let mut values = Vec::new();
        Array::from_fn(&reduced, |inner| {
            let place: Vec<usize> = index.iter().zip(inner).map(|(a, b)| a + b).collect();
            values.push(x.at(&place));
            0.0
        });
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if values.iter().any(|value| value.is_nan()) {
            f64::NAN
        } else if greatest.is_infinite() {
            greatest
        } else {
            greatest + sum(values.iter().map(|x| (x - greatest).exp())).ln()
        }
    })
    .data;
    let dims = (0..x.dims.len())
        .filter(|dim| !dims.contains(dim))
        .map(|dim| x.dims[dim])
        .collect();
    Array { dims, data }
}

fn case(dims: &[usize], over: &[usize], values: Values, dtypes: &'static [DType]) -> Case {
    let (own, same) = (over.to_vec(), over.to_vec());
    Case {
        op: "log_sum_exp",
        dtypes,
        inputs: vec![Input::new(dims, values)],
        run: Box::new(move |inputs| inputs[0].log_sum_exp(own.as_slice())),
        reference: Box::new(move |inputs: &[Array]| reference(&inputs[0], &same)),
        tolerance: Tolerance::units(8.0, 8.0),
    }
}

fn edges() -> Values {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    Values::List(vec![
        -inf, -inf, -inf, inf, 0.0, 1.0, -inf, 1.0, 2.0, nan, inf, 0.0, inf, -inf, inf,
    ])
}

/// Those that hold infinities.
const INFINITE: &[DType] = &[DType::F32, DType::F64, DType::F16, DType::BF16];

const RANGES: [Values; 2] = [Values::Range(-9.0, 9.0), Values::Range(-400.0, 400.0)];

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let shapes: [(&[usize], &[usize]); 9] = [
        (&[], &[]),
        (&[1], &[0]),
        (&[3, 0], &[1]),
        (&[0, 3], &[1]),
        (&[5, 33], &[1]),
        (&[5, 33], &[0]),
        (&[3, 4, 5], &[2, 0]),
        (&[2, 700], &[1]),
        (&[1, 2, 1, 2, 1, 2, 1, 2, 3], &[7, 8]),
    ];
    for (dims, over) in shapes {
        cases.extend(RANGES.map(|range| case(dims, over, range, &DType::FLOATS)));
    }
    cases.push(case(&[5, 3], &[1], edges(), INFINITE));
    cases
}

fn draw(draw: &mut Draw) -> Case {
    let dims = draw.dims();
    let over = draw.some_dims("over", dims.len());
    match draw.below(3) {
        2 => case(&dims, &over, edges(), INFINITE),
        at => case(&dims, &over, RANGES[at].clone(), &DType::FLOATS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn integers_and_bad_dims_are_errors() -> Result<()> {
        let x = Tensor::new(&[[1u32, 2]], &Device::Cpu)?;
        assert!(x.log_sum_exp(1).is_err());
        assert!(x.to_dtype(DType::F32)?.log_sum_exp((1, 1)).is_err());
        assert!(x.to_dtype(DType::F32)?.log_sum_exp(2).is_err());
        Ok(())
    }
}
