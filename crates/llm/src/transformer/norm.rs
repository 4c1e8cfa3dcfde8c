//! RMS norm (Zhang and Sennrich, 2019): x / √(mean(x²) + ε) · w, over the last dim.

use tallow::{Tensor, ops};

use crate::error::Result;
use crate::weights::Weights;

/// A norm with its weights.
#[derive(Debug)]
pub(super) struct Norm {
    weight: Tensor,
    eps: f32,
}

impl Norm {
    /// The norm of that name, over `len` features.
    pub(super) fn load(weights: &Weights<'_>, name: &str, len: usize, eps: f32) -> Result<Self> {
        Ok(Self {
            weight: weights.norm(name, len)?,
            eps,
        })
    }

    /// The norm of that name, if the file has it.
    pub(super) fn find(
        weights: &Weights<'_>,
        name: &str,
        len: usize,
        eps: f32,
    ) -> Result<Option<Self>> {
        match weights.contains(name) {
            true => Self::load(weights, name, len, eps).map(Some),
            false => Ok(None),
        }
    }

    pub(super) fn weight(&self) -> &Tensor {
        &self.weight
    }

    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(ops::rms_norm(x, &self.weight, self.eps)?)
    }
}
