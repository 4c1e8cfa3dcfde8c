//! Rotating the slices of a dimension.

use crate::ops::{Family, OpInfo};
use crate::shape::Dim;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
use crate::{DType, Result, Tensor};

/// The entry in [`ALL`](crate::ops::ALL).
pub const FAMILY: Family = Family {
    name: "roll",
    ops: &[OpInfo {
        name: "roll",
        dtypes: &DType::COMPUTE,
    }],
    cases,
    draw,
};

impl Tensor {
    /// The slices of a dimension moved by `shift` places towards the end (towards the start if it
    /// is negative); those that pass an end come in at the other.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1u8, 2, 3], &Device::Cpu)?;
    /// assert_eq!(x.roll(1, 0)?.to_vec1::<u8>()?, [3, 1, 2]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn roll<D: Dim>(&self, shift: i32, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "roll")?;
        let size = self.dims()[dim];
        if size == 0 {
            return Ok(self.clone());
        }
        // Memory holds fewer than 2⁶³ slices, and a remainder is less than their number.
        let moved = i64::from(shift).rem_euclid(size as i64) as usize;
        if moved == 0 {
            return Ok(self.clone());
        }
        let (head, tail) = (
            self.narrow(dim, 0, size - moved)?,
            self.narrow(dim, size - moved, moved)?,
        );
        Tensor::cat(&[tail, head], dim)
    }
}

fn case(dims: &[usize], shift: i32, dim: usize) -> Case {
    Case {
        op: "roll",
        dtypes: &DType::COMPUTE,
        inputs: vec![Input::new(dims, Values::Range(0.0, 100.0))],
        run: Box::new(move |inputs| inputs[0].roll(shift, dim)),
        reference: Box::new(move |inputs: &[Array]| {
            let dims = &inputs[0].dims;
            Array::from_fn(dims, |index| {
                let mut own = index.to_vec();
                let from = index[dim] as i64 - i64::from(shift);
                own[dim] = from.rem_euclid(dims[dim] as i64) as usize;
                inputs[0].at(&own)
            })
        }),
        tolerance: Tolerance::EXACT,
    }
}

fn cases() -> Vec<Case> {
    let shapes: [(&[usize], i32, usize); 6] = [
        (&[5], 2, 0),
        (&[5], -7, 0),
        (&[2, 3, 4], 1, 1),
        (&[2, 3], i32::MIN, 1),
        (&[0, 3], 1, 0),
        (&[1, 2, 1, 2, 1, 2, 1, 2, 3], 1, 8),
    ];
    shapes
        .map(|(dims, shift, dim)| case(dims, shift, dim))
        .into()
}

fn draw(draw: &mut Draw) -> Case {
    let dims = draw.dims_of(1..=9, 0);
    let dim = draw.number("dim", 0, dims.len() - 1);
    let shift = draw.pick(
        "shift",
        &[0, 1, -1, 2, -3, 7, 100, -1000, i32::MAX, i32::MIN],
    );
    case(&dims, shift, dim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn a_dim_out_of_range_is_an_error() -> Result<()> {
        assert!(Tensor::new(&[1f32], &Device::Cpu)?.roll(1, 1).is_err());
        Ok(())
    }
}
