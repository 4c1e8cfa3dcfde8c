//! Gemma 3, text (Gemma team, 2025): five layers with a window for each that sees all, each kind
//! with its own rope base; norms before and after both blocks; queries and keys normed; embeddings
//! scaled by √hidden; GELU.

use super::Architecture;
use crate::error::Result;
use crate::settings::Settings;
use crate::transformer::{Activation, Config, RopeConfig, RopePairs, Window};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    names: &["gemma3", "gemma3_text"],
    config,
    renames: &[
        ("post_attention_norm", "post_attention_layernorm"),
        ("ffn_norm", "pre_feedforward_layernorm"),
        ("post_ffw_norm", "post_feedforward_layernorm"),
    ],
};

fn config(settings: &Settings<'_>) -> Result<Config> {
    let rope = RopeConfig::from_settings(settings, RopePairs::Halves, 1_000_000.0)?;
    let mut config = Config::plain(settings, rope)?;
    config.activation = Activation::GeluTanh;
    config.embedding_scale = (config.hidden_len as f32).sqrt();
    // GGUF has the 1 added already.
    config.norm_shift = if settings.is_json() { 1.0 } else { 0.0 };
    if let Some(scale) = settings.find_number("attention.query_scale")? {
        config.attention_scale = 1.0 / (scale as f32).sqrt();
    } else if config.layer_count == 62 {
        // The 27B model alone scales by hidden / heads, and GGUF has no key for it.
        config.attention_scale = 1.0 / ((config.hidden_len / config.head_count) as f32).sqrt();
    }
    if let Some(len) = settings
        .find_count("attention.sliding_window")?
        .filter(|&len| len > 0)
    {
        let base = settings
            .find_number("rope.local_freq_base")?
            .unwrap_or(10_000.0);
        config.window = Some(Window {
            len,
            global_every: settings
                .find_count("attention.sliding_window_pattern")?
                .unwrap_or(6),
            rope: RopeConfig::new(base, config.rope.dims, RopePairs::Halves),
        });
    }
    Ok(config)
}
