//! `tallow tokenize`: the ids of a text.

use tallow_llm::tokenizer::EncodeOptions;

use crate::error::Result;
use crate::{model, output};

/// Print the tokens of a text: one a line, its id and what it stands for.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow tokenize smollm2 \"Hello there\"")]
pub(crate) struct Arguments {
    /// A file, a folder of safetensors, a name of the catalogue, or hf:org/repo/file.gguf.
    model: String,
    /// The text.
    text: String,
    /// Print the ids alone, on one line.
    #[arg(long)]
    ids: bool,
    /// Read control tokens such as <|im_end|> as characters, and add no first token.
    #[arg(long)]
    plain: bool,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let tokenizer = model::load_tokenizer(&self.model)?;
        let options = EncodeOptions {
            add_special: !self.plain,
            parse_special: !self.plain,
        };
        let ids = tokenizer.encode(&self.text, options)?;
        if self.ids {
            let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
            return output::line(ids.join(" "));
        }
        for &id in &ids {
            let text = tokenizer.token_text(id).unwrap_or_default();
            output::line(format!("{id}\t{text:?}"))?;
        }
        output::note(&format!("{} tokens", ids.len()));
        Ok(())
    }
}
