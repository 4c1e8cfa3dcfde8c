//! `tallow bench requests`: what the first users of a freshly started program wait for.

use std::time::{Duration, Instant};

use tallow_llm::chat::Message;
use tallow_llm::{GenerateOptions, LanguageModel, Session};

use crate::device::DeviceArgument;
use crate::error::Result;
use crate::{interrupt, model, output};

/// Load a model, answer requests one after the other, and print what each took.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow bench requests smollm2 --requests 3 --tokens 10 --warm-up")]
pub(super) struct Arguments {
    /// A file, a folder of safetensors, a name of the catalogue, or hf:org/repo/file.gguf.
    model: String,
    /// How many requests.
    #[arg(long, default_value_t = 3)]
    requests: usize,
    /// Tokens of each answer.
    #[arg(long, default_value_t = 10)]
    tokens: usize,
    /// Compute one token before the first request, and say how long that took.
    #[arg(long)]
    warm_up: bool,
    /// What each request asks.
    #[arg(long, default_value = "What is Rust?")]
    prompt: String,
    #[command(flatten)]
    device: DeviceArgument,
}

impl Arguments {
    pub(super) fn run(&self) -> Result<()> {
        let path = model::find(&self.model)?;
        let start = Instant::now();
        let model = LanguageModel::load_on(&path, &self.device.open()?)?;
        show("load", start.elapsed(), "")?;
        let ids = model::conversation_ids(&model, &[Message::new("user", &self.prompt)])?;
        if self.warm_up {
            let (time, _) = answer(&model, &ids, 1)?;
            show("warm-up", time, "")?;
        }
        for request in 1..=self.requests {
            let (time, text) = answer(&model, &ids, self.tokens)?;
            show(&format!("request {request}"), time, &format!("  {text:?}"))?;
        }
        Ok(())
    }
}

/// Answers in a session of its own, as for a new user.
fn answer(model: &LanguageModel, ids: &[u32], tokens: usize) -> Result<(Duration, String)> {
    let options = GenerateOptions {
        max_tokens: tokens,
        ignore_end_of_turn: true,
        ..Default::default()
    };
    let start = Instant::now();
    let mut session = Session::new(&model.model, &model.tokenizer);
    let answer = session.generate(ids, &options, interrupt::flag(), &mut |_| {})?;
    Ok((start.elapsed(), answer.text))
}

fn show(what: &str, time: Duration, text: &str) -> Result<()> {
    let milliseconds = time.as_secs_f64() * 1e3;
    output::line(format!("{what:<12}{milliseconds:>10.1} ms{text}"))
}
