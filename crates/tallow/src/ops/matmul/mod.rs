//! Matrix products: `out[b] = lhs[b] · rhs[b]`.
//!
//! lhs `[batch…, m, k]`, rhs `[batch…, k, n]`, out `[batch…, m, n]`; any strides on either side, so
//! that a transposed, narrowed or broadcast operand is multiplied as it lies. f16, bf16 and f8e4m3
//! accumulate in f32 and round once; the same bits come for any number of threads. An empty inner
//! size gives zeros.
//!
//! The kernels are in `tallow-gemm`; here batches are counted out to it.

mod cases;
mod cpu;
mod gpu;
mod library;

pub(super) use gpu::matrix_tile;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor, bail};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "matmul",
    ops: &[
        OpInfo {
            name: "matmul",
            dtypes: &DType::FLOATS,
        },
        OpInfo {
            name: "broadcast_matmul",
            dtypes: &DType::FLOATS,
        },
    ],
    cases: cases::cases,
    draw: cases::draw,
};

struct MatMul;

impl Op for MatMul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (lhs, rhs) = (inputs[0], inputs[1]);
        let rank = lhs.rank();
        let batches_differ = || lhs.dims()[..rank - 2] != rhs.dims()[..rank - 2];
        if rank < 2 || rank != rhs.rank() || batches_differ() {
            let (lhs, rhs) = (lhs.shape().clone(), rhs.shape().clone());
            return Err(Error::ShapeMismatchBinaryOp {
                lhs,
                rhs,
                op: "matmul",
            });
        }
        let (inner, rhs_inner) = (lhs.dims()[rank - 1], rhs.dims()[rank - 2]);
        if inner != rhs_inner {
            let (lhs, rhs) = (lhs.shape(), rhs.shape());
            bail!(
                "matmul: inner sizes differ: lhs {lhs:?} has {inner}, rhs {rhs:?} has {rhs_inner}"
            );
        }
        let (dtype, rhs_dtype) = (lhs.dtype(), rhs.dtype());
        if dtype != rhs_dtype {
            return Err(Error::DTypeMismatchBinaryOp {
                lhs: dtype,
                rhs: rhs_dtype,
                op: "matmul",
            });
        }
        if !DType::FLOATS.contains(&dtype) {
            return Err(Error::UnsupportedDTypeForOp(dtype, "matmul"));
        }
        let dims = [&lhs.dims()[..rank - 1], &rhs.dims()[rank - 1..]].concat();
        Ok((Shape::from(dims), dtype))
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        crate::with_dtype!(inputs[0].dtype(), "matmul", T in floats => {
            cpu::matmul::<T>(inputs[0].typed()?, inputs[1].typed()?, out.as_mut_slice()?)
        })
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::matmul(inputs[0], inputs[1], out)
    }

    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let (lhs, rhs) = (inputs[0], inputs[1]);
        let for_lhs = lhs.track_op().then(|| upstream.matmul(&rhs.t()?));
        let for_rhs = rhs.track_op().then(|| lhs.t()?.matmul(upstream));
        Ok(smallvec![for_lhs.transpose()?, for_rhs.transpose()?])
    }
}

impl Tensor {
    /// The matrix product over the last two dimensions: `[batch…, m, k]` by `[batch…, k, n]` gives
    /// `[batch…, m, n]`. Ranks, batch sizes, inner sizes and dtypes have to agree.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2.], [3., 4.]], &Device::Cpu)?;
    /// assert_eq!(x.matmul(&x.t()?)?.to_vec2::<f32>()?, [[5., 11.], [11., 25.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn matmul(&self, rhs: &Self) -> Result<Self> {
        apply(MatMul, &[self, rhs])
    }

    /// [`matmul`](Self::matmul) with the batch dimensions broadcast (numpy's rule).
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[[1f32, 2.]], [[3., 4.]]], &Device::Cpu)?;
    /// let y = Tensor::new(&[[1f32], [10.]], &Device::Cpu)?;
    /// assert_eq!(x.broadcast_matmul(&y)?.to_vec3::<f32>()?, [[[21.]], [[43.]]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn broadcast_matmul(&self, rhs: &Self) -> Result<Self> {
        if self.rank() < 2 || rhs.rank() < 2 {
            let (lhs, rhs) = (self.shape().clone(), rhs.shape().clone());
            return Err(Error::ShapeMismatchBinaryOp {
                lhs,
                rhs,
                op: "broadcast_matmul",
            });
        }
        let (lhs_batch, lhs_matrix) = self.dims().split_at(self.rank() - 2);
        let (rhs_batch, rhs_matrix) = rhs.dims().split_at(rhs.rank() - 2);
        let batch = Shape::from(lhs_batch)
            .broadcast_shape_binary_op(&Shape::from(rhs_batch), "broadcast_matmul")?;
        let lhs = self.broadcast_as(batch.clone().extend(lhs_matrix))?;
        lhs.matmul(&rhs.broadcast_as(batch.extend(rhs_matrix))?)
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Device, Result, Tensor};

    #[test]
    fn operands_that_do_not_fit_are_errors() -> Result<()> {
        let zeros =
            |dims: &[usize], dtype| crate::testing::Array::from_fn(dims, |_| 0.0).to_tensor(dtype);
        let lhs = zeros(&[2, 3], DType::F32)?;
        let error = |rhs: &Tensor| {
            lhs.matmul(rhs)
                .map(|_| ())
                .expect_err("an error")
                .to_string()
        };
        assert_eq!(
            error(&zeros(&[4, 2], DType::F32)?),
            "matmul: inner sizes differ: lhs [2, 3] has 3, rhs [4, 2] has 4"
        );
        assert!(error(&zeros(&[3, 2], DType::F16)?).contains("dtypes differ"));
        assert!(error(&zeros(&[1, 3, 2], DType::F32)?).contains("shapes do not fit"));
        assert!(error(&zeros(&[3], DType::F32)?).contains("shapes do not fit"));
        let ids = Tensor::new(&[[1u32]], &Device::Cpu)?;
        assert!(ids.matmul(&ids).is_err());
        // An empty result is checked like any other.
        let empty = zeros(&[0, 2], DType::F32)?;
        assert!(empty.matmul(&zeros(&[3, 4], DType::F32)?).is_err());
        assert_eq!(empty.matmul(&zeros(&[2, 4], DType::F32)?)?.dims(), [0, 4]);
        Ok(())
    }
}
