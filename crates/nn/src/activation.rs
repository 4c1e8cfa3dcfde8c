//! Activations by name, as the settings of models name them, and PReLU.

use crate::{Init, VarBuilder, ops};
use serde::{Deserialize, Serialize};
use tallow::{Module, Result, Tensor, bail};

/// A function of each element. Files name it in lower case without underscores; `gelu_new` and
/// `gelu_pytorch_tanh` are read too. Those with a number are maps: `{"elu": 1.0}`.
///
/// ```
/// use tallow_nn::Activation;
/// let activation: Activation = serde_json::from_str("\"gelu_pytorch_tanh\"").unwrap();
/// assert_eq!(activation, Activation::GeluPytorchTanh);
/// ```
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// x · Φ(x), exact.
    #[default]
    Gelu,
    /// x · Φ(x) by tanh.
    #[serde(alias = "gelu_new")]
    NewGelu,
    /// max(x, 0).
    Relu,
    /// The square of max(x, 0).
    Relu2,
    /// x held between 0 and 6.
    Relu6,
    /// x · sigmoid(x).
    Silu,
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
    /// (x + 3) / 6, held between 0 and 1.
    HardSigmoid,
    /// silu(a) · b of the halves a and b of the last dimension.
    Swiglu,
    /// x · sigmoid(x).
    Swish,
    /// x · tanh(ln(1 + eˣ)).
    Mish,
    /// x · hard sigmoid(x).
    HardSwish,
    /// x where it is positive, the number times eˣ − 1 elsewhere.
    Elu(f64),
    /// x where it is positive, the number times x elsewhere.
    LeakyRelu(f64),
    /// x · Φ(x) by tanh.
    #[serde(alias = "gelu_pytorch_tanh")]
    GeluPytorchTanh,
}

impl Module for Activation {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        match self {
            Self::Gelu => xs.gelu_erf(),
            Self::NewGelu | Self::GeluPytorchTanh => xs.gelu(),
            Self::Relu => xs.relu(),
            Self::Relu2 => xs.relu()?.sqr(),
            Self::Relu6 => xs.clamp(0f32, 6f32),
            Self::Silu | Self::Swish => xs.silu(),
            Self::Sigmoid => xs.sigmoid(),
            Self::HardSigmoid => ops::hard_sigmoid(xs),
            Self::Swiglu => ops::swiglu(xs),
            Self::Mish => ops::mish(xs),
            Self::HardSwish => crate::wide::in_wide(xs, |x| x.mul(&ops::hard_sigmoid(x)?)),
            Self::Elu(alpha) => xs.elu(*alpha),
            Self::LeakyRelu(negative_slope) => ops::leaky_relu(xs, *negative_slope),
        }
    }
}

/// x where it is positive, a learned multiple of x elsewhere (He et al. 2015): one for all
/// elements, or one for each channel.
#[derive(Clone, Debug)]
pub struct PReLU {
    weight: Tensor,
    is_scalar: bool,
}

impl PReLU {
    /// A layer of one slope (`is_scalar`), or of one for each channel, `[channels]`.
    pub fn new(weight: Tensor, is_scalar: bool) -> Self {
        Self { weight, is_scalar }
    }

    /// The slopes.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// True if all elements share one slope.
    pub fn is_scalar(&self) -> bool {
        self.is_scalar
    }
}

impl Module for PReLU {
    /// Channels are the second dimension, or the only one. Errors if their number differs from that
    /// of the slopes.
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let slopes = if self.is_scalar {
            self.weight.reshape(())?
        } else {
            let channels = match *xs.dims() {
                [channels] => channels,
                [_, channels, ..] => channels,
                [] => bail!("prelu: x is a scalar; wants a dim of channels"),
            };
            let count = self.weight.elem_count();
            if count != channels {
                bail!(
                    "prelu: {channels} channels of x {:?}, {count} slopes",
                    xs.shape()
                );
            }
            let mut dims = vec![1; xs.rank().max(2) - 1];
            dims[0] = count;
            self.weight.reshape(dims)?
        };
        xs.gt(0f64)?.where_cond(xs, &xs.broadcast_mul(&slopes)?)
    }
}

/// A layer of one slope (`None`) or of one for each of some channels, from `weight` of the builder;
/// new slopes are 0.25.
pub fn prelu(num_channels: Option<usize>, vb: VarBuilder<'_>) -> Result<PReLU> {
    let weight = vb.get_with_hints(num_channels.unwrap_or(1), "weight", Init::Const(0.25))?;
    Ok(PReLU::new(weight, num_channels.is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, check_gradients, numbers};
    use tallow::{DType, Device};

    const ALL: [(Activation, &str); 15] = [
        (Activation::Gelu, "\"gelu\""),
        (Activation::NewGelu, "\"newgelu\""),
        (Activation::Relu, "\"relu\""),
        (Activation::Relu2, "\"relu2\""),
        (Activation::Relu6, "\"relu6\""),
        (Activation::Silu, "\"silu\""),
        (Activation::Sigmoid, "\"sigmoid\""),
        (Activation::HardSigmoid, "\"hardsigmoid\""),
        (Activation::Swiglu, "\"swiglu\""),
        (Activation::Swish, "\"swish\""),
        (Activation::Mish, "\"mish\""),
        (Activation::HardSwish, "\"hardswish\""),
        (Activation::Elu(0.5), "{\"elu\":0.5}"),
        (Activation::LeakyRelu(0.1), "{\"leakyrelu\":0.1}"),
        (Activation::GeluPytorchTanh, "\"gelupytorchtanh\""),
    ];

    #[test]
    fn names_are_those_of_files() {
        for (activation, name) in ALL {
            assert_eq!(serde_json::to_string(&activation).unwrap(), name);
            assert_eq!(
                serde_json::from_str::<Activation>(name).unwrap(),
                activation
            );
        }
        let read = |name: &str| serde_json::from_str::<Activation>(name);
        assert_eq!(read("\"gelu_new\"").unwrap(), Activation::NewGelu);
        assert_eq!(
            read("\"gelu_pytorch_tanh\"").unwrap(),
            Activation::GeluPytorchTanh
        );
        assert!(read("\"Gelu\"").is_err() && read("\"hard_swish\"").is_err());
        assert_eq!(Activation::default(), Activation::Gelu);
    }

    #[test]
    fn values_by_hand() -> Result<()> {
        let x = Tensor::new(&[-5f32, -1., 0., 1., 8.], &Device::Cpu)?;
        let third = 1.0 / 3.0;
        let e = |x: f64| 0.5 * x.exp_m1();
        let cases: [(Activation, [f64; 5]); 8] = [
            (Activation::Relu, [0., 0., 0., 1., 8.]),
            (Activation::Relu2, [0., 0., 0., 1., 64.]),
            (Activation::Relu6, [0., 0., 0., 1., 6.]),
            (Activation::HardSigmoid, [0., third, 0.5, 2. * third, 1.]),
            (Activation::HardSwish, [0., -third, 0., 2. * third, 8.]),
            (Activation::Elu(0.5), [e(-5.), e(-1.), 0., 1., 8.]),
            (Activation::LeakyRelu(0.1), [-0.5, -0.1, 0., 1., 8.]),
            (
                Activation::Gelu,
                [-1.43326e-6, -0.158655254, 0., 0.841344746, 8.],
            ),
        ];
        for (activation, want) in cases {
            assert_near(&activation.forward(&x)?, &[5], &want, 1e-6);
        }
        let tanh = [-2.2917e-7, -0.15880801, 0., 0.84119199, 8.];
        assert_near(&Activation::NewGelu.forward(&x)?, &[5], &tanh, 1e-6);
        assert_near(&Activation::GeluPytorchTanh.forward(&x)?, &[5], &tanh, 1e-6);
        Ok(())
    }

    #[test]
    fn gradients() -> Result<()> {
        let x = [numbers(&[3, 4], DType::F64)?.affine(3.0, 0.0)?];
        for (activation, name) in ALL {
            let checked = check_gradients(&x, |x| activation.forward(&x[0]));
            checked.map_err(|error| error.context(name))?;
        }
        Ok(())
    }

    #[test]
    fn prelu_has_a_slope_for_each_channel() -> Result<()> {
        let minus = |dims: &[usize]| Tensor::full(-1f32, dims, &Device::Cpu);
        let slopes = Tensor::new(&[1f32, 2., 3.], &Device::Cpu)?;
        let layer = PReLU::new(slopes, false);
        assert_near(&layer.forward(&minus(&[3])?)?, &[3], &[-1., -2., -3.], 0.0);
        let rows = [-1., -2., -3., -1., -2., -3.];
        assert_near(&layer.forward(&minus(&[2, 3])?)?, &[2, 3], &rows, 0.0);
        let images = [-1., -1., -2., -2., -3., -3.];
        assert_near(
            &layer.forward(&minus(&[1, 3, 2, 1])?)?,
            &[1, 3, 2, 1],
            &images,
            0.0,
        );
        assert!(layer.forward(&minus(&[3, 2])?).is_err());
        assert!(layer.forward(&minus(&[])?).is_err());
        let one = PReLU::new(Tensor::new(&[4f32], &Device::Cpu)?, true);
        assert_near(&one.forward(&minus(&[1, 2])?)?, &[1, 2], &[-4., -4.], 0.0);
        assert_near(&one.forward(&minus(&[])?)?, &[], &[-4.], 0.0);
        let operands = [numbers(&[2, 3, 2], DType::F64)?, numbers(&[3], DType::F64)?];
        check_gradients(&operands, |x| {
            PReLU::new(x[1].clone(), false).forward(&x[0])
        })
    }
}
