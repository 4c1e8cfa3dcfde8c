//! Pooling: the largest value, or the mean, of each window of an image.
//!
//! `[batch, channels, height, width]` gives `[batch, channels, (height − window) / stride + 1, …]`;
//! windows lie wholly inside the image. Means of f16, bf16 and f8e4m3 are summed in f32 and rounded
//! once; integers have a maximum but no mean. A NaN in a window is its maximum.
//!
//! The gradient of a maximum goes to the window's first largest element, that of a mean in equal
//! parts to all. Windows may overlap: shares add up.

mod cases;
mod cpu;
mod gpu;
mod gradient;

pub(super) use cpu::Pooled;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor, bail};
use smallvec::smallvec;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "pool",
    ops: &[
        OpInfo {
            name: "max_pool2d",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "avg_pool2d",
            dtypes: &DType::FLOATS,
        },
    ],
    cases: cases::cases,
    draw: cases::draw,
};

/// One size for both dimensions, or one for each: height, width.
pub trait ToUsize2 {
    /// Height and width.
    fn to_usize2(self) -> (usize, usize);
}

impl ToUsize2 for usize {
    fn to_usize2(self) -> (usize, usize) {
        (self, self)
    }
}

impl ToUsize2 for (usize, usize) {
    fn to_usize2(self) -> (usize, usize) {
        self
    }
}

/// What is taken of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Max,
    Mean,
}

/// Windows of an image: sizes and steps, height first.
#[derive(Clone, Copy, Debug)]
struct Windows {
    kind: Kind,
    size: [usize; 2],
    stride: [usize; 2],
}

impl Windows {
    fn new(kind: Kind, size: impl ToUsize2, stride: impl ToUsize2) -> Self {
        Self {
            kind,
            size: size.to_usize2().into(),
            stride: stride.to_usize2().into(),
        }
    }

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Max => "max_pool2d",
            Kind::Mean => "avg_pool2d",
        }
    }

    /// The result's shape.
    fn out_dims(&self, image: &Shape) -> Result<[usize; 4]> {
        let op = self.name();
        let (batch, channels, height, width) = image.dims4().map_err(|error| error.context(op))?;
        let Self { size, stride, .. } = *self;
        if size.contains(&0) || stride.contains(&0) {
            bail!("{op}: window {size:?}, stride {stride:?}; each has to be at least 1");
        }
        if size[0] > height || size[1] > width {
            bail!("{op}: window {size:?} does not fit into the image: {image:?}");
        }
        let rows = (height - size[0]) / stride[0] + 1;
        let columns = (width - size[1]) / stride[1] + 1;
        Ok([batch, channels, rows, columns])
    }
}

struct Pool(Windows);

impl Op for Pool {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let dtype = inputs[0].dtype();
        let dtypes = match self.0.kind {
            Kind::Max => &DType::COMPUTE[..],
            Kind::Mean => &DType::FLOATS[..],
        };
        if !dtypes.contains(&dtype) {
            return Err(Error::UnsupportedDTypeForOp(dtype, self.name()));
        }
        Ok((Shape::from(self.0.out_dims(inputs[0].shape())?), dtype))
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let x = inputs[0];
        match self.0.kind {
            Kind::Max => crate::with_dtype!(x.dtype(), self.name(), T in all => {
                cpu::max::<T>(x.typed()?, self.0, out.as_mut_slice()?)
            }),
            Kind::Mean => crate::with_dtype!(x.dtype(), self.name(), T in floats => {
                cpu::mean::<T>(x.typed()?, self.0, out.as_mut_slice()?)
            }),
        }
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::pool(self.0, inputs[0], out)
    }

    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        Ok(smallvec![Some(gradient::of_image(
            self.0, inputs[0], upstream
        )?)])
    }
}

/// Pooling.
impl Tensor {
    /// The largest value of each window of `[batch, channels, height, width]`, windows side by
    /// side. Errors if the rank is not 4, if a size is 0 or larger than the image.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::arange(0f32, 16., &Device::Cpu)?.reshape((1, 1, 4, 4))?;
    /// assert_eq!(x.max_pool2d(2)?.flatten_all()?.to_vec1::<f32>()?, [5., 7., 13., 15.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn max_pool2d<T: ToUsize2>(&self, sz: T) -> Result<Self> {
        let size = sz.to_usize2();
        apply(Pool(Windows::new(Kind::Max, size, size)), &[self])
    }

    /// [`max_pool2d`](Self::max_pool2d) with windows `stride` apart.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::arange(0f32, 9., &Device::Cpu)?.reshape((1, 1, 3, 3))?;
    /// let y = x.max_pool2d_with_stride((2, 3), (1, 1))?;
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [5., 8.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn max_pool2d_with_stride<T: ToUsize2>(&self, kernel_size: T, stride: T) -> Result<Self> {
        apply(Pool(Windows::new(Kind::Max, kernel_size, stride)), &[self])
    }

    /// The mean of each window of `[batch, channels, height, width]`, windows side by side. Errors
    /// as [`max_pool2d`](Self::max_pool2d), and for integers.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::arange(0f32, 16., &Device::Cpu)?.reshape((1, 1, 4, 4))?;
    /// let y = x.avg_pool2d((4, 2))?;
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [6.5, 8.5]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn avg_pool2d<T: ToUsize2>(&self, sz: T) -> Result<Self> {
        let size = sz.to_usize2();
        apply(Pool(Windows::new(Kind::Mean, size, size)), &[self])
    }

    /// [`avg_pool2d`](Self::avg_pool2d) with windows `stride` apart.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::arange(0f32, 4., &Device::Cpu)?.reshape((1, 1, 1, 4))?;
    /// let y = x.avg_pool2d_with_stride((1, 2), (1, 1))?;
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [0.5, 1.5, 2.5]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn avg_pool2d_with_stride<T: ToUsize2>(&self, kernel_size: T, stride: T) -> Result<Self> {
        let windows = Windows::new(Kind::Mean, kernel_size, stride);
        apply(Pool(windows), &[self])
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Device, Result, Tensor};

    #[test]
    fn windows_without_meaning_are_errors() -> Result<()> {
        let x = Tensor::ones((1, 1, 4, 5), DType::F32, &Device::Cpu)?;
        let text = |result: Result<Tensor>| result.map(|_| ()).expect_err("an error").to_string();
        assert_eq!(
            text(x.max_pool2d_with_stride((2, 2), (1, 0))),
            "max_pool2d: window [2, 2], stride [1, 0]; each has to be at least 1"
        );
        assert!(x.avg_pool2d_with_stride((2, 2), (0, 1)).is_err());
        assert!(x.max_pool2d_with_stride(0, 1).is_err());
        assert!(x.avg_pool2d_with_stride((1, 0), (1, 1)).is_err());
        assert_eq!(
            text(x.max_pool2d(5)),
            "max_pool2d: window [5, 5] does not fit into the image: [1, 1, 4, 5]"
        );
        assert!(x.avg_pool2d((1, 6)).is_err());
        assert!(text(x.squeeze(0)?.max_pool2d(1)).starts_with("max_pool2d: unexpected rank"));
        let ids = x.to_dtype(DType::U8)?;
        assert!(text(ids.avg_pool2d(2)).contains("not supported"));
        assert_eq!(ids.max_pool2d((4, 5))?.dims(), [1, 1, 1, 1]);
        Ok(())
    }
}
