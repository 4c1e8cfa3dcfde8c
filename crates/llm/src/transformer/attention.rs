//! Grouped-query attention over the cached positions.

use tallow::Tensor;
use tallow::ops::{AttentionOptions, attention_paged};

use super::cache::KvCache;
use super::config::Config;
use super::norm::Norm;
use super::rope::{Rope, RopeTable};
use crate::error::Result;
use crate::weights::{Linear, Weights, forward_joined};

#[derive(Debug)]
pub(super) struct Attention {
    pub(super) layer: usize,
    pub(super) query: Linear,
    pub(super) key: Linear,
    pub(super) value: Linear,
    pub(super) output: Linear,
    pub(super) query_norm: Option<Norm>,
    pub(super) key_norm: Option<Norm>,
    head_count: usize,
    kv_head_count: usize,
    head_dim: usize,
    options: AttentionOptions,
}

impl Attention {
    pub(super) fn load(weights: &Weights<'_>, layer: usize, config: &Config) -> Result<Self> {
        let (hidden, dim) = (config.hidden_len, config.head_dim);
        let (inner, kv_inner) = (config.head_count * dim, config.kv_head_count * dim);
        let linear = |name: &str, rows, columns| {
            weights.linear(&format!("blk.{layer}.{name}"), rows, columns)
        };
        let norm = |name: &str| {
            Norm::find(
                weights,
                &format!("blk.{layer}.{name}"),
                dim,
                config.norm_eps,
            )
        };
        Ok(Self {
            layer,
            query: linear("attn_q", inner, hidden)?,
            key: linear("attn_k", kv_inner, hidden)?,
            value: linear("attn_v", kv_inner, hidden)?,
            output: linear("attn_output", hidden, inner)?,
            query_norm: norm("attn_q_norm")?,
            key_norm: norm("attn_k_norm")?,
            head_count: config.head_count,
            kv_head_count: config.kv_head_count,
            head_dim: dim,
            options: AttentionOptions {
                window: config.window_of(layer),
                ..AttentionOptions::causal(config.attention_scale)
            },
        })
    }

    /// `[len, hidden]` to `[len, hidden]`, adding the keys and values to the cache.
    pub(super) fn forward(
        &self,
        x: &Tensor,
        rope: &Rope,
        table: &RopeTable,
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        let len = x.dim(0)?;
        let [query, key, value] = forward_joined([&self.query, &self.key, &self.value], x)?;
        let query = self.heads(query, self.head_count, &self.query_norm)?;
        let key = self.heads(key, self.kv_head_count, &self.key_norm)?;
        let value = self.heads(value, self.kv_head_count, &None)?;
        let query = rope.apply(&query, table)?;
        let key = rope.apply(&key, table)?;
        let pages = cache.append(self.layer, &key, &value)?;
        let mixed = attention_paged(&query, &pages, self.options)?;
        let mixed = mixed
            .transpose(1, 2)?
            .reshape((len, self.head_count * self.head_dim))?;
        self.output.forward(&mixed)
    }

    /// `[len, count · head_dim]` to `[1, count, len, head_dim]`, each head normed on the way.
    fn heads(&self, x: Tensor, count: usize, norm: &Option<Norm>) -> Result<Tensor> {
        let len = x.dim(0)?;
        let mut x = x.reshape((1, len, count, self.head_dim))?;
        if let Some(norm) = norm {
            x = norm.forward(&x)?;
        }
        Ok(x.transpose(1, 2)?)
    }
}
