//! Models of text, small.

use crate::weights::{ids, made};
use crate::{Model, Outputs};
use anyhow::Result;
use candle_core::{D, DType, Device, Tensor};
use candle_transformers::models::{
    bert, distilbert, gemma, llama, mamba, mixtral, phi, qwen2_moe, qwen3, t5,
};
use serde_json::json;

pub(crate) const MODELS: &[Model] = &[
    ("bert", bert),
    ("distilbert", distilbert),
    ("gemma", gemma),
    ("llama", llama),
    ("mamba", mamba),
    ("mixtral", mixtral),
    ("phi", phi),
    ("qwen2_moe", qwen2_moe),
    ("qwen3", qwen3),
    ("t5", t5),
];

fn bert() -> Result<Outputs> {
    let config = json!({
        "vocab_size": 200, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
        "intermediate_size": 96, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "max_position_embeddings": 64, "type_vocab_size": 2, "initializer_range": 0.02,
        "layer_norm_eps": 1e-12, "pad_token_id": 0, "position_embedding_type": "absolute",
        "use_cache": true, "classifier_dropout": null, "model_type": "bert"
    });
    let model = bert::BertModel::load(made(), &serde_json::from_value(config)?)?;
    let ids = ids(19, 200)?;
    let hidden = model.forward(&ids, &ids.zeros_like()?, None)?;
    Ok(vec![("hidden", hidden)])
}

fn distilbert() -> Result<Outputs> {
    let config = json!({
        "vocab_size": 200, "dim": 48, "n_layers": 2, "n_heads": 4, "hidden_dim": 96,
        "activation": "gelu", "max_position_embeddings": 64, "initializer_range": 0.02,
        "pad_token_id": 0, "use_cache": true, "model_type": "distilbert"
    });
    let model = distilbert::DistilBertModel::load(made(), &serde_json::from_value(config)?)?;
    let mask = Tensor::zeros((11, 11), DType::U8, &Device::Cpu)?;
    Ok(vec![("hidden", model.forward(&ids(11, 200)?, &mask)?)])
}

fn gemma() -> Result<Outputs> {
    let config = json!({
        "attention_bias": false, "head_dim": 16, "hidden_act": "gelu_pytorch_tanh",
        "hidden_activation": null, "hidden_size": 48, "intermediate_size": 96,
        "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 1,
        "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "vocab_size": 200,
        "max_position_embeddings": 64
    });
    let mut model = gemma::Model::new(false, &serde_json::from_value(config)?, made())?;
    let prompt = model.forward(&ids(9, 200)?, 0)?;
    let next = model.forward(&ids(1, 200)?, 9)?;
    Ok(vec![("prompt", prompt), ("next", next)])
}

fn llama() -> Result<Outputs> {
    let config: llama::LlamaConfig = serde_json::from_value(json!({
        "hidden_size": 48, "intermediate_size": 96, "vocab_size": 200, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "max_position_embeddings": 64, "tie_word_embeddings": false
    }))?;
    let config = config.into_config(false);
    let model = llama::Llama::load(made(), &config)?;
    let mut cache = llama::Cache::new(true, DType::F32, &config, &Device::Cpu)?;
    let prompt = model.forward(&ids(9, 200)?, 0, &mut cache)?;
    let next = model.forward(&ids(1, 200)?, 9, &mut cache)?;
    Ok(vec![("prompt", prompt), ("next", next)])
}

fn mamba() -> Result<Outputs> {
    let config: mamba::Config = serde_json::from_value(json!({
        "d_model": 32, "n_layer": 2, "vocab_size": 200, "pad_vocab_size_multiple": 8
    }))?;
    let model = mamba::Model::new(&config, made())?;
    let mut state = mamba::State::new(1, &config, DType::F32, &Device::Cpu)?;
    let mut logits = Vec::new();
    for id in [3u32, 99, 7, 7, 150, 12] {
        logits.push(model.forward(&Tensor::new(&[id], &Device::Cpu)?, &mut state)?);
    }
    Ok(vec![("logits", Tensor::stack(&logits, 0)?)])
}

fn mixtral() -> Result<Outputs> {
    let config = json!({
        "vocab_size": 200, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_act": "silu",
        "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 1e6,
        "sliding_window": 4096, "num_experts_per_tok": 2, "num_local_experts": 4,
        "output_router_logits": false, "use_flash_attn": false
    });
    let mut model = mixtral::Model::new(&serde_json::from_value(config)?, made())?;
    let prompt = model.forward(&ids(9, 200)?, 0)?;
    let next = model.forward(&ids(1, 200)?, 9)?;
    Ok(vec![("prompt", prompt), ("next", next)])
}

fn phi() -> Result<Outputs> {
    let config = json!({
        "vocab_size": 200, "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": null, "hidden_act": "gelu_new",
        "max_position_embeddings": 64, "layer_norm_eps": 1e-5, "tie_word_embeddings": false,
        "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "qk_layernorm": false
    });
    let mut model = phi::Model::new(&serde_json::from_value(config)?, made())?;
    let prompt = model.forward(&ids(9, 200)?)?;
    let next = model.forward(&ids(1, 200)?)?;
    Ok(vec![("prompt", prompt), ("next", next)])
}

fn qwen2_moe() -> Result<Outputs> {
    let config = json!({
        "vocab_size": 200, "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
        "sliding_window": 64, "max_window_layers": 2, "tie_word_embeddings": false,
        "rope_theta": 1e6, "rms_norm_eps": 1e-6, "use_sliding_window": false,
        "hidden_act": "silu", "decoder_sparse_step": 1, "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 64, "num_experts_per_tok": 2, "num_experts": 4,
        "norm_topk_prob": true
    });
    let mut model = qwen2_moe::Model::new(&serde_json::from_value(config)?, made())?;
    let prompt = model.forward(&ids(9, 200)?, 0)?;
    let next = model.forward(&ids(1, 200)?, 9)?;
    Ok(vec![("prompt", prompt), ("next", next)])
}

fn qwen3() -> Result<Outputs> {
    let config = json!({
        "vocab_size": 200, "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "head_dim": 16, "attention_bias": false,
        "num_key_value_heads": 2, "max_position_embeddings": 64, "sliding_window": null,
        "max_window_layers": 2, "tie_word_embeddings": true, "rope_theta": 1e6,
        "rms_norm_eps": 1e-6, "use_sliding_window": false, "hidden_act": "silu"
    });
    let mut model = qwen3::ModelForCausalLM::new(&serde_json::from_value(config)?, made())?;
    let prompt = model.forward(&ids(9, 200)?, 0)?;
    let next = model.forward(&ids(1, 200)?, 9)?;
    Ok(vec![("prompt", prompt), ("next", next)])
}

fn t5() -> Result<Outputs> {
    let config = json!({
        "vocab_size": 200, "d_model": 48, "d_kv": 12, "d_ff": 96, "num_layers": 2,
        "num_decoder_layers": 2, "num_heads": 4, "relative_attention_num_buckets": 32,
        "relative_attention_max_distance": 128, "dropout_rate": 0.1, "layer_norm_epsilon": 1e-6,
        "initializer_factor": 1.0, "feed_forward_proj": "gated-gelu",
        "tie_word_embeddings": false, "is_decoder": false, "is_encoder_decoder": true,
        "use_cache": true, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0
    });
    let config = serde_json::from_value(config)?;
    let mut model = t5::T5ForConditionalGeneration::load(made(), &config)?;
    let encoded = model.encode(&ids(13, 200)?)?;
    let decoded = model.decode(&ids(4, 200)?, &encoded)?;
    let best = decoded.argmax(D::Minus1)?;
    Ok(vec![
        ("encoded", encoded),
        ("decoded", decoded),
        ("best", best),
    ])
}
