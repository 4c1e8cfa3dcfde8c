//! The gated feed-forward block (Shazeer, 2020): down(act(gate(x)) ⊙ up(x)).

use tallow::Tensor;

use super::config::{Activation, Config};
use crate::error::Result;
use crate::weights::{Linear, Weights, forward_joined};

#[derive(Debug)]
pub(super) struct Mlp {
    pub(super) gate: Linear,
    pub(super) up: Linear,
    pub(super) down: Linear,
    activation: Activation,
}

impl Mlp {
    pub(super) fn load(weights: &Weights<'_>, layer: usize, config: &Config) -> Result<Self> {
        let (hidden, inner) = (config.hidden_len, config.mlp_len);
        let linear = |name: &str, rows, columns| {
            weights.linear(&format!("blk.{layer}.{name}"), rows, columns)
        };
        Ok(Self {
            gate: linear("ffn_gate", inner, hidden)?,
            up: linear("ffn_up", inner, hidden)?,
            down: linear("ffn_down", hidden, inner)?,
            activation: config.activation,
        })
    }

    /// `[len, hidden]` to `[len, hidden]`.
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let [gate, up] = forward_joined([&self.gate, &self.up], x)?;
        let gate = match self.activation {
            Activation::Silu => gate.silu()?,
            Activation::GeluTanh => gate.gelu()?,
        };
        self.down.forward(&gate.mul(&up)?)
    }
}
