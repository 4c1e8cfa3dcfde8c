//! The whole decoder: embedding, layers, output.

use std::sync::atomic::{AtomicU64, Ordering};

use tallow::Tensor;

use super::attention::Attention;
use super::cache::KvCache;
use super::config::Config;
use super::mlp::Mlp;
use super::norm::Norm;
use super::rope::Rope;
use super::step::Step;
use crate::error::{Error, Result};
use crate::weights::{Embedding, Linear, Weights};

/// Positions that go through the layers at once on the processor: enough for the matrix products
/// to run at their full speed (a few hundred rows), few enough that all activations of a small
/// model stay in the last-level cache (512 × 1,536 × 4 bytes is 3 MB).
const CPU_CHUNK_LEN: usize = 512;

/// The same on a GPU, which wants more tiles of a product than it has units: 512 × 576 in tiles of
/// 128 × 64 are 36, an H200 has 132.
pub(crate) const GPU_CHUNK_LEN: usize = 2048;

/// Logits that are held at once: 4 million are 16 MB.
const LOGITS_MAX: usize = 4 << 20;

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(crate) struct Decoder {
    config: Config,
    embedding: Embedding,
    layers: Vec<Layer>,
    norm: Norm,
    output: Linear,
    rope: Rope,
    window_rope: Option<Rope>,
    /// Positions that go through the layers at once.
    chunk_len: usize,
    /// A single token goes through a recorded step.
    has_step: bool,
    /// No other decoder of this process has it.
    id: u64,
}

#[derive(Debug)]
pub(super) struct Layer {
    pub(super) attention_norm: Norm,
    pub(super) attention: Attention,
    pub(super) attention_post_norm: Option<Norm>,
    pub(super) mlp_norm: Norm,
    pub(super) mlp: Mlp,
    pub(super) mlp_post_norm: Option<Norm>,
    is_global: bool,
}

impl Layer {
    fn load(weights: &Weights<'_>, layer: usize, config: &Config) -> Result<Self> {
        let (len, eps) = (config.hidden_len, config.norm_eps);
        let name = |norm: &str| format!("blk.{layer}.{norm}");
        Ok(Self {
            attention_norm: Norm::load(weights, &name("attn_norm"), len, eps)?,
            attention: Attention::load(weights, layer, config)?,
            attention_post_norm: Norm::find(weights, &name("post_attention_norm"), len, eps)?,
            mlp_norm: Norm::load(weights, &name("ffn_norm"), len, eps)?,
            mlp: Mlp::load(weights, layer, config)?,
            mlp_post_norm: Norm::find(weights, &name("post_ffw_norm"), len, eps)?,
            is_global: config.is_global(layer),
        })
    }
}

/// A norm where the model has one.
fn maybe(norm: &Option<Norm>, x: Tensor) -> Result<Tensor> {
    match norm {
        Some(norm) => norm.forward(&x),
        None => Ok(x),
    }
}

impl Decoder {
    pub(crate) fn load(weights: &Weights<'_>, mut config: Config) -> Result<Self> {
        if let Some(factors) = weights.find_rope_factors()? {
            config.rope.set_factors(factors)?;
        }
        let embedding = weights.embedding("token_embd", config.hidden_len)?;
        let output = match weights.contains("output") {
            true => weights.linear("output", embedding.vocabulary_len(), config.hidden_len)?,
            false => weights.tied_output(&embedding)?,
        };
        let layers = weights.layers(&config).into_iter();
        let layers = layers.map(|layer| Layer::load(weights, layer, &config));
        let mut decoder = Self {
            layers: layers.collect::<Result<_>>()?,
            norm: Norm::load(weights, "output_norm", config.hidden_len, config.norm_eps)?,
            rope: Rope::new(&config.rope, weights.device()),
            window_rope: config
                .window
                .as_ref()
                .map(|window| Rope::new(&window.rope, weights.device())),
            embedding,
            output,
            config,
            chunk_len: match weights.device().gpu() {
                Some(_) => GPU_CHUNK_LEN,
                None => CPU_CHUNK_LEN,
            },
            has_step: false,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        };
        decoder.has_step = Step::covers(&decoder);
        Ok(decoder)
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Positions that go through the layers at once.
    pub(crate) fn chunk_len(&self) -> usize {
        self.chunk_len
    }

    pub(crate) fn vocabulary_len(&self) -> usize {
        self.embedding.vocabulary_len()
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn embedding(&self) -> &Embedding {
        &self.embedding
    }

    pub(super) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The last product, and the norm before it.
    pub(super) fn output(&self) -> (&Linear, &Norm) {
        (&self.output, &self.norm)
    }

    /// The position embeddings of layers that see all, and of those with a window.
    pub(super) fn ropes(&self) -> (&Rope, Option<&Rope>) {
        (&self.rope, self.window_rope.as_ref())
    }

    /// The id of the largest logit after `ids`, which are added to the cache. On a GPU the logits
    /// of a single id stay there.
    pub(crate) fn forward_greedy(&self, ids: &[u32], cache: &mut KvCache) -> Result<u32> {
        match self.step(ids, cache, Step::best)? {
            Some(best) => Ok(best),
            None => crate::sampling::argmax(&self.forward_layers(ids, cache)?),
        }
    }

    /// The logits after the last of `ids`, which are added to the cache.
    pub(crate) fn forward(&self, ids: &[u32], cache: &mut KvCache) -> Result<Vec<f32>> {
        match self.step(ids, cache, Step::logits)? {
            Some(logits) => Ok(logits),
            None => self.forward_layers(ids, cache),
        }
    }

    /// Runs the recorded step, if there is a single id and the device has one.
    fn step<T>(
        &self,
        ids: &[u32],
        cache: &mut KvCache,
        run: impl FnOnce(&mut Step, usize, u32) -> Result<T>,
    ) -> Result<Option<T>> {
        let (&[id], true) = (ids, self.has_step) else {
            return Ok(None);
        };
        self.check(ids, cache)?;
        let position = cache.len();
        let is_ready = cache
            .step()
            .as_ref()
            .is_some_and(|step| step.is_for(self, position));
        if !is_ready {
            *cache.step() = Some(Box::new(Step::record(self, cache)?));
        }
        let Some(step) = cache.step() else {
            return Ok(None);
        };
        let found = run(step, position, id)?;
        cache.advance(1);
        Ok(Some(found))
    }

    fn forward_layers(&self, ids: &[u32], cache: &mut KvCache) -> Result<Vec<f32>> {
        let mut logits = Vec::new();
        let last = ids.len().saturating_sub(1);
        self.forward_from(ids, cache, last, &mut |_, found| {
            logits = found.to_vec();
            Ok(())
        })?;
        Ok(logits)
    }

    /// Adds `ids` to the cache, and hands on the logits after each of them from `first` on, with
    /// its place in `ids`.
    pub(crate) fn forward_from(
        &self,
        ids: &[u32],
        cache: &mut KvCache,
        first: usize,
        on_logits: &mut dyn FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        self.check(ids, cache)?;
        let mut start = 0;
        for chunk in ids.chunks(self.chunk_len) {
            let hidden = self.hidden(chunk, cache)?;
            let end = start + chunk.len();
            if end > first {
                let skip = first.saturating_sub(start);
                let hidden = hidden.narrow(0, skip, chunk.len() - skip)?;
                self.logits(&hidden, start + skip, on_logits)?;
            }
            start = end;
        }
        Ok(())
    }

    /// Refuses ids that cannot be, and makes room for the others.
    fn check(&self, ids: &[u32], cache: &mut KvCache) -> Result<()> {
        if ids.is_empty() {
            return Err(Error::Model(
                "there are no tokens to go on from".to_string(),
            ));
        }
        if let Some(id) = ids.iter().find(|&&id| id as usize >= self.vocabulary_len()) {
            return Err(Error::Model(format!(
                "id {id} is not in the vocabulary of {}",
                self.vocabulary_len()
            )));
        }
        cache.reserve(ids.len())
    }

    /// What the layers make of a chunk, `[len, hidden]`.
    fn hidden(&self, ids: &[u32], cache: &mut KvCache) -> Result<Tensor> {
        let table = self.rope.table(cache.len(), ids.len())?;
        let window_rope = match &self.window_rope {
            Some(rope) => Some((rope, rope.table(cache.len(), ids.len())?)),
            None => None,
        };
        let mut x = self.embedding.forward(ids)?;
        if self.config.embedding_scale != 1.0 {
            x = x.affine(f64::from(self.config.embedding_scale), 0.0)?;
        }
        for layer in &self.layers {
            let (rope, table) = match &window_rope {
                Some((rope, table)) if !layer.is_global => (*rope, table),
                _ => (&self.rope, &table),
            };
            let normed = layer.attention_norm.forward(&x)?;
            let mixed = layer.attention.forward(&normed, rope, table, cache)?;
            x = x.add(&maybe(&layer.attention_post_norm, mixed)?)?;
            let mixed = layer.mlp.forward(&layer.mlp_norm.forward(&x)?)?;
            x = x.add(&maybe(&layer.mlp_post_norm, mixed)?)?;
        }
        cache.advance(ids.len());
        Ok(x)
    }

    /// Hands on the logits of each row, some rows at a time.
    fn logits(
        &self,
        hidden: &Tensor,
        first: usize,
        on_logits: &mut dyn FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        let row_count = hidden.dim(0)?;
        let step = (LOGITS_MAX / self.vocabulary_len()).max(1);
        for start in (0..row_count).step_by(step) {
            let rows = hidden.narrow(0, start, step.min(row_count - start))?;
            let logits = self.output.forward(&self.norm.forward(&rows)?)?;
            let logits = logits.flatten_all()?.to_vec1::<f32>()?;
            for (row, logits) in logits.chunks_exact(self.vocabulary_len()).enumerate() {
                on_logits(first + start + row, logits)?;
            }
        }
        Ok(())
    }
}
