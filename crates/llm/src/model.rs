//! A model with everything that runs it: decoder, tokenizer, chat template.
//!
//! On a GPU, kernels are made ready on a thread of their own while the weights go up, if the caller
//! wants a warm-up (`warm_up.rs`).

use std::path::Path;
use std::time::{Duration, Instant};

use tallow::{Device, GpuDevice};
use tallow_formats::{gguf, safetensors};

use crate::chat::ChatTemplate;
use crate::error::{Error, Result};
use crate::models;
use crate::settings::Settings;
use crate::store::{ModelPath, Progress, Silent};
use crate::tokenizer::Tokenizer;
use crate::transformer::{Config, Decoder, KvCache};
use crate::warm_up::{WarmUp, WarmUpReport};
use crate::weights::{Renames, Source, Weights};

/// A decoder: ids in, logits out.
#[derive(Debug)]
pub struct Model {
    decoder: Decoder,
    recipe: Recipe,
    device: Device,
}

/// All that a model is made of, but for the device.
#[derive(Clone, Debug)]
struct Recipe {
    architecture: String,
    config: Config,
    source: Source,
    renames: Renames,
}

/// Where a model runs and what is done before its first request.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Where it runs.
    pub device: Device,
    /// What it is made ready for; nothing on the processor, which has no kernels to compile.
    pub warm_up: Option<WarmUp>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            device: Device::Cpu,
            warm_up: None,
        }
    }
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
    /// How long loading took, without the warm-up.
    pub load_time: Duration,
    /// What the warm-up did, if there was one.
    pub warm_up: Option<WarmUpReport>,
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
        let options = LoadOptions {
            device: device.clone(),
            warm_up: None,
        };
        Self::load_with(path, &options, &mut Silent)
    }

    /// As [`load`](Self::load), with options. `progress` hears of the weights that go to a GPU;
    /// kernels are compiled meanwhile, if there is a warm-up.
    ///
    /// # Errors
    /// As [`load`](Self::load), what the device refuses, and [`Error::Cancelled`].
    pub fn load_with(
        path: &ModelPath,
        options: &LoadOptions,
        progress: &mut dyn Progress,
    ) -> Result<Self> {
        let started = Instant::now();
        let kernels = WarmUpReport::start(&options.device);
        let mut loaded = match path {
            ModelPath::Gguf(path) => Self::load_gguf(path, options, progress)?,
            ModelPath::Safetensors(folder) => Self::load_folder(folder, options, progress)?,
        };
        if loaded.tokenizer.vocabulary_len() > loaded.model.vocabulary_len() {
            return Err(Error::Model(format!(
                "the tokenizer has {} tokens and the weights {}; they are of different models",
                loaded.tokenizer.vocabulary_len(),
                loaded.model.vocabulary_len()
            )));
        }
        loaded.load_time = started.elapsed();
        if let (Some(warm_up), Some(kernels)) = (options.warm_up, kernels) {
            loaded.warm_up = Some(loaded.model.finish_warm_up(warm_up, kernels)?);
        }
        Ok(loaded)
    }

    fn load_gguf(path: &Path, options: &LoadOptions, progress: &mut dyn Progress) -> Result<Self> {
        let file = gguf::File::open(path)?;
        let model = || Model::build(Recipe::from_gguf(&file)?, options, progress);
        let tokenizer = || Tokenizer::from_gguf(file.metadata());
        Self::assemble(model, tokenizer, ChatTemplate::from_gguf(file.metadata())?)
    }

    fn load_folder(
        folder: &Path,
        options: &LoadOptions,
        progress: &mut dyn Progress,
    ) -> Result<Self> {
        let model = || Model::build(Recipe::from_folder(folder)?, options, progress);
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
            warm_up: None,
        })
    }
}

impl Recipe {
    fn from_gguf(file: &gguf::File) -> Result<Self> {
        let settings = Settings::from_gguf(file.metadata())?;
        Self::new(&settings, Source::Gguf(file.clone()))
    }

    fn from_folder(folder: &Path) -> Result<Self> {
        let settings = Settings::from_json_file(&folder.join("config.json"))?;
        let index = folder.join("model.safetensors.index.json");
        let path = if index.is_file() {
            index
        } else {
            folder.join("model.safetensors")
        };
        Self::new(
            &settings,
            Source::Safetensors(safetensors::File::open(path)?),
        )
    }

    fn new(settings: &Settings<'_>, source: Source) -> Result<Self> {
        let architecture = models::find(settings)?;
        Ok(Self {
            architecture: settings.architecture().to_string(),
            config: (architecture.config)(settings)?,
            source,
            renames: architecture.renames,
        })
    }

    /// The model on a device. `progress` hears of weights that go to a GPU.
    fn make(&self, device: &Device, progress: &mut dyn Progress) -> Result<Model> {
        let config = self.config.clone();
        let shift = config.norm_shift;
        let is_gpu = device.gpu().is_some_and(|gpu| !gpu.runs_nothing());
        if is_gpu {
            progress.begin("upload weights", Some(self.source.byte_len()));
        }
        let weights = Weights::new(&self.source, self.renames, shift, device, progress);
        let decoder = Decoder::load(&weights, config);
        if is_gpu {
            weights.finish();
        }
        Ok(Model {
            decoder: decoder?,
            recipe: self.clone(),
            device: device.clone(),
        })
    }
}

impl Model {
    /// The decoder of a GGUF file, whose weights stay in the file.
    ///
    /// # Errors
    /// An unknown architecture, a missing setting or tensor, a shape that does not fit.
    pub fn from_gguf(file: &gguf::File, device: &Device) -> Result<Self> {
        Recipe::from_gguf(file)?.make(device, &mut Silent)
    }

    /// The decoder of a folder with `config.json` and safetensors.
    ///
    /// # Errors
    /// As [`from_gguf`](Self::from_gguf).
    pub fn from_safetensors_folder(folder: &Path, device: &Device) -> Result<Self> {
        Recipe::from_folder(folder)?.make(device, &mut Silent)
    }

    /// Makes the model, and its kernels meanwhile.
    fn build(recipe: Recipe, options: &LoadOptions, progress: &mut dyn Progress) -> Result<Self> {
        let device = &options.device;
        let (Some(gpu), Some(warm_up)) = (device.gpu(), options.warm_up) else {
            return recipe.make(device, progress);
        };
        let planned = recipe.make(&Device::from_gpu(gpu.planned()), &mut Silent)?;
        let variants = planned.variants_of_plan(warm_up)?;
        let (model, prepared) = std::thread::scope(|scope| {
            let prepared = scope.spawn(|| gpu.prepare(&variants));
            (recipe.make(device, progress), prepared.join())
        });
        let prepared = prepared.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        prepared.map_err(tallow::Error::from)?;
        model
    }

    /// The same model on a device on paper, where a computation asks for kernels and runs none.
    pub(crate) fn planned(&self, gpu: &GpuDevice) -> Result<Self> {
        self.recipe
            .make(&Device::from_gpu(gpu.planned()), &mut Silent)
    }

    /// Where the model runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The architecture's name as the file writes it.
    pub fn architecture(&self) -> &str {
        &self.recipe.architecture
    }

    /// How many positions a sequence may have.
    pub fn context_len(&self) -> usize {
        self.decoder.config().context_len
    }

    /// Positions that go through the layers at once.
    pub(crate) fn chunk_len(&self) -> usize {
        self.decoder.chunk_len()
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

    /// The id of the largest logit after the last of `ids`, which are added to the cache: as
    /// [`argmax`](crate::sampling::argmax) of [`forward`](Self::forward)'s, but on a GPU the logits
    /// of a single id are not read back.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and logits without a largest.
    pub fn forward_greedy(&self, ids: &[u32], cache: &mut KvCache) -> Result<u32> {
        self.decoder.forward_greedy(ids, cache)
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
