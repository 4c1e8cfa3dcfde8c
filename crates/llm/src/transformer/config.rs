//! What the models of the family differ in. A model file (`models/`) fills this in; the blocks
//! read it and know no model by name.

use super::rope::RopeConfig;
use crate::error::{Error, Result};
use crate::settings::Settings;

/// The gate of the feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    /// x·σ(x)
    Silu,
    /// GELU in its tanh form.
    GeluTanh,
}

/// Layers that see only the last positions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Window {
    /// How many positions such a layer sees, its own among them.
    pub(crate) len: usize,
    /// Every so many layers, one sees all; 0: none does.
    pub(crate) global_every: usize,
    /// The position embedding of layers with a window.
    pub(crate) rope: RopeConfig,
}

/// How a decoder is put together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) context_len: usize,
    pub(crate) hidden_len: usize,
    pub(crate) layer_count: usize,
    pub(crate) head_count: usize,
    pub(crate) kv_head_count: usize,
    pub(crate) head_dim: usize,
    pub(crate) mlp_len: usize,
    pub(crate) norm_eps: f32,
    /// Added to norm weights as the file has them (Gemma's safetensors store w − 1).
    pub(crate) norm_shift: f32,
    pub(crate) activation: Activation,
    /// Embeddings are multiplied by it.
    pub(crate) embedding_scale: f32,
    /// Scores are multiplied by it.
    pub(crate) attention_scale: f32,
    pub(crate) rope: RopeConfig,
    pub(crate) window: Option<Window>,
}

impl Config {
    /// The plain member of the family, from the settings that all have.
    pub(crate) fn plain(settings: &Settings<'_>, rope: RopeConfig) -> Result<Self> {
        let hidden_len = settings.count("embedding_length")?;
        let head_count = settings.count("attention.head_count")?;
        let head_dim = head_dim(settings)?;
        let config = Self {
            context_len: settings.count("context_length")?,
            hidden_len,
            layer_count: settings.count("block_count")?,
            head_count,
            kv_head_count: settings
                .find_count("attention.head_count_kv")?
                .unwrap_or(head_count),
            head_dim,
            mlp_len: settings.count("feed_forward_length")?,
            norm_eps: settings.number("attention.layer_norm_rms_epsilon")? as f32,
            norm_shift: 0.0,
            activation: Activation::Silu,
            embedding_scale: 1.0,
            attention_scale: 1.0 / (head_dim as f32).sqrt(),
            rope,
            window: None,
        };
        config.check()?;
        Ok(config)
    }

    /// Refuses what no weights can fit.
    fn check(&self) -> Result<()> {
        let counts = [
            ("the context length", self.context_len),
            ("the hidden length", self.hidden_len),
            ("the number of layers", self.layer_count),
            ("the number of heads", self.head_count),
            ("the number of key heads", self.kv_head_count),
            ("the head length", self.head_dim),
            ("the feed-forward length", self.mlp_len),
        ];
        for (what, count) in counts {
            // 2^31 of anything is no model, and keeps products far from overflow.
            if count == 0 || count > 1 << 31 {
                return Err(Error::Model(format!("{what} is {count}")));
            }
        }
        if !self.head_count.is_multiple_of(self.kv_head_count) {
            return Err(Error::Model(format!(
                "{} heads do not divide among {} key heads",
                self.head_count, self.kv_head_count
            )));
        }
        if self.rope.dims == 0
            || !self.rope.dims.is_multiple_of(2)
            || self.rope.dims > self.head_dim
        {
            return Err(Error::Model(format!(
                "rope turns {} of {} features of a head; it must be an even part of them",
                self.rope.dims, self.head_dim
            )));
        }
        Ok(())
    }

    /// How many positions the layer sees, its own among them; `None`: all.
    pub(crate) fn window_of(&self, layer: usize) -> Option<usize> {
        let window = self.window.as_ref()?;
        (!self.is_global(layer)).then_some(window.len)
    }

    /// Whether the layer sees all positions.
    pub(crate) fn is_global(&self, layer: usize) -> bool {
        self.window
            .as_ref()
            .is_none_or(|window| (layer + 1).is_multiple_of(window.global_every))
    }
}

/// How many features a head has.
pub(crate) fn head_dim(settings: &Settings<'_>) -> Result<usize> {
    if let Some(head_dim) = settings.find_count("attention.key_length")? {
        return Ok(head_dim);
    }
    let hidden_len = settings.count("embedding_length")?;
    let head_count = settings.count("attention.head_count")?;
    match hidden_len.checked_div(head_count) {
        Some(head_dim) => Ok(head_dim),
        None => Err(Error::Model("the number of heads is 0".to_string())),
    }
}
