//! `tallow bench requests`: what the first users of a freshly started program wait for.

use std::time::{Duration, Instant};

use tallow_llm::chat::Message;
use tallow_llm::{GenerateOptions, LanguageModel, Session, WarmUp};

use super::cold;
use crate::device::DeviceArgument;
use crate::error::Result;
use crate::{interrupt, model, output};

/// Load a model, answer requests one after the other, and print what each took.
///
/// On a GPU, the figures of candle 0.11.0 with SmolLM2 Q8_0 on an M2 Max stand beside those of
/// requests of 10 tokens: a scale, not a comparison.
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
    /// Make the model ready before the first request, and say how long that took: a GPU's kernels,
    /// on the processor one token.
    #[arg(long)]
    warm_up: bool,
    /// Let no cache help: every kernel is compiled.
    #[arg(long)]
    cold: bool,
    /// What each request asks.
    #[arg(long, default_value = "What is Rust?")]
    prompt: String,
    #[command(flatten)]
    device: DeviceArgument,
}

/// candle 0.11.0 with SmolLM2 Q8_0 on an M2 Max (macOS 27), 10 tokens a request, in milliseconds.
struct Known {
    cold: bool,
    warm_up: bool,
    load: &'static str,
    warm_up_time: &'static str,
    requests: [&'static str; 3],
}

const KNOWN: [Known; 4] = [
    known(true, false, "4318", "", ["8342", "36", "35"]),
    known(false, false, "123", "", ["58", "36", "36"]),
    known(true, true, "4247", "7988", ["41", "32", "33"]),
    known(false, true, "126", "35", ["35", "33", "33"]),
];

const fn known(
    cold: bool,
    warm_up: bool,
    load: &'static str,
    warm_up_time: &'static str,
    requests: [&'static str; 3],
) -> Known {
    Known {
        cold,
        warm_up,
        load,
        warm_up_time,
        requests,
    }
}

impl Arguments {
    pub(super) fn run(&self) -> Result<()> {
        if self.cold && cold::restarted()? {
            return Ok(());
        }
        let path = model::find(&self.model)?;
        let start = Instant::now();
        let device = self.device.open()?;
        if device.gpu().is_some() {
            show("open", start.elapsed(), "")?;
        }
        let start = Instant::now();
        let warm_up = self.warm_up.then(WarmUp::default);
        let model = model::load_from(&path, device, warm_up)?;
        let whole = start.elapsed();
        let gpu = model.model.device().gpu();
        let known = gpu.and_then(|_| {
            let mut rows = KNOWN.iter();
            rows.find(|row| row.cold == self.cold && row.warm_up == self.warm_up)
        });
        let beside = |figure: Option<&str>| match figure {
            Some(figure) => format!("  M2 Max: {figure} ms"),
            None => String::new(),
        };
        let load = match &model.warm_up {
            Some(_) => model.load_time,
            None => whole,
        };
        show("load", load, &beside(known.map(|known| known.load)))?;
        let ids = model::conversation_ids(&model, &[Message::new("user", &self.prompt)])?;
        match (&model.warm_up, self.warm_up) {
            (Some(report), _) => {
                let rest = whole.saturating_sub(model.load_time);
                let known = beside(known.map(|known| known.warm_up_time));
                show("warm-up", rest, &format!("  {report} from the start{known}"))?;
            }
            (None, true) => show("warm-up", answer(&model, &ids, 1)?.0, "")?,
            (None, false) => {}
        }
        for request in 1..=self.requests {
            let before = compiled(&model);
            let (time, text) = answer(&model, &ids, self.tokens)?;
            let known = known.filter(|_| self.tokens == 10);
            let figure = known.and_then(|known| known.requests.get(request - 1).copied());
            let made = match compiled(&model) - before {
                0 => String::new(),
                made => format!("  {made} kernels compiled"),
            };
            let beside = beside(figure);
            show(&format!("request {request}"), time, &format!("{made}{beside}  {text:?}"))?;
        }
        Ok(())
    }
}

/// Kernels that the model's device compiled so far.
fn compiled(model: &LanguageModel) -> u64 {
    let gpu = model.model.device().gpu();
    gpu.map_or(0, |gpu| gpu.statistics().kernels.compiled)
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
