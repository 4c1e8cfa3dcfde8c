//! What a convolution call says, under candle's names, and how it becomes a [`Geometry`].

use super::geometry::{Geometry, Window};
use crate::Result;

/// The algorithm that cuDNN is asked for. Other devices, and the CPU, choose by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are cuDNN's
pub enum CudnnFwdAlgo {
    ImplicitGemm,
    ImplicitPrecompGemm,
    Gemm,
    Direct,
    Fft,
    FftTiling,
    Winograd,
    WinogradNonFused,
    Count,
}

/// A convolution along one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamsConv1D {
    pub(super) padding: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) groups: usize,
    pub(super) cudnn_fwd_algo: Option<CudnnFwdAlgo>,
}

/// A convolution along two dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamsConv2D {
    pub(super) padding: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) groups: usize,
    /// The algorithm that cuDNN is asked for.
    pub cudnn_fwd_algo: Option<CudnnFwdAlgo>,
}

/// A transposed convolution along one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamsConvTranspose1D {
    pub(super) padding: usize,
    pub(super) output_padding: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) groups: usize,
}

/// A transposed convolution along two dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamsConvTranspose2D {
    pub(super) padding: usize,
    pub(super) output_padding: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
}

macro_rules! geometry {
    ($($params:ty, $op:literal, $rank:literal, $groups:expr;)+) => {
        $(impl $params {
            /// The same along every dimension.
            pub(super) fn geometry(&self) -> Result<Geometry> {
                let window = Window {
                    stride: self.stride,
                    padding: self.padding,
                    dilation: self.dilation,
                };
                Geometry::new($op, $rank, window, $groups(self))
            }
        })+
    };
}
geometry! {
    ParamsConv1D, "conv1d", 3, |params: &Self| params.groups;
    ParamsConv2D, "conv2d", 4, |params: &Self| params.groups;
    ParamsConvTranspose1D, "conv_transpose1d", 3, |params: &Self| params.groups;
    ParamsConvTranspose2D, "conv_transpose2d", 4, |_: &Self| 1;
}
