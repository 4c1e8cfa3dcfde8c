//! Joining tensors (`cat`, `stack`) and writing one into a part of another (`slice_set` in place,
//! `slice_scatter` and `slice_assign` into a copy).
//!
//! Elements are moved as they are. Operands may be any views; one that shares the target's buffer
//! is copied before it is written.

mod cases;
mod cpu;
pub(super) mod gpu;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::index_op::range_within;
use crate::op::{Gradients, InPlaceOp, Op, apply, apply_in_place};
use crate::shape::Dim;
use crate::{CpuStorage, DType, Error, Layout, Result, Shape, Tensor, bail};
use smallvec::smallvec;
use std::ops::RangeBounds;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "concat",
    ops: &[
        info("cat"),
        info("stack"),
        info("slice_set"),
        info("slice_scatter"),
        info("slice_assign"),
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

struct Cat {
    dim: usize,
}

impl Op for Cat {
    fn name(&self) -> &'static str {
        "cat"
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (first, dim) = (inputs[0], self.dim);
        let mut dims = first.dims().to_vec();
        for (n, nth) in inputs.iter().enumerate().skip(1) {
            if nth.dtype() != first.dtype() {
                let (lhs, rhs) = (first.dtype(), nth.dtype());
                return Err(Error::DTypeMismatchBinaryOp {
                    lhs,
                    rhs,
                    op: "cat",
                });
            }
            let mut expected = first.dims().to_vec();
            expected[dim] = nth.dims().get(dim).copied().unwrap_or(0);
            if nth.dims() != expected {
                let (first_shape, nth_shape) = (first.shape().clone(), nth.shape().clone());
                return Err(Error::ShapeMismatchCat {
                    dim,
                    first_shape,
                    n,
                    nth_shape,
                });
            }
            dims[dim] = match dims[dim].checked_add(expected[dim]) {
                Some(size) => size,
                None => bail!("cat: the sizes of dim {dim} add up to more than memory can address"),
            };
        }
        Ok((Shape::from(dims), first.dtype()))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::cat(inputs, self.dim, out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::cat(inputs, self.dim, out)
    }
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let mut start = 0;
        let part = |input: &&Tensor| {
            let len = input.dims()[self.dim];
            start += len;
            upstream.narrow(self.dim, start - len, len).map(Some)
        };
        inputs.iter().map(part).collect()
    }
}

/// Writes the operand to every element of the target, which has its shape.
struct Write;

impl InPlaceOp for Write {
    fn name(&self) -> &'static str {
        "slice_set"
    }
    fn check(&self, target: &Tensor, inputs: &[&Tensor]) -> Result<()> {
        super::binary::same_shape(target, inputs[0], "slice_set").map(|_| ())
    }
    fn cpu(&self, target: &mut CpuStorage, layout: &Layout, inputs: &[CpuView<'_>]) -> Result<()> {
        cpu::write(target, layout, inputs[0])
    }
    fn gpu(&self, target: GpuView<'_>, inputs: &[GpuView<'_>]) -> Result<()> {
        gpu::write(inputs[0], target)
    }
}

/// A copy of the first operand with the second written into a part of it: start and length of each
/// dimension.
struct Assign {
    ranges: Vec<(usize, usize)>,
}

impl Op for Assign {
    fn name(&self) -> &'static str {
        "slice_assign"
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (whole, src, op) = (inputs[0], inputs[1], self.name());
        if whole.dtype() != src.dtype() {
            let (lhs, rhs) = (whole.dtype(), src.dtype());
            return Err(Error::DTypeMismatchBinaryOp { lhs, rhs, op });
        }
        let part: Vec<usize> = self.ranges.iter().map(|&(_, len)| len).collect();
        if src.dims() != part {
            let (lhs, rhs) = (Shape::from(part), src.shape().clone());
            return Err(Error::ShapeMismatchBinaryOp { lhs, rhs, op });
        }
        Ok((whole.shape().clone(), whole.dtype()))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let mut layout = Layout::contiguous(inputs[0].dims());
        cpu::write(out, &layout, inputs[0])?;
        for (dim, &(start, len)) in self.ranges.iter().enumerate() {
            layout = layout.narrow(dim, start, len)?;
        }
        cpu::write(out, &layout, inputs[1])
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::assign([inputs[0], inputs[1]], &self.ranges, out)
    }
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let ranges = self.ranges.clone();
        let for_whole = apply(Self { ranges }, &[upstream, &inputs[1].zeros_like()?])?;
        let mut for_src = upstream.clone();
        for (dim, &(start, len)) in self.ranges.iter().enumerate() {
            for_src = for_src.narrow(dim, start, len)?;
        }
        Ok(smallvec![Some(for_whole), Some(for_src)])
    }
}

/// The part of `whole` that `src` covers from index `start` of a dim on.
fn part_for(
    whole: &Tensor,
    src: &Tensor,
    dim: usize,
    start: usize,
    op: &'static str,
) -> Result<Tensor> {
    let len = src.dims().get(dim).copied().unwrap_or(0);
    let mut expected = whole.dims().to_vec();
    expected[dim] = len;
    if src.dims() != expected {
        let (lhs, rhs) = (whole.shape().clone(), src.shape().clone());
        return Err(Error::ShapeMismatchBinaryOp { lhs, rhs, op });
    }
    if start
        .checked_add(len)
        .is_none_or(|end| end > whole.dims()[dim])
    {
        let (lhs, rhs) = (whole.shape(), src.shape());
        bail!("{op}: {len} indexes from {start} on pass dim {dim}: lhs {lhs:?}, rhs {rhs:?}");
    }
    whole.narrow(dim, start, len)
}

impl Tensor {
    /// Tensors of one dtype joined along a dimension; their other sizes agree.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2.]], &Device::Cpu)?;
    /// let y = Tensor::new(&[[3f32]], &Device::Cpu)?;
    /// assert_eq!(Tensor::cat(&[&x, &y], 1)?.to_vec2::<f32>()?, [[1., 2., 3.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn cat<A: AsRef<Tensor>, D: Dim>(args: &[A], dim: D) -> Result<Self> {
        let Some(first) = args.first().map(AsRef::as_ref) else {
            return Err(Error::OpRequiresAtLeastOneTensor { op: "cat" });
        };
        let dim = dim.to_index(first.shape(), "cat")?;
        if args.len() == 1 {
            return Ok(first.clone());
        }
        let args: Vec<&Tensor> = args.iter().map(AsRef::as_ref).collect();
        apply(Cat { dim }, &args)
    }

    /// Tensors of one shape and dtype joined along a new dimension.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
    /// assert_eq!(Tensor::stack(&[&x, &x], 0)?.to_vec2::<f32>()?, [[1., 2.], [1., 2.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn stack<A: AsRef<Tensor>, D: Dim>(args: &[A], dim: D) -> Result<Self> {
        let Some(first) = args.first().map(AsRef::as_ref) else {
            return Err(Error::OpRequiresAtLeastOneTensor { op: "stack" });
        };
        let dim = dim.to_index_plus_one(first.shape(), "stack")?;
        let with_dim = |arg: &A| {
            let (lhs, rhs) = (first.shape(), arg.as_ref().shape());
            if lhs != rhs {
                let (lhs, rhs) = (lhs.clone(), rhs.clone());
                return Err(Error::ShapeMismatchBinaryOp {
                    lhs,
                    rhs,
                    op: "stack",
                });
            }
            arg.as_ref().unsqueeze(dim)
        };
        Self::cat(&args.iter().map(with_dim).collect::<Result<Vec<_>>>()?, dim)
    }

    /// Writes a tensor into this one in place, from index `offset` of a dimension on; the other
    /// sizes agree. Every tensor over the same buffer sees it. Errors if it passes the dimension's
    /// end, for a broadcast view, and for a tensor into itself.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::zeros(4, DType::F32, &Device::Cpu)?;
    /// x.slice_set(&Tensor::new(&[1f32, 2.], &Device::Cpu)?, 0, 1)?;
    /// assert_eq!(x.to_vec1::<f32>()?, [0., 1., 2., 0.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn slice_set<D: Dim>(&self, src: &Self, dim: D, offset: usize) -> Result<()> {
        let dim = dim.to_index(self.shape(), "slice_set")?;
        if self.id() == src.id() {
            bail!(
                "slice_set: a tensor into itself: shape {:?}; copy it first",
                self.shape()
            );
        }
        let part = part_for(self, src, dim, offset, "slice_set")?;
        apply_in_place(&Write, &part, &[src])
    }

    /// A copy of this tensor with `src` written into it, from index `start` of a dimension on.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let (x, y) = (Tensor::new(&[1u8, 2, 3], &Device::Cpu)?, Tensor::new(&[9u8], &Device::Cpu)?);
    /// assert_eq!(x.slice_scatter(&y, 0, 1)?.to_vec1::<u8>()?, [1, 9, 3]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn slice_scatter<D: Dim>(&self, src: &Self, dim: D, start: usize) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "slice_scatter")?;
        part_for(self, src, dim, start, "slice_scatter")?;
        let whole = |&size: &usize| (0, size);
        let mut ranges: Vec<(usize, usize)> = self.dims().iter().map(whole).collect();
        ranges[dim] = (start, src.dims()[dim]);
        apply(Assign { ranges }, &[self, src])
    }

    /// [`slice_scatter`](Self::slice_scatter) along the first dimension.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let (x, y) = (Tensor::new(&[1u8, 2, 3], &Device::Cpu)?, Tensor::new(&[9u8], &Device::Cpu)?);
    /// assert_eq!(x.slice_scatter0(&y, 2)?.to_vec1::<u8>()?, [1, 2, 9]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn slice_scatter0(&self, src: &Self, start: usize) -> Result<Self> {
        self.slice_scatter(src, 0, start)
    }

    /// A copy of this tensor with `src` written to the part that the ranges name, one for each
    /// dimension.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::zeros((2, 3), DType::U8, &Device::Cpu)?;
    /// let y = x.slice_assign(&[1..2, 0..2], &Tensor::new(&[[5u8, 6]], &Device::Cpu)?)?;
    /// assert_eq!(y.to_vec2::<u8>()?, [[0, 0, 0], [5, 6, 0]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn slice_assign<D: RangeBounds<usize>>(&self, ranges: &[D], src: &Self) -> Result<Self> {
        if ranges.len() != self.rank() {
            bail!(
                "slice_assign: {} ranges for shape {:?}",
                ranges.len(),
                self.shape()
            );
        }
        let within = |(range, &size): (&D, &usize)| {
            let (start, end) = (range.start_bound().cloned(), range.end_bound().cloned());
            range_within(start, end, size)
        };
        let ranges = ranges.iter().zip(self.dims()).map(within);
        let ranges = ranges.collect::<Result<_>>()?;
        apply(Assign { ranges }, &[self, src])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    fn matrix(rows: usize, columns: usize) -> Tensor {
        Tensor::zeros((rows, columns), DType::F32, &Device::Cpu).unwrap()
    }

    #[test]
    fn tensors_that_do_not_join_are_errors() {
        assert!(Tensor::cat::<Tensor, _>(&[], 0).is_err());
        assert!(Tensor::cat(&[matrix(2, 3)], 2).is_err());
        assert!(Tensor::cat(&[matrix(2, 3), matrix(2, 4)], 0).is_err());
        assert!(Tensor::cat(&[matrix(2, 3), matrix(2, 3).flatten_all().unwrap()], 0).is_err());
        let doubles = Tensor::zeros((2, 3), DType::F64, &Device::Cpu).unwrap();
        assert!(Tensor::cat(&[matrix(2, 3), doubles], 0).is_err());
        assert!(Tensor::stack(&[matrix(2, 3), matrix(1, 3)], 0).is_err());
        assert!(Tensor::stack(&[matrix(2, 3)], 3).is_err());
    }

    #[test]
    fn a_write_past_the_end_is_an_error() {
        let x = matrix(2, 3);
        assert!(x.slice_set(&matrix(1, 3), 0, 2).is_err());
        assert!(x.slice_set(&matrix(1, 3), 0, usize::MAX).is_err());
        assert!(x.slice_set(&matrix(1, 2), 0, 0).is_err());
        assert!(x.slice_set(&matrix(1, 3), 2, 0).is_err());
        assert!(x.slice_set(&x, 0, 0).is_err());
        assert!(
            x.slice_assign(std::slice::from_ref(&(0..1)), &matrix(1, 3))
                .is_err()
        );
        assert!(x.slice_assign(&[0..3, 0..3], &matrix(3, 3)).is_err());
    }

    #[test]
    fn nothing_can_be_written_anywhere() -> Result<()> {
        let (x, empty) = (matrix(2, 3), matrix(0, 3));
        for start in [0, 2] {
            assert_eq!(x.slice_scatter(&empty, 0, start)?.dims(), [2, 3]);
            x.slice_set(&empty, 0, start)?;
        }
        assert!(x.slice_scatter(&empty, 0, 3).is_err());
        assert_eq!(empty.slice_assign(&[0..0, 0..3], &empty)?.dims(), [0, 3]);
        assert!(x.slice_scatter(&x.to_dtype(DType::F64)?, 0, 0).is_err());
        Ok(())
    }

    #[test]
    fn a_tensor_can_be_written_into_its_own_buffer() -> Result<()> {
        let x = Tensor::arange(0u32, 5, &Device::Cpu)?;
        x.slice_set(&x.narrow(0, 0, 4)?, 0, 1)?;
        assert_eq!(x.to_vec1::<u32>()?, [0, 0, 1, 2, 3]);
        Ok(())
    }
}
