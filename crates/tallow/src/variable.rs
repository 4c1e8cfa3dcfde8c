//! Variables: tensors that gradients are taken of, and that may be set.

use crate::device::NdArray;
use crate::shape::ShapeWithOneHole;
use crate::{DType, Device, Error, FloatDType, Result, Shape, Tensor, WithDType};

/// A tensor that gradients are taken of ([`Tensor::backward`]), and whose elements may be set.
/// Clones are the same variable.
#[derive(Clone, Debug)]
pub struct Var(Tensor);

impl std::fmt::Display for Var {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}

impl std::ops::Deref for Var {
    type Target = Tensor;
    fn deref(&self) -> &Tensor {
        &self.0
    }
}

impl AsRef<Tensor> for Var {
    fn as_ref(&self) -> &Tensor {
        &self.0
    }
}

impl Var {
    /// A variable with a tensor's elements: a copy, unless the tensor is a variable itself.
    pub fn from_tensor(t: &Tensor) -> Result<Self> {
        match t.is_variable() {
            true => Ok(Self(t.clone())),
            false => Ok(Self(t.detach().copy()?.into_variable())),
        }
    }

    fn of(tensor: Tensor) -> Self {
        Self(tensor.into_variable())
    }

    /// See [`Tensor::zeros`].
    pub fn zeros<S: Into<Shape>>(shape: S, dtype: DType, device: &Device) -> Result<Self> {
        Tensor::zeros(shape, dtype, device).map(Self::of)
    }

    /// See [`Tensor::ones`].
    pub fn ones<S: Into<Shape>>(shape: S, dtype: DType, device: &Device) -> Result<Self> {
        Tensor::ones(shape, dtype, device).map(Self::of)
    }

    /// See [`Tensor::new`].
    pub fn new<A: NdArray>(array: A, device: &Device) -> Result<Self> {
        Tensor::new(array, device).map(Self::of)
    }

    /// See [`Tensor::from_vec`].
    pub fn from_vec<S: ShapeWithOneHole, D: WithDType>(
        data: Vec<D>,
        shape: S,
        device: &Device,
    ) -> Result<Self> {
        Tensor::from_vec(data, shape, device).map(Self::of)
    }

    /// See [`Tensor::from_slice`].
    pub fn from_slice<S: ShapeWithOneHole, D: WithDType>(
        array: &[D],
        shape: S,
        device: &Device,
    ) -> Result<Self> {
        Tensor::from_slice(array, shape, device).map(Self::of)
    }

    /// See [`Tensor::rand`].
    pub fn rand<S: Into<Shape>, T: FloatDType>(
        lo: T,
        up: T,
        s: S,
        device: &Device,
    ) -> Result<Self> {
        Tensor::rand(lo, up, s, device).map(Self::of)
    }

    /// See [`Tensor::rand_f64`].
    pub fn rand_f64<S: Into<Shape>>(
        lo: f64,
        up: f64,
        s: S,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        Tensor::rand_f64(lo, up, s, dtype, device).map(Self::of)
    }

    /// See [`Tensor::randn`].
    pub fn randn<S: Into<Shape>, T: FloatDType>(
        mean: T,
        std: T,
        s: S,
        device: &Device,
    ) -> Result<Self> {
        Tensor::randn(mean, std, s, device).map(Self::of)
    }

    /// See [`Tensor::randn_f64`].
    pub fn randn_f64<S: Into<Shape>>(
        mean: f64,
        std: f64,
        s: S,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        Tensor::randn_f64(mean, std, s, dtype, device).map(Self::of)
    }

    /// The elements as a tensor that no gradient flows through; it shares the buffer.
    pub fn as_detached_tensor(&self) -> Tensor {
        self.0.detach()
    }

    /// The variable as a tensor, through which gradients flow.
    pub fn as_tensor(&self) -> &Tensor {
        &self.0
    }

    /// The variable as a tensor.
    pub fn into_inner(self) -> Tensor {
        self.0
    }

    /// Writes the elements of `src` into the variable; every tensor over its buffer sees them.
    /// Errors unless shapes and dtypes agree.
    ///
    /// ```
    /// use tallow::{Device, Tensor, Var};
    /// let x = Var::new(&[1f32, 2.], &Device::Cpu)?;
    /// x.set(&Tensor::new(&[3f32, 4.], &Device::Cpu)?)?;
    /// assert_eq!(x.to_vec1::<f32>()?, [3., 4.]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn set(&self, src: &Tensor) -> Result<()> {
        let op = "set";
        if self.shape() != src.shape() {
            let (lhs, rhs) = (self.shape().clone(), src.shape().clone());
            return Err(Error::ShapeMismatchBinaryOp { lhs, rhs, op });
        }
        match self.rank() {
            0 => self.reshape(1)?.slice_set(&src.reshape(1)?, 0, 0),
            _ => self.slice_set(src, 0, 0),
        }
    }
}
