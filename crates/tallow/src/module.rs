//! Layers: what maps a tensor to a tensor.

use crate::quantized::QMatMul;
use crate::{Result, Tensor};

/// A layer, or a model of layers.
pub trait Module {
    /// The layer's output for an input.
    fn forward(&self, xs: &Tensor) -> Result<Tensor>;
}

/// Any function from a tensor to a tensor is a layer.
impl<T: Fn(&Tensor) -> Result<Tensor>> Module for T {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self(xs)
    }
}

/// A layer that may be left out.
impl<M: Module> Module for Option<&M> {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        match self {
            None => Ok(xs.clone()),
            Some(layer) => layer.forward(xs),
        }
    }
}

impl Module for QMatMul {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        QMatMul::forward(self, xs)
    }
}

/// A layer that behaves in training otherwise than in use (dropout, batch norm).
pub trait ModuleT {
    /// The layer's output for an input; `train` while training.
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor>;
}

impl<M: Module> ModuleT for M {
    fn forward_t(&self, xs: &Tensor, _train: bool) -> Result<Tensor> {
        self.forward(xs)
    }
}

impl Tensor {
    /// The output of a layer.
    pub fn apply<M: Module>(&self, m: &M) -> Result<Self> {
        m.forward(self)
    }

    /// The output of a layer that knows whether it is being trained.
    pub fn apply_t<M: ModuleT>(&self, m: &M, train: bool) -> Result<Self> {
        m.forward_t(self, train)
    }
}
