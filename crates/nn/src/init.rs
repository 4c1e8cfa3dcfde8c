//! How new variables are filled.
//!
//! The Kaiming rule (He et al. 2015) keeps the spread of activations from layer to layer: the
//! standard deviation is gain / √fan, fan being the number of products that an output (or an input,
//! on the way back) adds up, and the gain that of the function behind the layer.

use tallow::{DType, Device, Result, Shape, Tensor, Var};

/// Which end of the weight is counted. Weights are `[out, in, …]`.
#[derive(Clone, Copy, Debug)]
pub enum FanInOut {
    /// The inputs: the spread stays on the way forward.
    FanIn,
    /// The outputs: the spread of gradients stays on the way back.
    FanOut,
}

impl FanInOut {
    /// The number of products for a weight of this shape; 1 where the shape has no such dimension.
    ///
    /// ```
    /// use tallow::Shape;
    /// use tallow_nn::init::FanInOut;
    /// let convolution = Shape::from((8, 3, 5, 5));
    /// assert_eq!(FanInOut::FanIn.for_shape(&convolution), 75);
    /// assert_eq!(FanInOut::FanOut.for_shape(&convolution), 200);
    /// ```
    pub fn for_shape(&self, shape: &Shape) -> usize {
        let product = |dims: &[usize]| {
            dims.iter()
                .fold(1usize, |all, &dim| all.saturating_mul(dim))
        };
        match (self, shape.dims()) {
            (Self::FanIn, [_, inputs @ ..]) => product(inputs),
            (Self::FanOut, [outputs, _, rest @ ..]) => product(rest).saturating_mul(*outputs),
            (Self::FanOut, [outputs]) => *outputs,
            (_, []) => 1,
        }
    }
}

/// The shape of a random distribution.
#[derive(Clone, Copy, Debug)]
pub enum NormalOrUniform {
    /// The normal distribution.
    Normal,
    /// All values within bounds are equally likely.
    Uniform,
}

/// The function behind a layer.
#[derive(Clone, Copy, Debug)]
pub enum NonLinearity {
    /// max(x, 0).
    ReLU,
    /// None.
    Linear,
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// The scaled exponential linear unit.
    SELU,
    /// Any other, by its gain.
    ExplicitGain(f64),
}

impl NonLinearity {
    /// By how much the spread has to grow to make up for the function.
    pub fn gain(&self) -> f64 {
        match *self {
            Self::ReLU => std::f64::consts::SQRT_2,
            Self::Linear | Self::Sigmoid => 1.0,
            Self::Tanh => 5.0 / 3.0,
            Self::SELU => 3.0 / 4.0,
            Self::ExplicitGain(gain) => gain,
        }
    }
}

/// How a new variable is filled.
#[derive(Clone, Copy, Debug)]
pub enum Init {
    /// One value.
    Const(f64),
    /// The normal distribution.
    Randn {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        stdev: f64,
    },
    /// Values from `lo` up to `up`, which is left out, equally likely.
    Uniform {
        /// The lower bound.
        lo: f64,
        /// The upper bound.
        up: f64,
    },
    /// By the Kaiming rule, around 0.
    Kaiming {
        /// The distribution.
        dist: NormalOrUniform,
        /// Which end of the weight is counted.
        fan: FanInOut,
        /// The function behind the layer.
        non_linearity: NonLinearity,
    },
}

/// All 0.
pub const ZERO: Init = Init::Const(0.);

/// All 1.
pub const ONE: Init = Init::Const(1.);

/// Kaiming's rule by inputs, uniform, for a layer before a ReLU.
pub const DEFAULT_KAIMING_UNIFORM: Init = Init::Kaiming {
    dist: NormalOrUniform::Uniform,
    fan: FanInOut::FanIn,
    non_linearity: NonLinearity::ReLU,
};

/// Kaiming's rule by inputs, normal, for a layer before a ReLU.
pub const DEFAULT_KAIMING_NORMAL: Init = Init::Kaiming {
    dist: NormalOrUniform::Normal,
    fan: FanInOut::FanIn,
    non_linearity: NonLinearity::ReLU,
};

impl Default for Init {
    fn default() -> Self {
        ZERO
    }
}

impl Init {
    /// A new variable.
    ///
    /// ```
    /// use tallow::{DType, Device};
    /// use tallow_nn::Init;
    /// let x = Init::Const(2.5).var((1, 2), DType::F16, &Device::Cpu)?;
    /// assert_eq!(x.to_dtype(DType::F32)?.to_vec2::<f32>()?, [[2.5, 2.5]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn var<S: Into<Shape>>(&self, s: S, dtype: DType, device: &Device) -> Result<Var> {
        let shape = s.into();
        match *self {
            Self::Const(0.) => Var::zeros(shape, dtype, device),
            Self::Const(1.) => Var::ones(shape, dtype, device),
            Self::Const(value) => {
                let one = Tensor::full(value, (), device)?.to_dtype(dtype)?;
                Var::from_tensor(&one.broadcast_as(shape)?)
            }
            Self::Randn { mean, stdev } => Var::randn_f64(mean, stdev, shape, dtype, device),
            Self::Uniform { lo, up } => Var::rand_f64(lo, up, shape, dtype, device),
            Self::Kaiming {
                dist,
                fan,
                non_linearity,
            } => {
                let fan = fan.for_shape(&shape).max(1);
                let stdev = non_linearity.gain() / (fan as f64).sqrt();
                match dist {
                    NormalOrUniform::Normal => Var::randn_f64(0., stdev, shape, dtype, device),
                    NormalOrUniform::Uniform => {
                        // Of values between ±b the standard deviation is b / √3.
                        let bound = 3f64.sqrt() * stdev;
                        Var::rand_f64(-bound, bound, shape, dtype, device)
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::values;

    fn mean_and_deviation(init: Init, dtype: DType) -> Result<(f64, f64)> {
        let x = values(init.var((50, 200), dtype, &Device::Cpu)?.as_tensor())?;
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        Ok((mean, variance.sqrt()))
    }

    #[test]
    fn distributions_have_the_spread_asked_for() -> Result<()> {
        let tanh = Init::Kaiming {
            dist: NormalOrUniform::Uniform,
            fan: FanInOut::FanOut,
            non_linearity: NonLinearity::Tanh,
        };
        for (init, mean, deviation) in [
            (DEFAULT_KAIMING_NORMAL, 0., 0.1),
            (DEFAULT_KAIMING_UNIFORM, 0., 0.1),
            (tanh, 0., 5. / 3. / 50f64.sqrt()),
            (
                Init::Randn {
                    mean: 3.,
                    stdev: 2.,
                },
                3.,
                2.,
            ),
            (Init::Uniform { lo: 1., up: 4. }, 2.5, 3. / 12f64.sqrt()),
        ] {
            for dtype in [DType::F32, DType::F64, DType::BF16] {
                let got = mean_and_deviation(init, dtype)?;
                // 10000 draws: the mean strays by a hundredth of the deviation.
                assert!(
                    (got.0 - mean).abs() < 0.06 * deviation,
                    "{init:?} {dtype}: {got:?}"
                );
                assert!(
                    (got.1 - deviation).abs() < 0.04 * deviation,
                    "{init:?} {dtype}: {got:?}"
                );
            }
        }
        Ok(())
    }

    #[test]
    fn constants() -> Result<()> {
        for value in [0., 1., -0.5] {
            let x = Init::Const(value).var((2, 3), DType::F32, &Device::Cpu)?;
            assert_eq!(values(x.as_tensor())?, [value; 6]);
            assert!(x.is_contiguous() && x.is_variable());
        }
        assert_eq!(
            values(
                Init::default()
                    .var((), DType::F64, &Device::Cpu)?
                    .as_tensor()
            )?,
            [0.]
        );
        Ok(())
    }

    #[test]
    fn fans_and_gains() {
        let fans = |dims: &[usize]| {
            let shape = Shape::from(dims);
            [
                FanInOut::FanIn.for_shape(&shape),
                FanInOut::FanOut.for_shape(&shape),
            ]
        };
        assert_eq!(fans(&[]), [1, 1]);
        assert_eq!(fans(&[3]), [1, 3]);
        assert_eq!(fans(&[3, 4]), [4, 3]);
        assert_eq!(fans(&[3, 4, 5, 6]), [120, 90]);
        assert_eq!(fans(&[3, usize::MAX, 2]), [usize::MAX, 6]);
        assert_eq!(NonLinearity::SELU.gain(), 0.75);
        assert_eq!(NonLinearity::ExplicitGain(1.5).gain(), 1.5);
    }

    #[test]
    fn empty_shapes_are_filled_with_nothing() -> Result<()> {
        for init in [
            ZERO,
            Init::Const(3.),
            DEFAULT_KAIMING_NORMAL,
            DEFAULT_KAIMING_UNIFORM,
        ] {
            assert_eq!(init.var((4, 0), DType::F32, &Device::Cpu)?.dims(), [4, 0]);
            assert_eq!(init.var((0, 4), DType::F32, &Device::Cpu)?.dims(), [0, 4]);
        }
        Ok(())
    }
}
