//! Convolutions as layers.
//!
//! x is `[batch, in, …]` with one dimension of places, or two. Weights are `[out, in / groups, …]`,
//! those of a transposed convolution `[in, out / groups, …]`; biases are `[out]`. Checkpoints name
//! them `weight` and `bias`. New weights are drawn from the Kaiming normal distribution (those of a
//! transposed convolution, and all biases, uniformly from ±1/√n, n being the products that an
//! output adds up).

use crate::linear::bias_init;
use crate::{BatchNorm, VarBuilder, init};
use tallow::conv::CudnnFwdAlgo;
use tallow::{Module, Result, Tensor, bail};

macro_rules! config {
    ($name:ident, $doc:literal, $($(#[$note:meta])* $field:ident: $type:ty = $default:expr),+) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$note])* pub $field: $type),+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }
    };
}

config! {
    Conv1dConfig, "How a [`Conv1d`] moves over its input.",
    /// Zeros on both sides.
    padding: usize = 0,
    /// Places from one window to the next.
    stride: usize = 1,
    /// Places from one element of a window to the next.
    dilation: usize = 1,
    /// Into how many groups the channels are cut.
    groups: usize = 1,
    /// For GPUs that use cuDNN; otherwise without a meaning.
    cudnn_fwd_algo: Option<CudnnFwdAlgo> = None
}

config! {
    Conv2dConfig, "How a [`Conv2d`] moves over its input, the same in both directions.",
    /// Zeros on all sides.
    padding: usize = 0,
    /// Places from one window to the next.
    stride: usize = 1,
    /// Places from one element of a window to the next.
    dilation: usize = 1,
    /// Into how many groups the channels are cut.
    groups: usize = 1,
    /// For GPUs that use cuDNN; otherwise without a meaning.
    cudnn_fwd_algo: Option<CudnnFwdAlgo> = None
}

config! {
    ConvTranspose1dConfig, "How a [`ConvTranspose1d`] moves over its output.",
    /// Places left out on both sides.
    padding: usize = 0,
    /// Places more at the end.
    output_padding: usize = 0,
    /// Places from one window to the next.
    stride: usize = 1,
    /// Places from one element of a window to the next.
    dilation: usize = 1,
    /// Into how many groups the channels are cut.
    groups: usize = 1
}

config! {
    ConvTranspose2dConfig, "How a [`ConvTranspose2d`] moves over its output, the same in both \
    directions.",
    /// Places left out on all sides.
    padding: usize = 0,
    /// Places more at the ends.
    output_padding: usize = 0,
    /// Places from one window to the next.
    stride: usize = 1,
    /// Places from one element of a window to the next.
    dilation: usize = 1
}

macro_rules! layer {
    ($name:ident, $config:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Debug)]
        pub struct $name {
            weight: Tensor,
            bias: Option<Tensor>,
            config: $config,
        }

        impl $name {
            /// A layer of a weight and a bias.
            pub fn new(weight: Tensor, bias: Option<Tensor>, config: $config) -> Self {
                Self {
                    weight,
                    bias,
                    config,
                }
            }

            /// How it moves.
            pub fn config(&self) -> &$config {
                &self.config
            }

            /// The weight.
            pub fn weight(&self) -> &Tensor {
                &self.weight
            }

            /// The bias, `[out]`.
            pub fn bias(&self) -> Option<&Tensor> {
                self.bias.as_ref()
            }
        }
    };
}

layer!(
    Conv1d,
    Conv1dConfig,
    "A convolution of `[batch, in, length]`."
);
layer!(
    Conv2d,
    Conv2dConfig,
    "A convolution of `[batch, in, height, width]`."
);
layer!(
    ConvTranspose1d,
    ConvTranspose1dConfig,
    "A transposed convolution of `[batch, in, length]`."
);
layer!(
    ConvTranspose2d,
    ConvTranspose2dConfig,
    "A transposed convolution of `[batch, in, height, width]`."
);

/// With a bias for each channel, which is the second dimension.
fn biased(y: Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let Some(bias) = bias else {
        return Ok(y);
    };
    let mut dims = vec![1; y.rank() - 1];
    dims[0] = bias.elem_count();
    y.broadcast_add(&bias.reshape(dims)?)
}

impl Module for Conv1d {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let Conv1dConfig {
            padding,
            stride,
            dilation,
            groups,
            cudnn_fwd_algo,
        } = self.config;
        let (weight, algo) = (&self.weight, cudnn_fwd_algo);
        let y = x.conv1d_with_algo(weight, padding, stride, dilation, groups, algo)?;
        biased(y, self.bias())
    }
}

impl Module for Conv2d {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let Conv2dConfig {
            padding,
            stride,
            dilation,
            groups,
            cudnn_fwd_algo,
        } = self.config;
        let (weight, algo) = (&self.weight, cudnn_fwd_algo);
        let y = x.conv2d_with_algo(weight, padding, stride, dilation, groups, algo)?;
        biased(y, self.bias())
    }
}

impl Module for ConvTranspose1d {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let ConvTranspose1dConfig {
            padding,
            output_padding,
            stride,
            dilation,
            groups,
        } = self.config;
        let weight = &self.weight;
        let y = x.conv_transpose1d(weight, padding, output_padding, stride, dilation, groups)?;
        biased(y, self.bias())
    }
}

impl Module for ConvTranspose2d {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let ConvTranspose2dConfig {
            padding,
            output_padding,
            stride,
            dilation,
        } = self.config;
        let y = x.conv_transpose2d(&self.weight, padding, output_padding, stride, dilation)?;
        biased(y, self.bias())
    }
}

impl Conv2d {
    /// The convolution and a batch norm behind it, in use, as one convolution. Errors if the norm
    /// has another number of channels.
    pub fn absorb_bn(&self, bn: &BatchNorm) -> Result<Self> {
        let own = |x: &Tensor| x.to_dtype(self.weight.dtype());
        let spread = own(bn.running_var())?.affine(1.0, bn.eps())?.sqrt()?;
        let (scale, shift) = match bn.weight_and_bias() {
            Some((weight, bias)) => (own(weight)?.div(&spread)?, Some(own(bias)?)),
            None => (spread.recip()?, None),
        };
        let scaled = self.weight.broadcast_mul(&scale.reshape(((), 1, 1, 1))?)?;
        let mean = own(bn.running_mean())?;
        let centred = match &self.bias {
            Some(bias) => bias.sub(&mean)?,
            None => mean.neg()?,
        };
        let bias = centred.mul(&scale)?;
        let bias = match shift {
            Some(shift) => bias.add(&shift)?,
            None => bias,
        };
        Ok(Self::new(scaled, Some(bias), self.config))
    }
}

/// The channels of a group. Errors if the groups do not divide them.
fn group_of(op: &str, channels: usize, groups: usize) -> Result<usize> {
    match groups > 0 && channels.is_multiple_of(groups) {
        true => Ok(channels / groups),
        false => bail!("{op}: {channels} channels, {groups} groups; wants a multiple"),
    }
}

fn products(dims: &[usize]) -> usize {
    dims.iter()
        .fold(1usize, |all, &dim| all.saturating_mul(dim))
}

/// A convolution, from `weight` and `bias` of the builder.
///
/// ```
/// use tallow::{DType, Device, Tensor};
/// use tallow_nn::{Module, VarBuilder, conv1d};
/// let builder = VarBuilder::zeros(DType::F32, &Device::Cpu);
/// let layer = conv1d(3, 8, 5, Default::default(), builder)?;
/// let x = Tensor::ones((2, 3, 9), DType::F32, &Device::Cpu)?;
/// assert_eq!(layer.forward(&x)?.dims(), [2, 8, 5]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn conv1d(
    in_channels: usize,
    out_channels: usize,
    kernel_size: usize,
    cfg: Conv1dConfig,
    vb: VarBuilder<'_>,
) -> Result<Conv1d> {
    let group = group_of("conv1d", in_channels, cfg.groups)?;
    let bias = bias_init(products(&[group, kernel_size]));
    let bias = vb.get_with_hints(out_channels, "bias", bias)?;
    let layer = conv1d_no_bias(in_channels, out_channels, kernel_size, cfg, vb)?;
    Ok(Conv1d::new(layer.weight, Some(bias), cfg))
}

/// A convolution without a bias.
pub fn conv1d_no_bias(
    in_channels: usize,
    out_channels: usize,
    kernel_size: usize,
    cfg: Conv1dConfig,
    vb: VarBuilder<'_>,
) -> Result<Conv1d> {
    let group = group_of("conv1d", in_channels, cfg.groups)?;
    let shape = (out_channels, group, kernel_size);
    let weight = vb.get_with_hints(shape, "weight", init::DEFAULT_KAIMING_NORMAL)?;
    Ok(Conv1d::new(weight, None, cfg))
}

/// A convolution with windows of `kernel_size` squared, from `weight` and `bias` of the builder.
pub fn conv2d(
    in_channels: usize,
    out_channels: usize,
    kernel_size: usize,
    cfg: Conv2dConfig,
    vb: VarBuilder<'_>,
) -> Result<Conv2d> {
    let group = group_of("conv2d", in_channels, cfg.groups)?;
    let bias = bias_init(products(&[group, kernel_size, kernel_size]));
    let bias = vb.get_with_hints(out_channels, "bias", bias)?;
    let layer = conv2d_no_bias(in_channels, out_channels, kernel_size, cfg, vb)?;
    Ok(Conv2d::new(layer.weight, Some(bias), cfg))
}

/// A convolution without a bias.
pub fn conv2d_no_bias(
    in_channels: usize,
    out_channels: usize,
    kernel_size: usize,
    cfg: Conv2dConfig,
    vb: VarBuilder<'_>,
) -> Result<Conv2d> {
    let group = group_of("conv2d", in_channels, cfg.groups)?;
    let shape = (out_channels, group, kernel_size, kernel_size);
    let weight = vb.get_with_hints(shape, "weight", init::DEFAULT_KAIMING_NORMAL)?;
    Ok(Conv2d::new(weight, None, cfg))
}

/// A transposed convolution, from `weight` and `bias` of the builder.
pub fn conv_transpose1d(
    in_channels: usize,
    out_channels: usize,
    kernel_size: usize,
    cfg: ConvTranspose1dConfig,
    vb: VarBuilder<'_>,
) -> Result<ConvTranspose1d> {
    let group = group_of("conv_transpose1d", out_channels, cfg.groups)?;
    let bias = bias_init(products(&[group, kernel_size]));
    let bias = vb.get_with_hints(out_channels, "bias", bias)?;
    let layer = conv_transpose1d_no_bias(in_channels, out_channels, kernel_size, cfg, vb)?;
    Ok(ConvTranspose1d::new(layer.weight, Some(bias), cfg))
}

/// A transposed convolution without a bias.
pub fn conv_transpose1d_no_bias(
    in_channels: usize,
    out_channels: usize,
    kernel_size: usize,
    cfg: ConvTranspose1dConfig,
    vb: VarBuilder<'_>,
) -> Result<ConvTranspose1d> {
    let group = group_of("conv_transpose1d", out_channels, cfg.groups)?;
    let bound = bias_init(products(&[group, kernel_size]));
    let weight = vb.get_with_hints((in_channels, group, kernel_size), "weight", bound)?;
    Ok(ConvTranspose1d::new(weight, None, cfg))
}

/// A transposed convolution with windows of `kernel_size` squared, from `weight` and `bias` of the
/// builder.
pub fn conv_transpose2d(
    in_channels: usize,
    out_channels: usize,
    kernel_size: usize,
    cfg: ConvTranspose2dConfig,
    vb: VarBuilder<'_>,
) -> Result<ConvTranspose2d> {
    let bias = bias_init(products(&[out_channels, kernel_size, kernel_size]));
    let bias = vb.get_with_hints(out_channels, "bias", bias)?;
    let layer = conv_transpose2d_no_bias(in_channels, out_channels, kernel_size, cfg, vb)?;
    Ok(ConvTranspose2d::new(layer.weight, Some(bias), cfg))
}

/// A transposed convolution without a bias.
pub fn conv_transpose2d_no_bias(
    in_channels: usize,
    out_channels: usize,
    kernel_size: usize,
    cfg: ConvTranspose2dConfig,
    vb: VarBuilder<'_>,
) -> Result<ConvTranspose2d> {
    let bound = bias_init(products(&[out_channels, kernel_size, kernel_size]));
    let shape = (in_channels, out_channels, kernel_size, kernel_size);
    let weight = vb.get_with_hints(shape, "weight", bound)?;
    Ok(ConvTranspose2d::new(weight, None, cfg))
}

#[cfg(test)]
mod tests;
