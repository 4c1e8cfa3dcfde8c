//! Resizing of images: the nearest element, or bilinear interpolation.
//!
//! Nearest: position `p` of a result of `m` elements takes element `⌊p · n / m⌋` of `n`, in whole
//! numbers, so that no rounding moves a border.
//!
//! Bilinear: position `p` stands at `(p + ½) · n / m − ½` of the input, where elements are areas,
//! or, with corners aligned, at `p · (n − 1) / (m − 1)`; it is cut off at the first and the last
//! element, and the result is the weighted mean of the elements on both sides, in each dimension.
//! Given scales take the place of `m / n`. That is the meaning that PyTorch's `interpolate` has.
//! f16, bf16 and f8e4m3 are computed in f32 and rounded once.
//!
//! [`taps`] holds both as tables; the gradient goes back along the same tables.

mod cases;
mod cpu;
mod gpu;
mod gradient;
mod taps;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor, bail};
use smallvec::smallvec;
use taps::Taps;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "resize",
    ops: &[
        OpInfo {
            name: "upsample_nearest1d",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "upsample_nearest2d",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "upsample_bilinear2d",
            dtypes: &DType::FLOATS,
        },
        OpInfo {
            name: "upsample_bilinear2d_with_scale",
            dtypes: &DType::FLOATS,
        },
    ],
    cases: cases::cases,
    draw: cases::draw,
};

/// How a dimension is resized.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    Nearest,
    AlignedCorners,
    /// Elements are areas; the scale, where one was given.
    Areas(Option<f64>),
}

/// New sizes of the last dimensions.
#[derive(Clone, Debug)]
struct Resize {
    op: &'static str,
    /// The rank of the operand.
    rank: usize,
    /// Height and width; 1 and the length where there is one dimension.
    target: [usize; 2],
    methods: [Method; 2],
}

impl Resize {
    fn out_shape(&self, image: &Shape) -> Result<Shape> {
        let (op, rank) = (self.op, self.rank);
        if image.rank() != rank {
            return Err(Error::UnexpectedNumberOfDims {
                expected: rank,
                got: image.rank(),
                shape: image.clone(),
            }
            .context(op));
        }
        let target = &self.target[4 - rank..];
        let gains = |(&from, &to): (&usize, &usize)| from == 0 && to > 0;
        if image.dims()[2..].iter().zip(target).any(gains) {
            bail!("{op}: nothing to interpolate: input {image:?}, target {target:?}");
        }
        let dims = [&image.dims()[..2], target].concat();
        Ok(Shape::from(dims))
    }

    /// The tables of both dimensions.
    fn taps(&self, image: &[usize]) -> [Vec<Taps>; 2] {
        let from = size(image);
        std::array::from_fn(|dim| taps::table(from[dim], self.target[dim], self.methods[dim]))
    }
}

/// Rows and columns of an image `[batch, channels, (rows,) columns]`.
fn size(image: &[usize]) -> [usize; 2] {
    match image[2..] {
        [columns] => [1, columns],
        _ => [image[2], image[3]],
    }
}

impl Op for Resize {
    fn name(&self) -> &'static str {
        self.op
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let dtype = inputs[0].dtype();
        let dtypes = match self.methods[1] {
            Method::Nearest => &DType::COMPUTE[..],
            _ => &DType::FLOATS[..],
        };
        if !dtypes.contains(&dtype) {
            return Err(Error::UnsupportedDTypeForOp(dtype, self.op));
        }
        Ok((self.out_shape(inputs[0].shape())?, dtype))
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let x = inputs[0];
        let taps = self.taps(x.dims());
        match self.methods[1] {
            Method::Nearest => crate::with_dtype!(x.dtype(), self.op, T in all => {
                cpu::nearest::<T>(x.typed()?, &taps, out.as_mut_slice()?)
            }),
            _ => crate::with_dtype!(x.dtype(), self.op, T in floats => {
                cpu::bilinear::<T>(x.typed()?, &taps, out.as_mut_slice()?)
            }),
        }
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        let (x, taps) = (inputs[0], self.taps(inputs[0].dims()));
        let way = match self.methods[1] {
            Method::Nearest => gpu::Way::Nearest,
            _ => gpu::Way::Bilinear,
        };
        gpu::run(way, &taps, size(x.dims()), x, out)
    }

    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        Ok(smallvec![Some(gradient::of_image(
            self, inputs[0], upstream
        )?)])
    }
}

fn nearest(op: &'static str, rank: usize, target: [usize; 2], x: &Tensor) -> Result<Tensor> {
    let methods = [Method::Nearest; 2];
    let resize = Resize {
        op,
        rank,
        target,
        methods,
    };
    apply(resize, &[x])
}

/// Resizing.
impl Tensor {
    /// `[batch, channels, length]` to another length, each element the nearest one's value. Errors
    /// if the rank is not 3, or if the length is 0 and the target is not.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[[1u8, 2, 3]]], &Device::Cpu)?;
    /// assert_eq!(x.interpolate1d(5)?.to_vec3::<u8>()?, [[[1, 1, 2, 2, 3]]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn interpolate1d(&self, target_size: usize) -> Result<Self> {
        nearest("upsample_nearest1d", 3, [1, target_size], self)
    }

    /// [`interpolate1d`](Self::interpolate1d) under its other name.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[[1f32, 2.]]], &Device::Cpu)?;
    /// assert_eq!(x.upsample_nearest1d(4)?.to_vec3::<f32>()?, [[[1., 1., 2., 2.]]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn upsample_nearest1d(&self, target_size: usize) -> Result<Self> {
        self.interpolate1d(target_size)
    }

    /// `[batch, channels, height, width]` to another height and width, each element the nearest
    /// one's value. Errors if the rank is not 4, or if a size is 0 and its target is not.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[[[1f32, 2.]]]], &Device::Cpu)?;
    /// let y = x.interpolate2d(2, 3)?;
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [1., 1., 2., 1., 1., 2.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn interpolate2d(&self, target_h: usize, target_w: usize) -> Result<Self> {
        nearest("upsample_nearest2d", 4, [target_h, target_w], self)
    }

    /// [`interpolate2d`](Self::interpolate2d) under its other name.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::ones((1, 3, 2, 2), DType::F32, &Device::Cpu)?;
    /// assert_eq!(x.upsample_nearest2d(4, 6)?.dims(), [1, 3, 4, 6]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn upsample_nearest2d(&self, target_h: usize, target_w: usize) -> Result<Self> {
        self.interpolate2d(target_h, target_w)
    }

    /// `[batch, channels, height, width]` to another height and width, bilinear: between elements
    /// that are areas, or, with `align_corners`, points of which the outer ones stay where they
    /// are. Float types only; errors as [`interpolate2d`](Self::interpolate2d).
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[[[0f32, 4.]]]], &Device::Cpu)?;
    /// let y = x.upsample_bilinear2d(1, 4, false)?;
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [0., 1., 3., 4.]);
    /// let y = x.upsample_bilinear2d(1, 5, true)?;
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [0., 1., 2., 3., 4.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn upsample_bilinear2d(
        &self,
        target_h: usize,
        target_w: usize,
        align_corners: bool,
    ) -> Result<Self> {
        let method = match align_corners {
            true => Method::AlignedCorners,
            false => Method::Areas(None),
        };
        let resize = Resize {
            op: "upsample_bilinear2d",
            rank: 4,
            target: [target_h, target_w],
            methods: [method; 2],
        };
        apply(resize, &[self])
    }

    /// [`upsample_bilinear2d`](Self::upsample_bilinear2d) by factors: sizes are multiplied and
    /// rounded down, and without `align_corners` positions follow the factors, not the sizes.
    /// Errors if a factor is not a positive finite number.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[[[0f32, 4.]]]], &Device::Cpu)?;
    /// let y = x.upsample_bilinear2d_with_scale(1.0, 2.0, false)?;
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [0., 1., 3., 4.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn upsample_bilinear2d_with_scale(
        &self,
        scale_h: f64,
        scale_w: f64,
        align_corners: bool,
    ) -> Result<Self> {
        let op = "upsample_bilinear2d_with_scale";
        let (_, _, height, width) = self.dims4().map_err(|error| error.context(op))?;
        let is_scale = |scale: f64| scale > 0.0 && scale.is_finite();
        if !is_scale(scale_h) || !is_scale(scale_w) {
            bail!("{op}: scales {scale_h} and {scale_w}; wants positive finite numbers");
        }
        let method = |scale| match align_corners {
            true => Method::AlignedCorners,
            false => Method::Areas(Some(scale)),
        };
        // Beyond what memory can address the cast saturates, and the shape is refused.
        let scaled = |size: usize, scale: f64| (size as f64 * scale).floor() as usize;
        let resize = Resize {
            op,
            rank: 4,
            target: [scaled(height, scale_h), scaled(width, scale_w)],
            methods: [method(scale_h), method(scale_w)],
        };
        apply(resize, &[self])
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Device, Result, Tensor};

    #[test]
    fn what_cannot_be_resized_is_an_error() -> Result<()> {
        let x = Tensor::ones((1, 1, 2, 3), DType::F32, &Device::Cpu)?;
        let text = |result: Result<Tensor>| result.map(|_| ()).expect_err("an error").to_string();
        assert!(text(x.interpolate1d(2)).starts_with("upsample_nearest1d: unexpected rank"));
        assert!(x.squeeze(0)?.interpolate2d(2, 2).is_err());
        assert!(x.squeeze(0)?.upsample_bilinear2d(2, 2, true).is_err());
        assert!(x.interpolate2d(usize::MAX, 2).is_err());
        assert!(
            x.upsample_bilinear2d(usize::MAX, usize::MAX, false)
                .is_err()
        );
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let message = text(x.upsample_bilinear2d_with_scale(1.0, scale, false));
            assert!(message.contains("positive finite"), "{message}");
        }
        assert!(x.upsample_bilinear2d_with_scale(1e300, 1.0, false).is_err());
        assert!(
            x.to_dtype(DType::I64)?
                .upsample_bilinear2d(2, 2, false)
                .is_err()
        );
        let empty = x.narrow(3, 0, 0)?;
        assert_eq!(
            text(empty.interpolate2d(2, 2)),
            "upsample_nearest2d: nothing to interpolate: input [1, 1, 2, 0], target [2, 2]"
        );
        assert_eq!(empty.interpolate2d(4, 0)?.dims(), [1, 1, 4, 0]);
        assert_eq!(
            x.upsample_bilinear2d_with_scale(0.1, 1.0, false)?.dims(),
            [1, 1, 0, 3]
        );
        Ok(())
    }
}
