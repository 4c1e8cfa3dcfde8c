//! Mistral (Jiang et al., 2023) as safetensors have it: Llama with a window on every layer where
//! the file sets one. (GGUF calls it `llama`.)

use super::Architecture;
use crate::error::Result;
use crate::settings::Settings;
use crate::transformer::{Config, RopeConfig, RopePairs, Window};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    names: &["mistral"],
    config,
    renames: &[],
};

fn config(settings: &Settings<'_>) -> Result<Config> {
    let pairs = if settings.is_json() {
        RopePairs::Halves
    } else {
        RopePairs::Neighbours
    };
    let rope = RopeConfig::from_settings(settings, pairs, 10_000.0)?;
    let mut config = Config::plain(settings, rope.clone())?;
    if let Some(len) = settings
        .find_count("attention.sliding_window")?
        .filter(|&len| len > 0)
    {
        config.window = Some(Window {
            len,
            global_every: 0,
            rope,
        });
    }
    Ok(config)
}
