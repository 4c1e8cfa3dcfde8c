//! Rounding to a number of decimals: `round(x · 10ᵈ) / 10ᵈ` in f64, rounded once to the dtype.

use crate::ops::{Family, OpInfo};
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
use crate::{DType, Error, Result, Tensor};

/// The entry in [`ALL`](crate::ops::ALL).
pub const FAMILY: Family = Family {
    name: "round_to",
    ops: &[OpInfo {
        name: "round_to",
        dtypes: &DType::COMPUTE,
    }],
    cases,
    draw,
};

/// A power of ten by which every f64 of a smaller magnitude than 2⁵³ can be multiplied, and beyond
/// which no f64 that is not 0 has decimals left to round.
const DECIMALS_MAX: i32 = 290;

impl Tensor {
    /// Each element rounded to so many decimals, halves away from 0; a negative number of decimals
    /// rounds to tens, hundreds. Integers stay as they are, and errors for fewer than 0 decimals.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1.2345f64, 987.6], &Device::Cpu)?;
    /// assert_eq!(x.round_to(2)?.to_vec1::<f64>()?, [1.23, 987.6]);
    /// assert_eq!(x.round_to(-1)?.to_vec1::<f64>()?, [0., 990.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn round_to(&self, decimals: i32) -> Result<Self> {
        let dtype = self.dtype();
        if dtype.is_int() {
            return match decimals {
                0.. => Ok(self.clone()),
                _ => Err(Error::UnsupportedDTypeForOp(dtype, "round_to")),
            };
        }
        if decimals > DECIMALS_MAX {
            return Ok(self.clone());
        }
        let x = self.to_dtype(DType::F64)?;
        // Ten to a whole positive power is the nearest f64, or exact; its reciprocal is not.
        let power = 10f64.powi(decimals.saturating_abs().min(DECIMALS_MAX));
        let power = Tensor::new(power, self.device())?;
        if decimals < 0 {
            let rounded = x.broadcast_div(&power)?.round()?.broadcast_mul(&power)?;
            return rounded.to_dtype(dtype);
        }
        // From 2⁵² on an f64 has no decimals, and its product might overflow.
        let rounded = x.broadcast_mul(&power)?.round()?.broadcast_div(&power)?;
        let has_decimals = x.abs()?.lt(4_503_599_627_370_496.0)?;
        has_decimals.where_cond(&rounded, &x)?.to_dtype(dtype)
    }
}

fn case(dims: &[usize], decimals: i32, values: Values, dtypes: &'static [DType]) -> Case {
    Case {
        op: "round_to",
        dtypes,
        inputs: vec![Input::new(dims, values)],
        run: Box::new(move |inputs| inputs[0].round_to(decimals)),
        reference: Box::new(move |inputs: &[Array]| {
            let power = 10f64.powi(decimals.abs());
            inputs[0].map(|x| match decimals {
                _ if !x.is_finite() || x.abs() > 1e15 => x,
                0.. => (x * power).round() / power,
                _ => (x / power).round() * power,
            })
        }),
        tolerance: Tolerance::ROUNDED,
    }
}

const EDGES: &[f64] = &[
    3e38,
    -3e38,
    f64::INFINITY,
    f64::NAN,
    0.5,
    -2.5,
    16_777_217.0,
];
const EDGE_DTYPES: &[DType] = &[DType::F32, DType::F64];

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for decimals in [0, 1, 2] {
        let (positive, signed) = (Values::Range(0.0, 99.0), Values::Range(-9.0, 9.0));
        cases.push(case(&[5, 17], decimals, positive, &DType::COMPUTE));
        cases.push(case(&[], decimals, signed.clone(), &DType::FLOATS));
        cases.push(case(&[2, 0], decimals, signed, &DType::FLOATS));
    }
    let tens = Values::Range(-99.0, 99.0);
    cases.push(case(&[33], -1, tens, &DType::FLOATS));
    cases.push(case(&[7], 2, Values::List(EDGES.to_vec()), EDGE_DTYPES));
    cases
}

fn draw(draw: &mut Draw) -> Case {
    let (dims, decimals) = (draw.dims(), draw.pick("decimals", &[0, 1, 2]));
    match draw.below(4) {
        0 => case(&dims, decimals, Values::Range(0.0, 99.0), &DType::COMPUTE),
        1 => case(&dims, decimals, Values::Range(-9.0, 9.0), &DType::FLOATS),
        2 => case(&dims, -1, Values::Range(-99.0, 99.0), &DType::FLOATS),
        _ => case(&dims, decimals, Values::List(EDGES.to_vec()), EDGE_DTYPES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn extreme_decimals_are_no_trouble() -> Result<()> {
        let x = Tensor::new(&[1.5f64, 1e300], &Device::Cpu)?;
        assert_eq!(x.round_to(i32::MAX)?.to_vec1::<f64>()?, [1.5, 1e300]);
        assert_eq!(x.round_to(280)?.to_vec1::<f64>()?, [1.5, 1e300]);
        assert_eq!(x.round_to(i32::MIN)?.to_vec1::<f64>()?[0], 0.0);
        assert!(Tensor::new(&[15u8], &Device::Cpu)?.round_to(-1).is_err());
        Ok(())
    }
}
