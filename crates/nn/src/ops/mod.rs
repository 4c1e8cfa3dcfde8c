//! Functions of tensors that layers are made of.
//!
//! What one of Tallow's operations computes is called here by candle-nn's name. The rest is made of
//! several: a file for each kind. A name that ends in `_slow` gives what its counterpart gives; it
//! takes operands that the counterpart refuses.

mod attention;
mod curves;
mod dropout;
mod norm;
mod pixels;
mod softmax;

pub use attention::sdpa;
pub use curves::{hard_sigmoid, leaky_relu, mish, selu, sigmoid, silu, swiglu};
pub use dropout::{Dropout, dropout};
pub use norm::{layer_norm, layer_norm_slow, rms_norm, rms_norm_slow};
pub use pixels::{pixel_shuffle, pixel_unshuffle, replication_pad2d};
pub use softmax::{log_softmax, softmax, softmax_last_dim};

use tallow::{Module, Result, Tensor};

/// A layer that gives back its input.
#[derive(Clone, Debug, Default)]
pub struct Identity;

impl Identity {
    /// The layer.
    pub fn new() -> Identity {
        Self
    }
}

impl Module for Identity {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        Ok(xs.clone())
    }
}
