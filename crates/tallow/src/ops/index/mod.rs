//! Reading by index: whole slices ([`Tensor::index_select`]) and single elements
//! ([`Tensor::gather`]).
//!
//! Indexes are u8, u32, i16, i32 or i64, and have to be inside the dimension: a negative or too
//! large one is an error. The greatest u32 and the greatest i64 are padding: they read as zeros.

mod cases;
pub(super) mod cpu;
pub(super) mod gpu;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::shape::Dim;
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor, bail};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "index",
    ops: &[
        OpInfo {
            name: "index_select",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "gather",
            dtypes: &DType::COMPUTE,
        },
    ],
    cases: cases::cases,
    draw: cases::draw,
};

pub(super) fn check_ids(ids: &Tensor, op: &'static str) -> Result<()> {
    match ids.dtype().is_int() {
        true => Ok(()),
        false => bail!("{op}: ids are {}; want an integer dtype", ids.dtype()),
    }
}

/// Slices of a dimension. The operands are the source and the ids, of rank 1.
struct IndexSelect {
    dim: usize,
}

impl Op for IndexSelect {
    fn name(&self) -> &'static str {
        "index_select"
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (source, ids) = (inputs[0], inputs[1]);
        check_ids(ids, self.name())?;
        let mut dims = source.dims().to_vec();
        dims[self.dim] = ids.dims1()?;
        Ok((Shape::from(dims), source.dtype()))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::index_select(inputs[0], inputs[1], self.dim, out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::index_select(inputs[0], inputs[1], self.dim, out)
    }
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let gradient = inputs[0]
            .zeros_like()?
            .index_add(inputs[1], upstream, self.dim)?;
        Ok(smallvec![Some(gradient), None])
    }
}

/// Elements along a dimension. The operands are the source and the ids, of the same rank.
struct Gather {
    dim: usize,
}

impl Op for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (source, ids) = (inputs[0], inputs[1]);
        check_ids(ids, self.name())?;
        let larger = |dim: usize| dim != self.dim && ids.dims()[dim] > source.dims()[dim];
        if ids.rank() != source.rank() || (0..ids.rank()).any(larger) {
            let (lhs, rhs) = (source.shape().clone(), ids.shape().clone());
            return Err(Error::ShapeMismatchBinaryOp {
                lhs,
                rhs,
                op: self.name(),
            });
        }
        Ok((ids.shape().clone(), source.dtype()))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::gather(inputs[0], inputs[1], self.dim, out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::gather(inputs[0], inputs[1], self.dim, out)
    }
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let gradient = inputs[0]
            .zeros_like()?
            .scatter_add(inputs[1], upstream, self.dim)?;
        Ok(smallvec![Some(gradient), None])
    }
}

/// Reading by index.
impl Tensor {
    /// The slices of a dimension that `indexes` (rank 1) names, in its order.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2.], [3., 4.]], &Device::Cpu)?;
    /// let ids = Tensor::new(&[1u32, 1, 0], &Device::Cpu)?;
    /// assert_eq!(x.index_select(&ids, 0)?.to_vec2::<f32>()?, [[3., 4.], [3., 4.], [1., 2.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn index_select<D: Dim>(&self, indexes: &Self, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "index_select")?;
        apply(IndexSelect { dim }, &[self, indexes])
    }

    /// The elements whose place along a dimension `indexes` names; the result has its shape, which
    /// is nowhere larger than the source's outside that dimension.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2.], [3., 4.]], &Device::Cpu)?;
    /// let ids = Tensor::new(&[[1u32], [0]], &Device::Cpu)?;
    /// assert_eq!(x.gather(&ids, 1)?.to_vec2::<f32>()?, [[2.], [3.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn gather<D: Dim>(&self, indexes: &Self, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "gather")?;
        apply(Gather { dim }, &[self, indexes])
    }

    /// The rows of this matrix that `ids` names: ids of shape `[…]` give `[…, columns]`. Errors
    /// unless this is of rank 2.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let table = Tensor::new(&[[0f32, 1.], [2., 3.]], &Device::Cpu)?;
    /// let rows = table.embedding(&Tensor::new(&[1u32, 0, 1], &Device::Cpu)?)?;
    /// assert_eq!(rows.to_vec2::<f32>()?, [[2., 3.], [0., 1.], [2., 3.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn embedding(&self, ids: &Self) -> Result<Self> {
        let (_, columns) = self.dims2()?;
        let rows = self.index_select(&ids.flatten_all()?, 0)?;
        rows.reshape([ids.dims(), &[columns]].concat())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Device, Result, Tensor};

    #[test]
    fn ids_out_of_range_are_errors_and_the_greatest_is_padding() -> Result<()> {
        let cpu = &Device::Cpu;
        let x = Tensor::new(&[[1f32, 2.], [3., 4.]], cpu)?;
        let select = |ids: Tensor| x.index_select(&ids, 0);
        let error = select(Tensor::new(&[0u32, 2], cpu)?)
            .expect_err("2 of 2")
            .to_string();
        assert_eq!(
            error,
            "index_select: index 2 is out of range; the dim has 2"
        );
        assert!(select(Tensor::new(&[-1i64], cpu)?).is_err());
        assert!(select(Tensor::new(&[255u8], cpu)?).is_err());
        assert!(select(Tensor::new(&[i32::MAX], cpu)?).is_err());
        assert!(select(Tensor::new(&[0f32], cpu)?).is_err());
        let padded = select(Tensor::new(&[u32::MAX, 1], cpu)?)?;
        assert_eq!(padded.to_vec2::<f32>()?, [[0., 0.], [3., 4.]]);
        let padded = x.gather(&Tensor::new(&[[i64::MAX], [1]], cpu)?, 1)?;
        assert_eq!(padded.to_vec2::<f32>()?, [[0.], [4.]]);
        assert!(
            x.gather(&Tensor::new(&[[0u32], [0], [0]], cpu)?, 1)
                .is_err()
        );
        Ok(())
    }
}
