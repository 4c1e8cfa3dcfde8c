//! A model with everything that runs it: decoder, tokenizer, chat template.

use std::path::Path;
use std::time::{Duration, Instant};

use tallow::Device;
use tallow_formats::{gguf, safetensors};

use crate::chat::ChatTemplate;
use crate::error::{Error, Result};
use crate::models;
use crate::settings::Settings;
use crate::store::ModelPath;
use crate::tokenizer::Tokenizer;
use crate::transformer::{Decoder, KvCache};
use crate::weights::{Source, Weights};

/// A decoder: ids in, logits out.
#[derive(Debug)]
pub struct Model {
    decoder: Decoder,
    architecture: String,
    device: Device,
}

/// A decoder with its tokenizer and chat template, ready for use.
#[derive(Debug)]
pub struct LanguageModel {
    /// The decoder.
    pub model: Model,
    /// Text to ids and back.
    pub tokenizer: Tokenizer,
    /// The model's own chat format; a base model has none.
    pub template: Option<ChatTemplate>,
    /// How long loading took.
    pub load_time: Duration,
}

impl LanguageModel {
    /// Loads a model that is on this machine.
    ///
    /// # Errors
    /// A broken file, an unknown architecture or tokenizer, a missing setting or tensor: one line
    /// that names it.
    pub fn load(path: &ModelPath) -> Result<Self> {
        Self::load_on(path, &Device::Cpu)
    }

    /// As [`load`](Self::load), to run on a device.
    ///
    /// # Errors
    /// As [`load`](Self::load), and what the device refuses.
    pub fn load_on(path: &ModelPath, device: &Device) -> Result<Self> {
        let started = Instant::now();
        let mut loaded = match path {
            ModelPath::Gguf(path) => Self::load_gguf(path, device)?,
            ModelPath::Safetensors(folder) => Self::load_folder(folder, device)?,
        };
        if loaded.tokenizer.vocabulary_len() > loaded.model.vocabulary_len() {
            return Err(Error::Model(format!(
                "the tokenizer has {} tokens and the weights {}; they are of different models",
                loaded.tokenizer.vocabulary_len(),
                loaded.model.vocabulary_len()
            )));
        }
        loaded.load_time = started.elapsed();
        Ok(loaded)
    }

    fn load_gguf(path: &Path, device: &Device) -> Result<Self> {
        let file = gguf::File::open(path)?;
        let model = || Model::from_gguf(&file, device);
        let tokenizer = || Tokenizer::from_gguf(file.metadata());
        Self::assemble(model, tokenizer, ChatTemplate::from_gguf(file.metadata())?)
    }

    fn load_folder(folder: &Path, device: &Device) -> Result<Self> {
        let model = || Model::from_safetensors_folder(folder, device);
        let tokenizer = || Tokenizer::from_json_folder(folder);
        Self::assemble(model, tokenizer, ChatTemplate::from_folder(folder)?)
    }

    /// Builds the tokenizer on a thread of its own while the weights are made ready.
    fn assemble(
        model: impl FnOnce() -> Result<Model>,
        tokenizer: impl FnOnce() -> Result<Tokenizer> + Send,
        template: Option<ChatTemplate>,
    ) -> Result<Self> {
        let (model, tokenizer) = std::thread::scope(|scope| {
            let tokenizer = scope.spawn(tokenizer);
            let model = model();
            (model, tokenizer.join())
        });
        let tokenizer = tokenizer.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(Self {
            model: model?,
            tokenizer: tokenizer?,
            template,
            load_time: Duration::ZERO,
        })
    }
}

impl Model {
    /// The decoder of a GGUF file, whose weights stay in the file.
    ///
    /// # Errors
    /// An unknown architecture, a missing setting or tensor, a shape that does not fit.
    pub fn from_gguf(file: &gguf::File, device: &Device) -> Result<Self> {
        let settings = Settings::from_gguf(file.metadata())?;
        Self::build(&settings, Source::Gguf(file.clone()), device)
    }

    /// The decoder of a folder with `config.json` and safetensors.
    ///
    /// # Errors
    /// As [`from_gguf`](Self::from_gguf).
    pub fn from_safetensors_folder(folder: &Path, device: &Device) -> Result<Self> {
        let settings = Settings::from_json_file(&folder.join("config.json"))?;
        let index = folder.join("model.safetensors.index.json");
        let path = if index.is_file() {
            index
        } else {
            folder.join("model.safetensors")
        };
        Self::build(
            &settings,
            Source::Safetensors(safetensors::File::open(path)?),
            device,
        )
    }

    fn build(settings: &Settings<'_>, source: Source, device: &Device) -> Result<Self> {
        let architecture = models::find(settings)?;
        let config = (architecture.config)(settings)?;
        let weights = Weights::new(&source, architecture.renames, config.norm_shift, device);
        let decoder = Decoder::load(&weights, config)?;
        Ok(Self {
            decoder,
            architecture: settings.architecture().to_string(),
            device: device.clone(),
        })
    }

    /// Where the model runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The architecture's name as the file writes it.
    pub fn architecture(&self) -> &str {
        &self.architecture
    }

    /// How many positions a sequence may have.
    pub fn context_len(&self) -> usize {
        self.decoder.config().context_len
    }

    /// How many ids there are.
    pub fn vocabulary_len(&self) -> usize {
        self.decoder.vocabulary_len()
    }

    /// An empty cache for a sequence of the model's whole context; it takes memory as it fills.
    pub fn new_cache(&self) -> KvCache {
        KvCache::new(self.decoder.config(), self.context_len(), &self.device)
    }

    /// The logits after the last of `ids`, which are added to the cache.
    ///
    /// # Errors
    /// No ids, an id outside the vocabulary, no room in the cache.
    pub fn forward(&self, ids: &[u32], cache: &mut KvCache) -> Result<Vec<f32>> {
        self.decoder.forward(ids, cache)
    }

    /// Adds `ids` to the cache, and hands on the logits after each of them from the `first` on,
    /// with its place in `ids`.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and what `on_logits` gives.
    pub fn forward_all(
        &self,
        ids: &[u32],
        cache: &mut KvCache,
        first: usize,
        on_logits: &mut dyn FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        self.decoder.forward_from(ids, cache, first, on_logits)
    }
}
