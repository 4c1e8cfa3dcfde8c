//! Padding along a dimension, with zeros or with the outermost slices repeated.

use crate::ops::{Family, OpInfo};
use crate::shape::Dim;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
use crate::{DType, Error, Result, Tensor};

/// The entry in [`ALL`](crate::ops::ALL).
pub const FAMILY: Family = Family {
    name: "pad",
    ops: &[
        OpInfo {
            name: "pad_with_zeros",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "pad_with_same",
            dtypes: &DType::COMPUTE,
        },
    ],
    cases,
    draw,
};

impl Tensor {
    /// `left` zeros in front of a dimension and `right` behind.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
    /// assert_eq!(x.pad_with_zeros(0, 1, 2)?.to_vec1::<f32>()?, [0., 1., 2., 0., 0.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn pad_with_zeros<D: Dim>(&self, dim: D, left: usize, right: usize) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "pad_with_zeros")?;
        let zeros = |count: usize| {
            let mut dims = self.dims().to_vec();
            dims[dim] = count;
            // One zero, shown wherever it is wanted.
            let rank = vec![1; dims.len()];
            Tensor::zeros(rank, self.dtype(), self.device())?.broadcast_as(dims)
        };
        match (left, right) {
            (0, 0) => Ok(self.clone()),
            _ => Tensor::cat(&[zeros(left)?, self.clone(), zeros(right)?], dim),
        }
    }

    /// The first slice of a dimension `left` times in front, and the last `right` times behind.
    /// Errors if the tensor is empty.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
    /// assert_eq!(x.pad_with_same(0, 1, 2)?.to_vec1::<f32>()?, [1., 1., 2., 2., 2.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn pad_with_same<D: Dim>(&self, dim: D, left: usize, right: usize) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "pad_with_same")?;
        if (left, right) == (0, 0) {
            return Ok(self.clone());
        }
        if self.elem_count() == 0 {
            return Err(Error::EmptyTensor {
                op: "pad_with_same",
            });
        }
        let repeated = |at: usize, count: usize| {
            let mut dims = self.dims().to_vec();
            dims[dim] = count;
            self.narrow(dim, at, 1)?.broadcast_as(dims)
        };
        let (first, last) = (repeated(0, left)?, repeated(self.dims()[dim] - 1, right)?);
        Tensor::cat(&[first, self.clone(), last], dim)
    }
}

fn case(same: bool, dims: &[usize], dim: usize, [left, right]: [usize; 2]) -> Case {
    Case {
        op: if same {
            "pad_with_same"
        } else {
            "pad_with_zeros"
        },
        dtypes: &DType::COMPUTE,
        inputs: vec![Input::new(dims, Values::Range(0.0, 100.0))],
        run: Box::new(move |inputs| match same {
            true => inputs[0].pad_with_same(dim, left, right),
            false => inputs[0].pad_with_zeros(dim, left, right),
        }),
        reference: Box::new(move |inputs: &[Array]| {
            let size = inputs[0].dims[dim];
            let mut padded = inputs[0].dims.clone();
            padded[dim] += left + right;
            Array::from_fn(&padded, |index| {
                let mut own = index.to_vec();
                own[dim] = index[dim].saturating_sub(left).min(size.saturating_sub(1));
                let inside = (left..left + size).contains(&index[dim]);
                if same || inside {
                    inputs[0].at(&own)
                } else {
                    0.0
                }
            })
        }),
        tolerance: Tolerance::EXACT,
    }
}

fn cases() -> Vec<Case> {
    let shapes: [(&[usize], usize, [usize; 2]); 6] = [
        (&[5], 0, [2, 3]),
        (&[2, 3], 0, [0, 1]),
        (&[2, 3], 1, [4, 0]),
        (&[2, 3, 4], 1, [1, 2]),
        (&[2, 3], 1, [0, 0]),
        (&[1, 2, 1, 2, 1, 2, 1, 2, 3], 8, [2, 1]),
    ];
    shapes
        .into_iter()
        .flat_map(|(dims, dim, around)| [false, true].map(|same| case(same, dims, dim, around)))
        .collect()
}

fn draw(draw: &mut Draw) -> Case {
    let same = draw.flag("same");
    // Nothing cannot be repeated.
    let dims = draw.dims_of(1..=9, usize::from(same));
    let dim = draw.number("dim", 0, dims.len() - 1);
    let around = [draw.number("left", 0, 5), draw.number("right", 0, 5)];
    case(same, &dims, dim, around)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn nothing_cannot_be_repeated() -> Result<()> {
        let x = Tensor::zeros((2, 0), DType::F32, &Device::Cpu)?;
        assert!(x.pad_with_same(1, 1, 0).is_err());
        assert_eq!(x.pad_with_zeros(1, 1, 2)?.dims(), [2, 3]);
        assert!(x.pad_with_zeros(2, 1, 0).is_err());
        Ok(())
    }
}
