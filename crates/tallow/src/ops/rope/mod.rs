//! Rotary position embedding (Su et al. 2021): pairs of features turned by an angle that grows with
//! the position.
//!
//! x `[batch, heads, len, head_dim]`, cos and sin `[len, head_dim / 2]` (or `[batch, len, …]`).
//! A pair (a, b) becomes (a·cos − b·sin, a·sin + b·cos). [`rope`] pairs feature `i` with
//! `i + head_dim / 2` (GPT-NeoX, safetensors of the Llama family); [`rope_i`] pairs neighbours `2i`
//! and `2i + 1` (the original Llama order, GGUF).

mod cases;
mod cpu;
mod gpu;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor, bail};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "rope",
    ops: &[
        OpInfo {
            name: "rope",
            dtypes: &[DType::F32, DType::F64, DType::F16, DType::BF16],
        },
        OpInfo {
            name: "rope_i",
            dtypes: &[DType::F32, DType::F64, DType::F16, DType::BF16],
        },
    ],
    cases: cases::cases,
    draw: cases::draw,
};

/// Which features make a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pairs {
    Halves,
    Neighbours,
}

impl Pairs {
    /// The first and the second features of all pairs, `[…, head_dim / 2]` each.
    fn split(self, x: &Tensor) -> Result<[Tensor; 2]> {
        let half = x.dims()[3] / 2;
        match self {
            Self::Halves => Ok([x.narrow(3, 0, half)?, x.narrow(3, half, half)?]),
            Self::Neighbours => {
                let pairs = [&x.dims()[..3], &[half, 2]].concat();
                let x = x.reshape(pairs)?;
                Ok([x.get_on_dim(4, 0)?, x.get_on_dim(4, 1)?])
            }
        }
    }
}

struct Rope(Pairs);

impl Op for Rope {
    fn name(&self) -> &'static str {
        match self.0 {
            Pairs::Halves => "rope",
            Pairs::Neighbours => "rope_i",
        }
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (op, x) = (self.name(), inputs[0]);
        let (batch, _, len, head_dim) = x.dims4()?;
        for table in &inputs[1..] {
            let fits = match *table.dims() {
                [rows, half] => rows >= len && half * 2 == head_dim,
                [tables, rows, half] => tables == batch && rows >= len && half * 2 == head_dim,
                _ => false,
            };
            if !fits {
                let (x, table) = (x.shape(), table.shape());
                bail!(
                    "{op}: x {x:?} wants cos, sin of [{len} or more, {head_dim} / 2], got {table:?}"
                );
            }
            if table.dtype() != x.dtype() {
                return Err(Error::DTypeMismatchBinaryOp {
                    lhs: x.dtype(),
                    rhs: table.dtype(),
                    op,
                });
            }
        }
        if inputs[1].shape() != inputs[2].shape() {
            bail!(
                "{op}: cos {:?} and sin {:?} differ in shape",
                inputs[1].shape(),
                inputs[2].shape()
            );
        }
        Ok((x.shape().clone(), x.dtype()))
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let types = (self.name(), inputs[0].dtype());
        crate::with_dtype!(types.1, types.0, T in [
            F32: f32, F64: f64, F16: crate::f16, BF16: crate::bf16,
        ] => {
            let tables = cpu::Tables::new(inputs[1].typed::<T>()?, inputs[2].typed::<T>()?);
            cpu::rope(inputs[0].typed::<T>()?, tables, self.0, out.as_mut_slice()?);
            Ok(())
        })
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::rope(inputs, self.0, out)
    }

    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let (x, cos, sin) = (inputs[0], inputs[1], inputs[2]);
        // The turn back.
        let for_x = apply(Self(self.0), &[upstream, cos, &sin.neg()?])?;
        if !cos.track_op() && !sin.track_op() {
            return Ok(smallvec![Some(for_x), None, None]);
        }
        let ([a, b], [u, v]) = (self.0.split(x)?, self.0.split(upstream)?);
        let for_cos = a.mul(&u)?.add(&b.mul(&v)?)?;
        let for_sin = a.mul(&v)?.sub(&b.mul(&u)?)?;
        let to_table = |gradient: Tensor| {
            let gradient = match cos.rank() {
                2 => gradient.sum((0, 1))?,
                _ => gradient.sum(1)?,
            };
            let (dim, len) = (cos.rank() - 2, x.dims()[2]);
            gradient.pad_with_zeros(dim, 0, cos.dims()[dim] - len)
        };
        let (for_cos, for_sin) = (to_table(for_cos)?, to_table(for_sin)?);
        Ok(smallvec![Some(for_x), Some(for_cos), Some(for_sin)])
    }
}

/// Turns pairs half a head apart. x `[batch, heads, len, head_dim]`; cos and sin
/// `[len, head_dim / 2]` or `[batch, len, head_dim / 2]`, of x's dtype; more rows than `len` are
/// allowed, and the first ones count.
///
/// ```
/// use tallow::{Device, Tensor, ops};
/// let x = Tensor::new(&[1f32, 0., 0., 1.], &Device::Cpu)?.reshape((1, 1, 1, 4))?;
/// let cos = Tensor::new(&[[0f32, 1.]], &Device::Cpu)?;
/// let sin = Tensor::new(&[[1f32, 0.]], &Device::Cpu)?;
/// let turned = ops::rope(&x, &cos, &sin)?;
/// assert_eq!(turned.flatten_all()?.to_vec1::<f32>()?, [0., 0., 1., 1.]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn rope(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    apply(Rope(Pairs::Halves), &[x, cos, sin])
}

/// Turns pairs of neighbours; shapes as for [`rope`].
pub fn rope_i(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    apply(Rope(Pairs::Neighbours), &[x, cos, sin])
}
