//! Writing by index: elements ([`Tensor::scatter`], [`Tensor::scatter_add`], and in place
//! [`Tensor::scatter_set`], [`Tensor::scatter_add_set`]) and whole slices ([`Tensor::index_add`]).
//!
//! With ids and a source of one shape, along dimension 0:
//!
//! ```text
//! scatter       out = self, then  out[ids[i, j], j]  = source[i, j]
//! scatter_add   out = self, then  out[ids[i, j], j] += source[i, j]
//! index_add     out = self, then  out[ids[i], j]    += source[i, j]
//! ```
//!
//! Indexes are those of [`Tensor::gather`]; padding writes nothing. Where several ids name one
//! place, the last in row-major order is what `scatter` leaves there, and sums are taken in that
//! order, so the bits are the same for any number of threads. Narrow floats add up in f32 and are
//! rounded once; integers wrap.

mod cases;
mod cpu;
mod gpu;

use super::index::check_ids;
use super::index::cpu::{ids, with_ids};
use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, InPlaceOp, Op, apply, apply_in_place};
use crate::shape::Dim;
use crate::{CpuStorage, DType, Error, Layout, Result, Shape, Tensor};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "scatter",
    ops: &[
        info("scatter"),
        info("scatter_add"),
        info("scatter_set"),
        info("scatter_add_set"),
        info("index_add"),
    ],
    cases: cases::cases,
    draw: cases::draw,
};

const fn info(name: &'static str) -> OpInfo {
    OpInfo {
        name,
        dtypes: &DType::COMPUTE,
    }
}

fn check_dtypes(target: &Tensor, source: &Tensor, op: &'static str) -> Result<()> {
    if target.dtype() != source.dtype() {
        let (lhs, rhs) = (target.dtype(), source.dtype());
        return Err(Error::DTypeMismatchBinaryOp { lhs, rhs, op });
    }
    Ok(())
}

fn shapes_differ(lhs: &Tensor, rhs: &Tensor, op: &'static str) -> Error {
    let (lhs, rhs) = (lhs.shape().clone(), rhs.shape().clone());
    Error::ShapeMismatchBinaryOp { lhs, rhs, op }
}

/// Elements along a dimension. The operands are the target, the ids and the source.
struct Scatter {
    dim: usize,
    add: bool,
}

impl Scatter {
    fn label(&self) -> &'static str {
        if self.add { "scatter_add" } else { "scatter" }
    }

    fn check(&self, target: &Tensor, ids: &Tensor, source: &Tensor) -> Result<()> {
        let op = self.label();
        check_ids(ids, op)?;
        check_dtypes(target, source, op)?;
        if ids.dims() != source.dims() {
            return Err(shapes_differ(ids, source, op));
        }
        let larger = |dim: usize| dim != self.dim && ids.dims()[dim] > target.dims()[dim];
        if ids.rank() != target.rank() || (0..ids.rank()).any(larger) {
            return Err(shapes_differ(target, ids, op));
        }
        Ok(())
    }
}

impl Op for Scatter {
    fn name(&self) -> &'static str {
        self.label()
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        self.check(inputs[0], inputs[1], inputs[2])?;
        Ok((inputs[0].shape().clone(), inputs[0].dtype()))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::copy(inputs[0], out)?;
        let layout = Layout::contiguous(inputs[0].dims());
        InPlaceOp::cpu(self, out, &layout, &inputs[1..])
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        super::copy::gpu::copy(inputs[0], out)?;
        let layout = Layout::contiguous(inputs[0].dims());
        InPlaceOp::gpu(self, GpuView::new(out, &layout)?, &inputs[1..])
    }
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let ([target, ids, source], dim) = ([inputs[0], inputs[1], inputs[2]], self.dim);
        let of_source = upstream.gather(ids, dim)?;
        if self.add {
            return Ok(smallvec![Some(upstream.clone()), None, Some(of_source)]);
        }
        // Of elements for one place only the last shows in the result. Numbers from 1 on tell which
        // it is: padding reads as 0.
        let count = ids.elem_count() as i64;
        let numbers = Tensor::arange(1, count + 1, ids.device())?.reshape(ids.shape())?;
        let places = Tensor::zeros(target.shape(), DType::I64, ids.device())?;
        let last = places.scatter(ids, &numbers, dim)?.gather(ids, dim)?;
        let shows = last.eq(&numbers)?;
        let zeros = source.zeros_like()?;
        let of_source = shows.where_cond(&of_source, &zeros)?;
        Ok(smallvec![
            Some(upstream.scatter(ids, &zeros, dim)?),
            None,
            Some(of_source)
        ])
    }
}

impl InPlaceOp for Scatter {
    fn name(&self) -> &'static str {
        self.label()
    }
    fn check(&self, target: &Tensor, inputs: &[&Tensor]) -> Result<()> {
        self.check(target, inputs[0], inputs[1])
    }
    fn cpu(&self, target: &mut CpuStorage, layout: &Layout, inputs: &[CpuView<'_>]) -> Result<()> {
        let ids = ids(inputs[0], layout.dims()[self.dim], self.label())?;
        let (dims, dim) = (inputs[0].dims(), self.dim);
        with_ids!(ids, ids => {
            let places = cpu::Places { ids, dims, dim };
            match self.add {
                true => cpu::scatter_add(target, layout, places, inputs[1]),
                false => cpu::scatter(target, layout, places, inputs[1]),
            }
        })
    }
    fn gpu(&self, target: GpuView<'_>, inputs: &[GpuView<'_>]) -> Result<()> {
        let operands = gpu::Operands {
            target,
            ids: inputs[0],
            id_strides: inputs[0].layout().stride(),
            source: inputs[1],
        };
        gpu::scatter(&operands, self.dim, self.add)
    }
}

/// Slices of a dimension, added. The operands are the target, the ids (rank 1) and the source.
struct IndexAdd {
    dim: usize,
}

impl Op for IndexAdd {
    fn name(&self) -> &'static str {
        "index_add"
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let ([target, ids, source], op) = ([inputs[0], inputs[1], inputs[2]], Op::name(self));
        check_ids(ids, op)?;
        check_dtypes(target, source, op)?;
        let mut expected = target.dims().to_vec();
        expected[self.dim] = ids.dims1()?;
        if source.dims() != expected {
            return Err(shapes_differ(target, source, op));
        }
        Ok((target.shape().clone(), target.dtype()))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::copy(inputs[0], out)?;
        let (dims, dim) = (inputs[0].dims(), self.dim);
        let ids = ids(inputs[1], dims[dim], Op::name(self))?;
        let inner = dims[dim + 1..].iter().product();
        with_ids!(ids, ids => cpu::index_add(out, dims[dim], inner, ids, inputs[2]))
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        super::copy::gpu::copy(inputs[0], out)?;
        let layout = Layout::contiguous(inputs[0].dims());
        let (ids, source) = (inputs[1], inputs[2]);
        let operands = gpu::Operands {
            target: GpuView::new(out, &layout)?,
            ids,
            id_strides: &super::index::gpu::slice_strides(ids, layout.dims().len(), self.dim),
            source,
        };
        gpu::scatter(&operands, self.dim, true)
    }
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let of_source = upstream.index_select(inputs[1], self.dim)?;
        Ok(smallvec![Some(upstream.clone()), None, Some(of_source)])
    }
}

/// Writing by index.
impl Tensor {
    /// A copy of this tensor with the elements of `source` written along a dimension, each to the
    /// place that the index beside it names. Indexes and source have one shape, which is nowhere
    /// larger than this tensor's outside that dimension; of several elements for one place the last
    /// stays.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let ids = Tensor::new(&[[2u32, 0]], &Device::Cpu)?;
    /// let source = Tensor::new(&[[5f32, 6.]], &Device::Cpu)?;
    /// let x = Tensor::zeros((1, 3), DType::F32, &Device::Cpu)?.scatter(&ids, &source, 1)?;
    /// assert_eq!(x.to_vec2::<f32>()?, [[6., 0., 5.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn scatter<D: Dim>(&self, indexes: &Self, source: &Self, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "scatter")?;
        apply(Scatter { dim, add: false }, &[self, indexes, source])
    }

    /// A copy of this tensor with the elements of `source` added along a dimension, each to the
    /// place that the index beside it names. Shapes are as for [`scatter`](Self::scatter).
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let ids = Tensor::new(&[[1u32, 1]], &Device::Cpu)?;
    /// let source = Tensor::new(&[[5f32, 6.]], &Device::Cpu)?;
    /// let x = Tensor::ones((1, 3), DType::F32, &Device::Cpu)?.scatter_add(&ids, &source, 1)?;
    /// assert_eq!(x.to_vec2::<f32>()?, [[1., 12., 1.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn scatter_add<D: Dim>(&self, indexes: &Self, source: &Self, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "scatter_add")?;
        apply(Scatter { dim, add: true }, &[self, indexes, source])
    }

    /// [`scatter`](Self::scatter) in place: every tensor over the same buffer sees it. Errors for a
    /// broadcast view.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::zeros(3, DType::F32, &Device::Cpu)?;
    /// let ids = Tensor::new(&[2u32], &Device::Cpu)?;
    /// x.scatter_set(&ids, &Tensor::new(&[5f32], &Device::Cpu)?, 0)?;
    /// assert_eq!(x.to_vec1::<f32>()?, [0., 0., 5.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn scatter_set<D: Dim>(&self, indexes: &Self, source: &Self, dim: D) -> Result<()> {
        let dim = dim.to_index(self.shape(), "scatter_set")?;
        apply_in_place(&Scatter { dim, add: false }, self, &[indexes, source])
    }

    /// [`scatter_add`](Self::scatter_add) in place: every tensor over the same buffer sees it.
    /// Errors for a broadcast view.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::ones(3, DType::F32, &Device::Cpu)?;
    /// let ids = Tensor::new(&[2u32, 2], &Device::Cpu)?;
    /// x.scatter_add_set(&ids, &Tensor::new(&[5f32, 1.], &Device::Cpu)?, 0)?;
    /// assert_eq!(x.to_vec1::<f32>()?, [1., 1., 7.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn scatter_add_set<D: Dim>(&self, indexes: &Self, source: &Self, dim: D) -> Result<()> {
        let dim = dim.to_index(self.shape(), "scatter_add_set")?;
        apply_in_place(&Scatter { dim, add: true }, self, &[indexes, source])
    }

    /// A copy of this tensor with the slices of `source` added to the slices of a dimension that
    /// `indexes` (rank 1) names. The source has as many slices as there are indexes, and otherwise
    /// this tensor's sizes.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let ids = Tensor::new(&[1u32, 1], &Device::Cpu)?;
    /// let source = Tensor::new(&[[1f32, 2.], [3., 4.]], &Device::Cpu)?;
    /// let x = Tensor::zeros((2, 2), DType::F32, &Device::Cpu)?.index_add(&ids, &source, 0)?;
    /// assert_eq!(x.to_vec2::<f32>()?, [[0., 0.], [4., 6.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn index_add<D: Dim>(&self, indexes: &Self, source: &Self, dim: D) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "index_add")?;
        apply(IndexAdd { dim }, &[self, indexes, source])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    fn matrix(rows: usize, columns: usize) -> Tensor {
        Tensor::ones((rows, columns), DType::F32, &Device::Cpu).unwrap()
    }

    #[test]
    fn padding_writes_nothing_and_ids_outside_are_errors() -> Result<()> {
        let cpu = &Device::Cpu;
        let (x, source) = (matrix(1, 2), Tensor::new(&[[5f32, 7.]], cpu)?);
        let ids = Tensor::new(&[[u32::MAX, 0]], cpu)?;
        assert_eq!(x.scatter(&ids, &source, 1)?.to_vec2::<f32>()?, [[7., 1.]]);
        assert_eq!(
            x.scatter_add(&ids, &source, 1)?.to_vec2::<f32>()?,
            [[8., 1.]]
        );
        let slices = Tensor::new(&[i64::MAX, 1], cpu)?;
        assert_eq!(
            x.index_add(&slices, &source, 1)?.to_vec2::<f32>()?,
            [[1., 8.]]
        );
        for ids in [
            Tensor::new(&[[2u32, 0]], cpu)?,
            Tensor::new(&[[-1i64, 0]], cpu)?,
            Tensor::new(&[[i32::MAX, 0]], cpu)?,
            Tensor::new(&[[0f32, 0.]], cpu)?,
        ] {
            assert!(x.scatter(&ids, &source, 1).is_err());
            assert!(x.scatter_add_set(&ids, &source, 1).is_err());
            assert!(x.index_add(&ids.get(0)?, &source, 1).is_err());
        }
        assert_eq!(
            x.to_vec2::<f32>()?,
            [[1., 1.]],
            "a failed call changes nothing"
        );
        Ok(())
    }

    #[test]
    fn operands_that_do_not_fit_are_errors() -> Result<()> {
        let (x, source) = (matrix(2, 3), matrix(2, 2));
        let ids = source.to_dtype(DType::U32)?;
        assert!(x.scatter(&ids, &source, 2).is_err(), "no such dim");
        assert!(x.scatter(&ids, &matrix(2, 3), 1).is_err(), "ids and source");
        let three = matrix(3, 2);
        let too_many = three.to_dtype(DType::U32)?;
        assert!(x.scatter(&too_many, &three, 1).is_err(), "more rows than x");
        assert!(x.scatter(&ids, &source.to_dtype(DType::F64)?, 1).is_err());
        assert!(x.scatter(&ids.get(0)?, &source.get(0)?, 1).is_err(), "rank");
        let broadcast = x.get(0)?.broadcast_as((2, 3))?;
        assert!(broadcast.scatter_set(&ids, &source, 1).is_err());
        assert!(x.index_add(&ids, &source, 1).is_err(), "ids of rank 2");
        assert!(
            x.index_add(&ids.get(0)?, &x, 1).is_err(),
            "3 slices for 2 ids"
        );
        Ok(())
    }
}
