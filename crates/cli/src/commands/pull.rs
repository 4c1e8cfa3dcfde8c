//! `tallow pull`: fetches a model.

use tallow_llm::store::Store;

use crate::error::Result;
use crate::progress::FetchProgress;
use crate::{interrupt, model, output};

/// Fetch a model, and print where it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow pull smollm2")]
pub(crate) struct Arguments {
    /// A name of the catalogue, or hf:org/repo/file.gguf.
    model: String,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let store = Store::from_env()?;
        model::say_notice(&store, &self.model);
        let mut progress = FetchProgress::cancelled_by(interrupt::flag());
        let found = store.resolve(&self.model, &mut progress)?;
        output::line(found.path().display())
    }
}
