//! `tallow bench llm`: load, prefill, decode and memory of a model.

use std::time::Instant;

use tallow_llm::tokenizer::EncodeOptions;
use tallow_llm::{GenerateOptions, KvCache, LanguageModel, Model, Session};

use super::timing::{self, Samples};
use crate::device::DeviceArgument;
use crate::error::{Error, Result};
use crate::{interrupt, model, output, process};

/// Prompt lengths, and whether one is measured by `--tsv` without `--only`.
const PREFILLS: [(usize, bool); 3] = [(32, true), (512, true), (2048, false)];
const DECODE_TOKENS: usize = 128;
const DECODE_PROMPT: usize = 32;
const ANSWER_TOKENS: usize = 40;
const QUESTION: &str = "<|im_start|>user\nWhat is Rust?<|im_end|>\n<|im_start|>assistant\n";

/// Measure load, prefill of 32, 512 and 2,048 tokens, decode of 128, and peak memory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow bench llm smollm2 --threads 2")]
pub(super) struct Arguments {
    /// A file, a folder of safetensors, a name of the catalogue, or hf:org/repo/file.gguf.
    model: String,
    /// Only this measurement; as often as wanted.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Samples to take the median of.
    #[arg(long, value_name = "N", default_value_t = 3)]
    samples: usize,
    /// Lines of name, tab, microseconds, for programs.
    #[arg(long)]
    tsv: bool,
    #[command(flatten)]
    device: DeviceArgument,
}

impl Arguments {
    pub(super) fn run(&self) -> Result<()> {
        let path = model::find(&self.model)?;
        let start = Instant::now();
        let model = LanguageModel::load_on(&path, &self.device.open()?)?;
        let load = start.elapsed().as_secs_f64() * 1e6;
        if self.wants("load", true) {
            self.show("load", &Samples::new(vec![load]), None)?;
        }
        for (tokens, by_default) in PREFILLS {
            let name = format!("prefill_{tokens}");
            if !self.wants(&name, by_default || !self.tsv) {
                continue;
            }
            if tokens > model.model.context_len() {
                output::note(&format!("{name}: left out; the model's context is shorter"));
                continue;
            }
            let samples = timing::runs(self.samples, || prefill(&model.model, tokens))?;
            self.show(&name, &samples, Some(tokens as f64))?;
        }
        if self.wants("decode_128", true) {
            let samples = timing::runs(self.samples, || decode(&model.model))?;
            self.show("decode_128", &samples, Some(1.0))?;
        }
        if self.tsv && self.wants("answer", true) {
            output::line(format!("# answer {}", answer(&model)?))?;
        }
        self.show_memory()
    }

    fn wants(&self, name: &str, by_default: bool) -> bool {
        match self.only.is_empty() {
            true => by_default,
            false => self.only.iter().any(|only| only == name),
        }
    }

    /// One measurement; `tokens` is how many one sample's time is for.
    fn show(&self, name: &str, samples: &Samples, tokens: Option<f64>) -> Result<()> {
        if self.tsv {
            return output::line(format!("{name}\t{:.1}", samples.median()));
        }
        let Some(tokens) = tokens else {
            return output::line(format!("{name:<14}{:>10.1} ms", samples.median() / 1e3));
        };
        let rate = |microseconds: f64| tokens / microseconds * 1e6;
        output::line(format!(
            "{name:<14}{:>10.1} tokens/s  ({:.1} to {:.1} over {} samples)",
            rate(samples.median()),
            rate(samples.most()),
            rate(samples.least()),
            self.samples.max(1),
        ))
    }

    fn show_memory(&self) -> Result<()> {
        match (process::peak_memory_bytes(), self.tsv) {
            (Some(bytes), true) => output::line(format!("# peak memory {} kB", bytes / 1024)),
            (Some(bytes), false) => {
                let bytes = output::bytes(bytes);
                output::line(format!("{:<14}{bytes:>13}", "peak memory"))
            }
            (None, _) => Ok(()),
        }
    }
}

/// A prompt of the length: the same ids in every program.
fn prompt(model: &Model, tokens: usize) -> Vec<u32> {
    let vocabulary_len = model.vocabulary_len() as u32;
    (0..tokens as u32)
        .map(|index| (1000 + index * 7919 % 40_000) % vocabulary_len)
        .collect()
}

fn next(model: &Model, ids: &[u32], cache: &mut KvCache) -> Result<u32> {
    Ok(model.forward_greedy(ids, cache)?)
}

fn prefill(model: &Model, tokens: usize) -> Result<f64> {
    let ids = prompt(model, tokens);
    let start = Instant::now();
    next(model, &ids, &mut model.new_cache())?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

/// Microseconds a token, greedy, after a prompt of `DECODE_PROMPT` tokens.
fn decode(model: &Model) -> Result<f64> {
    if model.context_len() < DECODE_PROMPT + DECODE_TOKENS {
        return Err(Error::text("bench: the model's context is shorter than 160 tokens"));
    }
    let mut cache = model.new_cache();
    let mut id = next(model, &prompt(model, DECODE_PROMPT), &mut cache)?;
    let start = Instant::now();
    for _ in 0..DECODE_TOKENS {
        id = next(model, &[id], &mut cache)?;
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / DECODE_TOKENS as f64)
}

/// The greedy ids behind the known question.
fn answer(model: &LanguageModel) -> Result<String> {
    let ids = model.tokenizer.encode(QUESTION, EncodeOptions::default())?;
    let options = GenerateOptions {
        max_tokens: ANSWER_TOKENS,
        ignore_end_of_turn: true,
        ..Default::default()
    };
    let mut session = Session::new(&model.model, &model.tokenizer);
    let answer = session.generate(&ids, &options, interrupt::flag(), &mut |_| {})?;
    let ids: Vec<String> = answer.ids.iter().map(u32::to_string).collect();
    Ok(ids.join(" "))
}
