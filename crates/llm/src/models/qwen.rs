//! Qwen 2 (biased queries, keys and values) and Qwen 3 (normed queries and keys). Which of these a
//! file has shows in its tensors, so both are one architecture here.

use super::Architecture;
use crate::error::Result;
use crate::settings::Settings;
use crate::transformer::{Config, RopeConfig, RopePairs};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    names: &["qwen2", "qwen3"],
    config,
    renames: &[],
};

fn config(settings: &Settings<'_>) -> Result<Config> {
    let rope = RopeConfig::from_settings(settings, RopePairs::Halves, 10_000.0)?;
    Config::plain(settings, rope)
}
