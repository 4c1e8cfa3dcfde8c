//! Products of vectors: `dot`, `mv`, and the norm that a vector's product with itself gives.

use crate::ops::{Family, OpInfo};
use crate::testing::{Array, Case, Draw, Input, Reference, Run, Tolerance, Values, sum};
use crate::{DType, Error, Result, Tensor};

/// The entry in [`ALL`](crate::ops::ALL).
pub const FAMILY: Family = Family {
    name: "products",
    ops: &[info("dot"), info("mv"), info("norm")],
    cases,
    draw,
};

const fn info(name: &'static str) -> OpInfo {
    OpInfo {
        name,
        dtypes: &DType::FLOATS,
    }
}

impl Tensor {
    /// The sum of the products of two vectors' elements, a scalar. Errors unless both have rank 1,
    /// one size and one float dtype.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2., 3.], &Device::Cpu)?;
    /// assert_eq!(x.dot(&x)?.to_scalar::<f32>()?, 14.);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn dot(&self, rhs: &Self) -> Result<Self> {
        let (lhs_len, rhs_len) = (self.dims1()?, rhs.dims1()?);
        if lhs_len != rhs_len {
            return Err(shapes_differ(self, rhs, "dot"));
        }
        if !self.dtype().is_float() {
            return Err(Error::UnsupportedDTypeForOp(self.dtype(), "dot"));
        }
        self.reshape((1, lhs_len))?
            .matmul(&rhs.reshape((rhs_len, 1))?)?
            .reshape(())
    }

    /// A matrix times a vector: `[m, n]` and `[n]` give `[m]`. Errors for other shapes.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2., 3.], [4., 5., 6.]], &Device::Cpu)?;
    /// let y = Tensor::new(&[1f32, 1., 1.], &Device::Cpu)?;
    /// assert_eq!(x.mv(&y)?.to_vec1::<f32>()?, [6., 15.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn mv(&self, rhs: &Self) -> Result<Self> {
        let ((rows, columns), len) = (self.dims2()?, rhs.dims1()?);
        if columns != len {
            return Err(shapes_differ(self, rhs, "mv"));
        }
        self.matmul(&rhs.reshape((len, 1))?)?.reshape(rows)
    }

    /// The square root of the sum of all elements' squares, a scalar. Errors for integers.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[3f32, 4.], [0., 0.]], &Device::Cpu)?;
    /// assert_eq!(x.norm()?.to_scalar::<f32>()?, 5.);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn norm(&self) -> Result<Self> {
        let dtype = self.dtype();
        match dtype {
            DType::F64 | DType::F32 => self.sqr()?.sum_all()?.sqrt(),
            // Squares of the narrow dtypes pass what they hold.
            _ if dtype.is_float() => self.to_dtype(DType::F32)?.norm()?.to_dtype(dtype),
            _ => Err(Error::UnsupportedDTypeForOp(dtype, "norm")),
        }
    }
}

fn shapes_differ(lhs: &Tensor, rhs: &Tensor, op: &'static str) -> Error {
    let (lhs, rhs) = (lhs.shape().clone(), rhs.shape().clone());
    Error::ShapeMismatchBinaryOp { lhs, rhs, op }
}

fn scalar(value: f64) -> Array {
    Array {
        dims: Vec::new(),
        data: vec![value],
    }
}

fn dot(lhs: &[f64], rhs: &[f64]) -> f64 {
    sum(lhs.iter().zip(rhs).map(|(a, b)| a * b))
}

fn case(op: &'static str, dims: &[&[usize]], run: Run, reference: Reference) -> Case {
    let values = Values::Range(-2.0, 3.0);
    Case {
        op,
        dtypes: &DType::FLOATS,
        inputs: dims
            .iter()
            .map(|dims| Input::new(dims, values.clone()))
            .collect(),
        run,
        reference,
        tolerance: Tolerance::units(64.0, 256.0),
    }
}

fn dot_case(len: usize) -> Case {
    let mut dot_case = case(
        "dot",
        &[&[len], &[len]],
        Box::new(|inputs| inputs[0].dot(&inputs[1])),
        Box::new(|inputs: &[Array]| scalar(dot(&inputs[0].data, &inputs[1].data))),
    );
    // Each product is at most 9.
    let Tolerance { relative, absolute } = Tolerance::of_products(len);
    dot_case.tolerance = Tolerance::units(relative, 9.0 * absolute);
    dot_case
}

fn mv_case(rows: usize, columns: usize) -> Case {
    case(
        "mv",
        &[&[rows, columns], &[columns]],
        Box::new(|inputs| inputs[0].mv(&inputs[1])),
        Box::new(move |inputs: &[Array]| {
            let row = |at: usize| &inputs[0].data[at * columns..][..columns];
            Array::from_fn(&[rows], |index| dot(row(index[0]), &inputs[1].data))
        }),
    )
}

fn norm_case(dims: &[usize]) -> Case {
    case(
        "norm",
        &[dims],
        Box::new(|inputs| inputs[0].norm()),
        Box::new(|inputs: &[Array]| scalar(dot(&inputs[0].data, &inputs[0].data).sqrt())),
    )
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = [0, 1, 7, 33, 700].map(dot_case).into();
    let matrices = [(0, 3), (3, 0), (1, 1), (5, 33), (70, 67)];
    cases.extend(matrices.map(|(rows, columns)| mv_case(rows, columns)));
    let shapes: [&[usize]; 5] = [&[], &[0], &[7], &[5, 17, 3], &[1, 2, 1, 2, 1, 2, 1, 2, 3]];
    cases.extend(shapes.map(norm_case));
    cases
}

fn draw(draw: &mut Draw) -> Case {
    match draw.below(3) {
        0 => dot_case(draw.number("len", 0, 700)),
        1 => mv_case(draw.size(0), draw.size(0)),
        _ => norm_case(&draw.dims()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, f16};

    #[test]
    fn operands_that_do_not_fit_are_errors() -> Result<()> {
        let cpu = &Device::Cpu;
        let (two, three) = (
            Tensor::new(&[1f32, 2.], cpu)?,
            Tensor::new(&[1f32, 2., 3.], cpu)?,
        );
        assert!(two.dot(&three).is_err() && two.mv(&two).is_err());
        assert!(two.dot(&two.to_dtype(DType::F64)?).is_err());
        assert!(two.reshape((1, 2))?.mv(&three).is_err());
        let integers = Tensor::new(&[1u32], cpu)?;
        assert!(integers.dot(&integers).is_err() && integers.norm().is_err());
        Ok(())
    }

    #[test]
    fn the_norm_of_large_narrow_numbers_is_finite() -> Result<()> {
        let x = Tensor::full(f16::from_f32(3000.0), 4, &Device::Cpu)?;
        assert_eq!(x.norm()?.to_scalar::<f16>()?.to_f32(), 6000.0);
        Ok(())
    }
}
