//! The unbiased variance along a dimension: `Σ (x - mean)² / (n - 1)`.
//!
//! Two passes, so that a large mean costs no digits. Of one element and of none it is NaN.

use crate::ops::{Family, OpInfo};
use crate::shape::Dim;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values, sum};
use crate::{DType, Error, Result, Tensor};

/// The entry in [`ALL`](crate::ops::ALL).
pub const FAMILY: Family = Family {
    name: "variance",
    ops: &[
        OpInfo {
            name: "var",
            dtypes: &DType::FLOATS,
        },
        OpInfo {
            name: "var_keepdim",
            dtypes: &DType::FLOATS,
        },
    ],
    cases,
    draw,
};

impl Tensor {
    /// The unbiased variance along a dimension, which keeps size 1. NaN of fewer than two elements.
    /// Errors for integers.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2., 3.]], &Device::Cpu)?;
    /// assert_eq!(x.var_keepdim(1)?.to_vec2::<f32>()?, [[1.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn var_keepdim<D: Dim>(&self, dim: D) -> Result<Self> {
        let (dim, dtype) = (dim.to_index(self.shape(), "var")?, self.dtype());
        if !dtype.is_float() {
            return Err(Error::UnsupportedDTypeForOp(dtype, "var"));
        }
        // The narrow dtypes are rounded once, at the end.
        let x = match dtype {
            DType::F64 | DType::F32 => self.clone(),
            _ => self.to_dtype(DType::F32)?,
        };
        let scale = match self.dims()[dim] {
            0 | 1 => f64::NAN,
            count => 1.0 / (count - 1) as f64,
        };
        let deviations = x.broadcast_sub(&x.mean_keepdim(dim)?)?;
        let variance = deviations.sqr()?.sum_keepdim(dim)?.affine(scale, 0.0)?;
        variance.to_dtype(dtype)
    }

    /// The unbiased variance along a dimension, which disappears. NaN of fewer than two elements.
    /// Errors for integers.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2., 3.], [4., 4., 4.]], &Device::Cpu)?;
    /// assert_eq!(x.var(1)?.to_vec1::<f32>()?, [1., 0.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn var<D: Dim>(&self, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "var")?;
        self.var_keepdim(dim)?.squeeze(dim)
    }
}

fn reference(x: &Array, dim: usize, keep: bool) -> Array {
    let mut dims = x.dims.clone();
    dims[dim] = 1;
    let mut variance = Array::from_fn(&dims, |index| {
        let at = |place: usize| {
            let mut index = index.to_vec();
            index[dim] = place;
            x.at(&index)
        };
        let count = x.dims[dim] as f64;
        let mean = sum((0..x.dims[dim]).map(at)) / count;
        let squares = (0..x.dims[dim]).map(|place| (at(place) - mean).powi(2));
        match x.dims[dim] {
            0 | 1 => f64::NAN,
            _ => sum(squares) / (count - 1.0),
        }
    });
    if !keep {
        variance.dims.remove(dim);
    }
    variance
}

fn case(dims: &[usize], dim: usize, keep: bool) -> Case {
    Case {
        op: if keep { "var_keepdim" } else { "var" },
        dtypes: &DType::FLOATS,
        inputs: vec![Input::new(dims, Values::Range(5.0, 9.0))],
        run: Box::new(move |inputs| match keep {
            true => inputs[0].var_keepdim(dim),
            false => inputs[0].var(dim),
        }),
        reference: Box::new(move |inputs: &[Array]| reference(&inputs[0], dim, keep)),
        tolerance: Tolerance::units(64.0, 16.0),
    }
}

fn cases() -> Vec<Case> {
    let shapes: [(&[usize], usize); 9] = [
        (&[1], 0),
        (&[2, 0], 1),
        (&[0, 2], 1),
        (&[7], 0),
        (&[5, 33], 1),
        (&[5, 33], 0),
        (&[3, 4, 5], 1),
        (&[2, 700], 1),
        (&[1, 2, 1, 2, 1, 2, 1, 2, 3], 7),
    ];
    shapes
        .into_iter()
        .flat_map(|(dims, dim)| [true, false].map(|keep| case(dims, dim, keep)))
        .collect()
}

fn draw(draw: &mut Draw) -> Case {
    let dims = draw.dims_of(1..=9, 0);
    let dim = draw.number("dim", 0, dims.len() - 1);
    case(&dims, dim, draw.flag("keep"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn integers_have_no_variance() -> Result<()> {
        let x = Tensor::new(&[1u32, 2], &Device::Cpu)?;
        assert!(x.var(0).is_err() && x.to_dtype(DType::F32)?.var(1).is_err());
        Ok(())
    }
}
