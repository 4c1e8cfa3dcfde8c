//! Convolutions over one, two and three dimensions, and transposed ones.
//!
//! For image x `[batch, groups · in, …]` and kernel w `[groups · out, in, …]`, with the letters of
//! [`geometry`]:
//!
//! `y[b, o, p] = Σ x[b, c, p · stride + t · dilation − padding] · w[o, c, t]`
//!
//! the sum over the channels c of o's group and the taps t; outside the image x is 0. The
//! transposed convolution is the gradient of this with respect to x; its kernel is `[groups · in,
//! out, …]` in its own words. f16, bf16 and f8e4m3 accumulate in f32 and round once; the same bits
//! come for any number of threads.
//!
//! Kernels are matrix products over patches of the image that are made while the product packs
//! them ([`cpu`]), so that no matrix of patches is ever stored.

mod cases;
mod cpu;
mod geometry;
mod gpu;
mod gradients;
mod operation;
pub mod params;

use super::{Family, OpInfo};
use crate::op::apply;
use crate::{DType, Result, Tensor};
use geometry::{Geometry, Window};
use operation::{Conv, ConvTransposed, Image};
use params::{
    CudnnFwdAlgo, ParamsConv1D, ParamsConv2D, ParamsConvTranspose1D, ParamsConvTranspose2D,
};

const fn floats(name: &'static str) -> OpInfo {
    OpInfo {
        name,
        dtypes: &DType::FLOATS,
    }
}

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "conv",
    ops: &[
        floats("conv1d"),
        floats("conv2d"),
        floats("conv3d"),
        floats("conv_transpose1d"),
        floats("conv_transpose2d"),
    ],
    cases: cases::cases,
    draw: cases::draw,
};

fn conv(geometry: Geometry, x: &Tensor, kernel: &Tensor) -> Result<Tensor> {
    let out = None;
    apply(Conv { geometry, out }, &[x, kernel])
}

fn conv_transpose(geometry: Geometry, y: &Tensor, kernel: &Tensor, added: usize) -> Result<Tensor> {
    let image = Image::Least { added };
    apply(ConvTransposed { geometry, image }, &[y, kernel])
}

/// Convolutions.
impl Tensor {
    /// The convolution of `[batch, groups · in, length]` with a kernel `[groups · out, in, taps]`:
    /// `[batch, groups · out, (length + 2 · padding − dilation · (taps − 1) − 1) / stride + 1]`.
    ///
    /// Errors if channels and groups do not fit, if the kernel does not fit into the padded input,
    /// if stride, dilation, groups or taps are 0, or if dtypes differ or are not float types.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[[1f32, 2., 3., 4.]]], &Device::Cpu)?;
    /// let kernel = Tensor::new(&[[[1f32, 10.]]], &Device::Cpu)?;
    /// assert_eq!(x.conv1d(&kernel, 0, 1, 1, 1)?.to_vec3::<f32>()?, [[[21., 32., 43.]]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn conv1d(
        &self,
        kernel: &Self,
        padding: usize,
        stride: usize,
        dilation: usize,
        groups: usize,
    ) -> Result<Self> {
        self.conv1d_with_algo(kernel, padding, stride, dilation, groups, None)
    }

    /// [`conv1d`](Self::conv1d), with the algorithm that cuDNN is asked for.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[[1f32, 2., 3.]]], &Device::Cpu)?;
    /// let y = x.conv1d_with_algo(&x, 0, 1, 1, 1, None)?;
    /// assert_eq!(y.to_vec3::<f32>()?, [[[14.]]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn conv1d_with_algo(
        &self,
        kernel: &Self,
        padding: usize,
        stride: usize,
        dilation: usize,
        groups: usize,
        cudnn_fwd_algo: Option<CudnnFwdAlgo>,
    ) -> Result<Self> {
        let params = ParamsConv1D {
            padding,
            stride,
            dilation,
            groups,
            cudnn_fwd_algo,
        };
        conv(params.geometry()?, self, kernel)
    }

    /// The convolution of `[batch, groups · in, height, width]` with a kernel `[groups · out, in,
    /// taps_y, taps_x]`; padding, stride and dilation are the same along both dimensions. Sizes
    /// and errors as [`conv1d`](Self::conv1d).
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::ones((1, 2, 3, 3), DType::F32, &Device::Cpu)?;
    /// let kernel = Tensor::ones((1, 2, 2, 2), DType::F32, &Device::Cpu)?;
    /// let y = x.conv2d(&kernel, 1, 2, 1, 1)?;
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [2., 4., 4., 8.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn conv2d(
        &self,
        kernel: &Self,
        padding: usize,
        stride: usize,
        dilation: usize,
        groups: usize,
    ) -> Result<Self> {
        self.conv2d_with_algo(kernel, padding, stride, dilation, groups, None)
    }

    /// [`conv2d`](Self::conv2d), with the algorithm that cuDNN is asked for.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::ones((1, 1, 2, 2), DType::F32, &Device::Cpu)?;
    /// assert_eq!(x.conv2d_with_algo(&x, 0, 1, 1, 1, None)?.dims(), [1, 1, 1, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn conv2d_with_algo(
        &self,
        kernel: &Self,
        padding: usize,
        stride: usize,
        dilation: usize,
        groups: usize,
        cudnn_fwd_algo: Option<CudnnFwdAlgo>,
    ) -> Result<Self> {
        let params = ParamsConv2D {
            padding,
            stride,
            dilation,
            groups,
            cudnn_fwd_algo,
        };
        conv(params.geometry()?, self, kernel)
    }

    /// The convolution of `[batch, groups · in, depth, height, width]` with a kernel of rank 5.
    /// Sizes and errors as [`conv1d`](Self::conv1d).
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::ones((1, 1, 2, 3, 4), DType::F32, &Device::Cpu)?;
    /// let kernel = Tensor::ones((5, 1, 2, 2, 2), DType::F32, &Device::Cpu)?;
    /// assert_eq!(x.conv3d(&kernel, 0, 1, 1, 1)?.dims(), [1, 5, 1, 2, 3]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn conv3d(
        &self,
        kernel: &Self,
        padding: usize,
        stride: usize,
        dilation: usize,
        groups: usize,
    ) -> Result<Self> {
        let window = Window {
            stride,
            padding,
            dilation,
        };
        conv(Geometry::new("conv3d", 5, window, groups)?, self, kernel)
    }

    /// The transposed convolution of `[batch, groups · in, length]` with a kernel `[groups · in,
    /// out, taps]`: `[batch, groups · out, (length − 1) · stride − 2 · padding + dilation · (taps −
    /// 1) + output_padding + 1]`.
    ///
    /// Errors if channels and groups do not fit, if nothing is left of the output, if stride,
    /// dilation, groups or taps are 0, or if dtypes differ or are not float types.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[[1f32, 2.]]], &Device::Cpu)?;
    /// let kernel = Tensor::new(&[[[1f32, 10., 100.]]], &Device::Cpu)?;
    /// let y = x.conv_transpose1d(&kernel, 0, 0, 2, 1, 1)?;
    /// assert_eq!(y.to_vec3::<f32>()?, [[[1., 10., 102., 20., 200.]]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn conv_transpose1d(
        &self,
        kernel: &Self,
        padding: usize,
        output_padding: usize,
        stride: usize,
        dilation: usize,
        groups: usize,
    ) -> Result<Self> {
        let params = ParamsConvTranspose1D {
            padding,
            output_padding,
            stride,
            dilation,
            groups,
        };
        conv_transpose(params.geometry()?, self, kernel, params.output_padding)
    }

    /// The transposed convolution of `[batch, in, height, width]` with a kernel `[in, out, taps_y,
    /// taps_x]`. Sizes and errors as [`conv_transpose1d`](Self::conv_transpose1d).
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::ones((1, 1, 2, 2), DType::F32, &Device::Cpu)?;
    /// let kernel = Tensor::ones((1, 3, 2, 2), DType::F32, &Device::Cpu)?;
    /// assert_eq!(x.conv_transpose2d(&kernel, 0, 1, 2, 1)?.dims(), [1, 3, 5, 5]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn conv_transpose2d(
        &self,
        kernel: &Self,
        padding: usize,
        output_padding: usize,
        stride: usize,
        dilation: usize,
    ) -> Result<Self> {
        let params = ParamsConvTranspose2D {
            padding,
            output_padding,
            stride,
            dilation,
        };
        conv_transpose(params.geometry()?, self, kernel, params.output_padding)
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Device, Result, Tensor};

    fn ones(dims: &[usize]) -> Result<Tensor> {
        Tensor::ones(dims, DType::F32, &Device::Cpu)
    }

    fn text(result: Result<Tensor>) -> String {
        result.map(|_| ()).expect_err("an error").to_string()
    }

    #[test]
    fn arguments_without_meaning_are_errors() -> Result<()> {
        let (x, kernel) = (ones(&[1, 1, 4, 4])?, ones(&[1, 1, 2, 2])?);
        assert_eq!(
            text(x.conv2d(&kernel, 0, 0, 1, 1)),
            "conv2d: stride 0, dilation 1, groups 1; each has to be at least 1"
        );
        assert!(text(x.conv2d(&kernel, 0, 1, 0, 1)).contains("dilation 0"));
        assert!(text(x.conv2d(&kernel, 0, 1, 1, 0)).contains("groups 0"));
        assert!(text(x.conv2d(&kernel, usize::MAX, 1, 1, 1)).contains("memory"));
        assert!(x.conv2d(&kernel, usize::MAX / 16, 1, 1, 1).is_err());
        assert!(x.conv2d(&kernel, 0, 1, usize::MAX / 16, 1).is_err());
        assert!(text(x.conv2d(&ones(&[1, 1, 0, 0])?, 0, 1, 1, 1)).contains("no taps"));
        assert!(text(x.conv_transpose2d(&kernel, 0, 0, 0, 1)).contains("stride 0"));
        assert!(x.conv_transpose2d(&kernel, 0, usize::MAX, 1, 1).is_err());
        assert!(
            x.conv_transpose2d(&kernel, 0, 0, usize::MAX / 16, 1)
                .is_err()
        );
        assert!(text(x.conv_transpose2d(&kernel, 3, 0, 1, 1)).contains("no output is left"));
        let line = ones(&[1, 1, 4])?;
        assert!(line.conv1d(&ones(&[1, 1, 0])?, 0, 1, 1, 1).is_err());
        assert!(text(line.conv1d(&kernel, 0, 1, 1, 1)).starts_with("conv1d: unexpected rank"));
        assert!(x.conv1d(&kernel, 0, 1, 1, 1).is_err());
        Ok(())
    }

    #[test]
    fn kernels_that_do_not_fit_are_errors() -> Result<()> {
        assert_eq!(
            text(ones(&[1, 1, 2, 5])?.conv2d(&ones(&[1, 1, 3, 3])?, 0, 1, 1, 1)),
            "conv2d: kernel does not fit: input [1, 1, 2, 5] with padding 0, kernel [1, 1, 3, 3] \
             with dilation 1"
        );
        let line = ones(&[1, 1, 2])?;
        for (taps, dilation) in [(3, 1), (4, 1), (2, 3)] {
            assert!(
                line.conv1d(&ones(&[1, 1, taps])?, 0, 1, dilation, 1)
                    .is_err()
            );
        }
        let x = ones(&[1, 6, 4])?;
        // In each group the kernel takes another number, or groups do not divide.
        for (kernel, groups) in [
            ([2, 4, 1], 1),
            ([2, 3, 1], 3),
            ([3, 3, 1], 2),
            ([4, 1, 1], 4),
        ] {
            let message = text(x.conv1d(&ones(&kernel)?, 0, 1, 1, groups));
            assert!(message.contains("channels do not fit"), "{message}");
        }
        for (kernel, groups) in [([5, 1, 1], 1), ([6, 1, 1], 4)] {
            let message = text(x.conv_transpose1d(&ones(&kernel)?, 0, 0, 1, 1, groups));
            assert!(message.contains("channels do not fit"), "{message}");
        }
        let half = ones(&[2, 6, 1])?.to_dtype(DType::F16)?;
        assert!(text(x.conv1d(&half, 0, 1, 1, 1)).contains("dtypes differ"));
        let ids = Tensor::zeros((1, 1, 1), DType::U32, &Device::Cpu)?;
        assert!(text(ids.conv1d(&ids, 0, 1, 1, 1)).contains("not supported"));
        Ok(())
    }
}
