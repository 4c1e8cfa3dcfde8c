//! `tallow chat`: a conversation.

use std::io::{self, BufRead};

use tallow_llm::chat::Message;
use tallow_llm::{LanguageModel, Session, StopReason};

use super::{SamplingArguments, run};
use crate::device::DeviceArgument;
use crate::error::{Error, Result};
use crate::{interrupt, model, output};

/// Talk with a model; Ctrl-C stops an answer, Ctrl-D leaves.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow chat smollm2 --temperature 0.7 --top-p 0.9")]
pub(crate) struct Arguments {
    /// A file, a folder of safetensors, a name of the catalogue, or hf:org/repo/file.gguf.
    model: String,
    /// What the model is told before the conversation.
    #[arg(long)]
    system: Option<String>,
    #[command(flatten)]
    sampling: SamplingArguments,
    #[command(flatten)]
    device: DeviceArgument,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let model = model::load_ready(&self.model, &self.device)?;
        if model.template.is_none() {
            return Err(Error::Text(format!(
                "{} has no chat format, so it cannot chat; let it continue a text with \
                 `tallow run --raw`",
                self.model
            )));
        }
        self.talk(&model)
    }

    fn talk(&self, model: &LanguageModel) -> Result<()> {
        let options = self.sampling.options();
        let mut session = Session::new(&model.model, &model.tokenizer);
        let system = self.system.iter().map(|text| Message::new("system", text));
        let mut messages: Vec<Message> = system.collect();
        interrupt::stay();
        output::note("Ctrl-C stops an answer, Ctrl-D leaves");
        while let Some(question) = next_question()? {
            messages.push(Message::new("user", question));
            let ids = model::conversation_ids(model, &messages)?;
            // What was pressed while nothing was answered stops nothing.
            interrupt::take();
            let answer = match run::stream(&mut session, &ids, &options) {
                Ok(answer) => answer,
                Err(Error::Llm(error)) => {
                    // The conversation goes on without the question that could not be answered.
                    messages.pop();
                    output::note(&format!("tallow: {error}"));
                    continue;
                }
                Err(error) => return Err(error),
            };
            output::line("")?;
            if answer.stop == StopReason::Cancelled {
                interrupt::take();
                output::note("(stopped)");
            }
            messages.push(Message::new("assistant", answer.text));
        }
        Ok(())
    }
}

/// The next line that is not empty; `None` at the end of the input.
fn next_question() -> Result<Option<String>> {
    loop {
        if output::has_watcher() {
            output::prompt("> ");
        }
        let mut line = String::new();
        let count = io::stdin()
            .lock()
            .read_line(&mut line)
            .map_err(|error| Error::Text(format!("read standard input: {error}")))?;
        if count == 0 {
            return Ok(None);
        }
        interrupt::take();
        if !line.trim().is_empty() {
            return Ok(Some(line.trim().to_string()));
        }
    }
}
