//! The three operations, each of which is the gradient of the other two.
//!
//! A convolution is linear in its image x and its kernel w. With S = Σ y · conv(x, w) for any y,
//! the three are the derivatives of S:
//!
//! | operation | operands | result |
//! |---|---|---|
//! | [`Conv`] | x, w | ∂S/∂y, the convolution |
//! | [`ConvTransposed`] | y, w | ∂S/∂x, the transposed convolution |
//! | [`ConvKernel`] | x, y | ∂S/∂w |
//!
//! and S is linear in each of x, w and y, so that the gradients of any of the three are the other
//! two. Shapes: x `[batch, groups · in, …]`, w `[groups · out, in, …]`, y `[batch, groups · out,
//! …]`.

use super::geometry::{Geometry, Sizes};
use super::{cpu, gpu, gradients};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor};
use smallvec::smallvec;

/// x and w give y.
pub(super) struct Conv {
    pub(super) geometry: Geometry,
    /// The shape of y, where it is not the one that covers x.
    pub(super) out: Option<Shape>,
}

/// y and w give x.
pub(super) struct ConvTransposed {
    pub(super) geometry: Geometry,
    pub(super) image: Image,
}

/// The size of what a transposed convolution gives: a stride skips rows at the end of the image, so
/// that several sizes of it give the same y.
pub(super) enum Image {
    /// The least that there is, with so many elements more along each dimension.
    Least { added: usize },
    /// This shape.
    Shape(Shape),
}

/// x and y give w.
pub(super) struct ConvKernel {
    pub(super) geometry: Geometry,
    pub(super) kernel: Shape,
}

fn float(dtype: DType, op: &'static str) -> Result<DType> {
    match DType::FLOATS.contains(&dtype) {
        true => Ok(dtype),
        false => Err(Error::UnsupportedDTypeForOp(dtype, op)),
    }
}

impl Op for Conv {
    fn name(&self) -> &'static str {
        self.geometry.op
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (x, kernel) = (inputs[0], inputs[1]);
        self.geometry.check_operands(x, kernel)?;
        let dtype = float(x.dtype(), self.name())?;
        match &self.out {
            Some(shape) => Ok((shape.clone(), dtype)),
            None => {
                let dims = self.geometry.forward_dims(x.dims(), kernel.dims())?;
                Ok((Shape::from(dims), dtype))
            }
        }
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let (x, kernel) = (inputs[0], inputs[1]);
        let sizes = self.sizes(x.dims(), kernel.dims())?;
        crate::with_dtype!(x.dtype(), self.name(), T in floats => {
            cpu::forward::<T>(x.typed()?, kernel.typed()?, &sizes, out.as_mut_slice()?)
        })
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        let (x, kernel) = (inputs[0], inputs[1]);
        let sizes = self.sizes(x.dims(), kernel.dims())?;
        gpu::run(self.name(), gpu::Kind::Forward, &sizes, [x, kernel], out)
    }

    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let (geometry, x, kernel) = (self.geometry, inputs[0], inputs[1]);
        let for_x = || gradients::image(geometry, upstream, kernel, x);
        let for_kernel = || gradients::kernel(geometry, x, upstream, kernel);
        both(inputs, for_x, for_kernel)
    }
}

impl Op for ConvTransposed {
    fn name(&self) -> &'static str {
        self.geometry.op
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (y, kernel) = (inputs[0], inputs[1]);
        self.geometry.check_operands(y, kernel)?;
        let dtype = float(y.dtype(), self.name())?;
        Ok((
            Shape::from(self.image_dims(y.dims(), kernel.dims())?),
            dtype,
        ))
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let (y, kernel) = (inputs[0], inputs[1]);
        let image = self.image_dims(y.dims(), kernel.dims())?;
        let sizes = self.geometry.sizes(&image, kernel.dims(), y.dims());
        crate::with_dtype!(y.dtype(), self.name(), T in floats => {
            cpu::transposed::<T>(y.typed()?, kernel.typed()?, &sizes, out.as_mut_slice()?)
        })
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        let (y, kernel) = (inputs[0], inputs[1]);
        let image = self.image_dims(y.dims(), kernel.dims())?;
        let sizes = self.geometry.sizes(&image, kernel.dims(), y.dims());
        gpu::run(self.name(), gpu::Kind::Transposed, &sizes, [y, kernel], out)
    }

    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let (geometry, y, kernel) = (self.geometry, inputs[0], inputs[1]);
        let for_y = || gradients::result(geometry, upstream, kernel, y);
        let for_kernel = || gradients::kernel(geometry, upstream, y, kernel);
        both(inputs, for_y, for_kernel)
    }
}

impl Conv {
    fn sizes(&self, x: &[usize], kernel: &[usize]) -> Result<Sizes> {
        let dims = match &self.out {
            Some(shape) => shape.dims().to_vec(),
            None => self.geometry.forward_dims(x, kernel)?,
        };
        Ok(self.geometry.sizes(x, kernel, &dims))
    }
}

impl ConvTransposed {
    fn image_dims(&self, y: &[usize], kernel: &[usize]) -> Result<Vec<usize>> {
        match &self.image {
            Image::Shape(shape) => Ok(shape.dims().to_vec()),
            Image::Least { added } => self.geometry.transposed_dims(y, kernel, *added),
        }
    }
}

impl Op for ConvKernel {
    fn name(&self) -> &'static str {
        self.geometry.op
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        Ok((self.kernel.clone(), inputs[0].dtype()))
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let (x, y) = (inputs[0], inputs[1]);
        let sizes = self.geometry.sizes(x.dims(), self.kernel.dims(), y.dims());
        crate::with_dtype!(x.dtype(), self.name(), T in floats => {
            cpu::kernel::<T>(x.typed()?, y.typed()?, &sizes, out.as_mut_slice()?)
        })
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        let (x, y) = (inputs[0], inputs[1]);
        let sizes = self.geometry.sizes(x.dims(), self.kernel.dims(), y.dims());
        gpu::run(self.name(), gpu::Kind::Kernel, &sizes, [x, y], out)
    }

    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let (geometry, x, y) = (self.geometry, inputs[0], inputs[1]);
        let for_x = || gradients::image(geometry, y, upstream, x);
        let for_y = || gradients::result(geometry, x, upstream, y);
        both(inputs, for_x, for_y)
    }
}

/// The gradients of the operands that want one.
fn both(
    inputs: &[&Tensor],
    first: impl FnOnce() -> Result<Tensor>,
    second: impl FnOnce() -> Result<Tensor>,
) -> Result<Gradients> {
    let first = inputs[0].track_op().then(first).transpose()?;
    let second = inputs[1].track_op().then(second).transpose()?;
    Ok(smallvec![first, second])
}
