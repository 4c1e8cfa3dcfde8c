//! Llama 1 to 3 (Touvron et al., 2023) and what was built to its plan: SmolLM, TinyLlama, Yi.

use super::Architecture;
use crate::error::Result;
use crate::settings::Settings;
use crate::transformer::{Config, RopeConfig, RopePairs};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    names: &["llama"],
    config,
    renames: &[],
};

fn config(settings: &Settings<'_>) -> Result<Config> {
    // GGUF files of this architecture have the rows of queries and keys reordered.
    let pairs = if settings.is_json() {
        RopePairs::Halves
    } else {
        RopePairs::Neighbours
    };
    Config::plain(
        settings,
        RopeConfig::from_settings(settings, pairs, 10_000.0)?,
    )
}
