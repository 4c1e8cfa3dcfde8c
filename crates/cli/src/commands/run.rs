//! `tallow run`: answers one prompt.

use std::sync::atomic::{AtomicBool, Ordering};

use tallow_llm::chat::Message;
use tallow_llm::tokenizer::EncodeOptions;
use tallow_llm::{Answer, GenerateOptions, LanguageModel, Session, StopReason};

use super::SamplingArguments;
use crate::device::DeviceArgument;
use crate::error::{Error, Result};
use crate::{interrupt, model, output};

/// Answer one prompt.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow run smollm2 \"What is Rust?\" --max-tokens 100")]
pub(crate) struct Arguments {
    /// A file, a folder of safetensors, a name of the catalogue, or hf:org/repo/file.gguf.
    model: String,
    /// What to answer, in the model's own chat format.
    prompt: String,
    /// What the model is told before the prompt.
    #[arg(long, conflicts_with = "raw")]
    system: Option<String>,
    /// Continue the prompt as it stands, without the chat format.
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    sampling: SamplingArguments,
    #[command(flatten)]
    device: DeviceArgument,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let model = model::load_ready(&self.model, &self.device)?;
        let ids = self.prompt_ids(&model)?;
        let options = GenerateOptions {
            continues_text: self.raw,
            ..self.sampling.options()
        };
        let mut session = Session::new(&model.model, &model.tokenizer);
        let answer = stream(&mut session, &ids, &options)?;
        output::line("")?;
        output::note(&summary(&model, &answer));
        Ok(())
    }

    fn prompt_ids(&self, model: &LanguageModel) -> Result<Vec<u32>> {
        if self.raw {
            return Ok(model
                .tokenizer
                .encode(&self.prompt, EncodeOptions::default())?);
        }
        let system = self.system.iter().map(|text| Message::new("system", text));
        let user = Message::new("user", &self.prompt);
        model::conversation_ids(model, &system.chain([user]).collect::<Vec<_>>())
    }
}

/// Generates, and writes the text to standard output as it comes. Ctrl-C ends the answer, and so
/// does a reader that has gone, which is an error.
pub(super) fn stream(
    session: &mut Session<'_>,
    prompt: &[u32],
    options: &GenerateOptions,
) -> Result<Answer> {
    let interrupt = interrupt::flag();
    let mut failure: Option<Error> = None;
    let answer = session.generate(prompt, options, interrupt, &mut |text| {
        if failure.is_none()
            && let Err(error) = output::piece(text)
        {
            failure = Some(error);
            stop(interrupt);
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(answer?),
    }
}

fn stop(flag: &AtomicBool) {
    flag.store(true, Ordering::Relaxed);
}

/// Load time, tokens per second, and why the answer ended where that is not plain to see.
fn summary(model: &LanguageModel, answer: &Answer) -> String {
    let stats = &answer.stats;
    let end = match answer.stop {
        StopReason::EndOfTurn => "",
        StopReason::MaxTokens => "; stopped at --max-tokens",
        StopReason::ContextFull => "; stopped at the end of the model's context",
        StopReason::Cancelled => "; stopped by Ctrl-C",
    };
    let warm_up = match &model.warm_up {
        Some(report) => format!("warm-up {report}, "),
        None => String::new(),
    };
    format!(
        "load {:.2} s, {warm_up}prefill {} tokens at {:.1} tokens/s, decode {} tokens at {:.1} \
         tokens/s{end}",
        model.load_time.as_secs_f64(),
        stats.prefill_tokens,
        stats.prefill_per_second(),
        stats.decode_tokens,
        stats.decode_per_second(),
    )
}
