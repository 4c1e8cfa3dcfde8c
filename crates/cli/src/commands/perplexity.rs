//! `tallow perplexity`: how well a model predicts a text, and the logits that it predicts with.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use tallow_formats::AtomicFile;
use tallow_llm::tokenizer::EncodeOptions;
use tallow_llm::{DEFAULT_CHUNK_LEN, LanguageModel, perplexity};

use crate::device::DeviceArgument;
use crate::error::{Error, Result};
use crate::{model, output};

/// Measure how well a model predicts a text.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  tallow perplexity smollm2 text.txt\n  \
                        tallow perplexity smollm2 text.txt --dump-logits logits.bin")]
pub(crate) struct Arguments {
    /// A file, a folder of safetensors, a name of the catalogue, or hf:org/repo/file.gguf.
    model: String,
    /// A text in UTF-8.
    file: PathBuf,
    /// Tokens that are scored together; the second half of each chunk counts.
    #[arg(long, value_name = "TOKENS", default_value_t = DEFAULT_CHUNK_LEN)]
    chunk: usize,
    /// Instead, write the logits after each of the first tokens, in one window: raw little-endian
    /// f32, [positions, vocabulary].
    #[arg(long, value_name = "FILE")]
    dump_logits: Option<PathBuf>,
    /// How many positions to write.
    #[arg(long, value_name = "N", default_value_t = 1024, requires = "dump_logits")]
    positions: usize,
    #[command(flatten)]
    device: DeviceArgument,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let text = std::fs::read_to_string(&self.file)
            .map_err(|error| Error::file("read", &self.file, &error))?;
        let model = model::load(&self.model, &self.device)?;
        match &self.dump_logits {
            Some(path) => self.dump(&model, &text, path),
            None => self.measure(&model, &text),
        }
    }

    fn measure(&self, model: &LanguageModel, text: &str) -> Result<()> {
        let bar = bar();
        let (model, tokenizer) = (&model.model, &model.tokenizer);
        let found = perplexity(model, tokenizer, text, self.chunk, &mut |done, all, sofar| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
            bar.set_message(format!("{:.4}", sofar.value));
        });
        bar.finish_and_clear();
        let found = found?;
        output::line(format!(
            "perplexity {:.4} +/- {:.4} over {} tokens, chunks of {}",
            found.value, found.error, found.scored_tokens, self.chunk
        ))
    }

    fn dump(&self, model: &LanguageModel, text: &str, path: &Path) -> Result<()> {
        let mut ids = model.tokenizer.encode(text, EncodeOptions::plain())?;
        let (wanted, context_len) = (self.positions, model.model.context_len());
        if wanted == 0 || wanted > ids.len() || wanted > context_len {
            return Err(Error::Text(format!(
                "--positions {wanted}: want from 1 to {} (the text has {} tokens, the model's \
                 context {context_len})",
                ids.len().min(context_len),
                ids.len()
            )));
        }
        ids.truncate(wanted);
        let fail = |error: std::io::Error| Error::file("write", path, &error);
        super::refuse_special_file(path)?;
        let mut file = BufWriter::new(AtomicFile::create(path).map_err(fail)?);
        let bar = bar();
        bar.set_length(wanted as u64);
        let mut failure = None;
        let mut cache = model.model.new_cache();
        let done = model
            .model
            .forward_all(&ids, &mut cache, 0, &mut |position, logits| {
                let bytes: Vec<u8> = logits.iter().flat_map(|logit| logit.to_le_bytes()).collect();
                bar.set_position(position as u64 + 1);
                file.write_all(&bytes).map_err(|error| {
                    failure = Some(error);
                    tallow_llm::Error::Cancelled
                })
            });
        bar.finish_and_clear();
        if let Some(error) = failure {
            return Err(fail(error));
        }
        done?;
        let file = file.into_inner().map_err(|error| fail(error.into_error()))?;
        file.finish().map_err(fail)?;
        output::line(format!(
            "{}: {wanted} positions of {} logits",
            path.display(),
            model.model.vocabulary_len()
        ))
    }
}

fn bar() -> ProgressBar {
    if !output::has_watcher() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    match ProgressStyle::with_template("[{bar:30}] {pos} of {len} {msg}, {eta} left") {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}
