//! Models of sound, small.

use crate::weights::{ids, input, made};
use crate::{Model, Outputs};
use anyhow::Result;
use candle_transformers::models::{encodec, whisper};
use serde_json::json;

pub(crate) const MODELS: &[Model] = &[("encodec", encodec), ("whisper", whisper)];

fn encodec() -> Result<Outputs> {
    let config = encodec::Config {
        hidden_size: 16,
        num_filters: 4,
        codebook_size: 32,
        target_bandwidths: vec![1.5],
        ..Default::default()
    };
    let model = encodec::Model::new(&config, made())?;
    let codes = model.encode(&input((1, 1, 4000))?)?;
    let sound = model.decode(&codes)?;
    Ok(vec![("codes", codes), ("sound", sound)])
}

fn whisper() -> Result<Outputs> {
    let config = serde_json::from_value(json!({
        "num_mel_bins": 20, "max_source_positions": 60, "d_model": 48,
        "encoder_attention_heads": 4, "encoder_layers": 2, "vocab_size": 200,
        "max_target_positions": 30, "decoder_attention_heads": 4, "decoder_layers": 2,
        "suppress_tokens": []
    }))?;
    let mut model = whisper::model::Whisper::load(&made(), config)?;
    let encoded = model.encoder.forward(&input((1, 20, 100))?, true)?;
    let decoded = model.decoder.forward(&ids(6, 200)?, &encoded, true)?;
    let logits = model.decoder.final_linear(&decoded)?;
    Ok(vec![("encoded", encoded), ("logits", logits)])
}
