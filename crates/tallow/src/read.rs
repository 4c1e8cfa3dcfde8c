//! Reading values back into Rust vectors. The dtype has to be the one asked for; cast with
//! `to_dtype` first where it is not.

use crate::cpu::{CpuView, copy};
use crate::{Device, Error, Result, Tensor, WithDType};

impl Tensor {
    /// All elements, in row-major order.
    fn read_all<S: WithDType>(&self) -> Result<Vec<S>> {
        if self.dtype() != S::DTYPE {
            let (expected, got) = (S::DTYPE, self.dtype());
            return Err(Error::UnexpectedDType {
                msg: "to_vec",
                expected,
                got,
            });
        }
        let here = self.to_device(&Device::Cpu)?;
        let (storage, layout) = here.storage_and_layout();
        let view = CpuView::new(storage.as_cpu()?, layout)?.typed::<S>()?;
        if let Some(data) = view.contiguous() {
            return Ok(data.to_vec());
        }
        let mut out = vec![S::default(); view.count()];
        copy::copy(view, &mut out);
        Ok(out)
    }

    fn expect_rank(&self, expected: usize) -> Result<()> {
        let (got, shape) = (self.rank(), self.shape().clone());
        match got == expected {
            true => Ok(()),
            false => Err(Error::UnexpectedNumberOfDims {
                expected,
                got,
                shape,
            }),
        }
    }

    /// The value of a scalar (rank 0).
    pub fn to_scalar<S: WithDType>(&self) -> Result<S> {
        self.expect_rank(0)?;
        Ok(self.read_all::<S>()?[0])
    }

    /// [`to_scalar`](Self::to_scalar) by another name.
    pub fn to_vec0<S: WithDType>(&self) -> Result<S> {
        self.to_scalar()
    }

    /// The elements of a tensor of rank 1.
    pub fn to_vec1<S: WithDType>(&self) -> Result<Vec<S>> {
        self.expect_rank(1)?;
        self.read_all()
    }

    /// The rows of a tensor of rank 2.
    pub fn to_vec2<S: WithDType>(&self) -> Result<Vec<Vec<S>>> {
        let (rows, columns) = self.dims2()?;
        let all = self.read_all::<S>()?;
        Ok((0..rows)
            .map(|row| all[row * columns..][..columns].to_vec())
            .collect())
    }

    /// The matrices of a tensor of rank 3.
    pub fn to_vec3<S: WithDType>(&self) -> Result<Vec<Vec<Vec<S>>>> {
        let (count, _, _) = self.dims3()?;
        (0..count).map(|at| self.get(at)?.to_vec2()).collect()
    }
}
