//! Models with real weights, from files.

use crate::Outputs;
use anyhow::Result;
use candle_core::quantized::gguf_file;
use candle_core::{D, DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{bert, quantized_llama};
use std::path::Path;

/// "What is Rust?" in SmolLM2's chat template, as its tokenizer has it.
const PROMPT: &[u32] = &[
    1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511, 308, 34519, 28, 7018, 411, 407,
    19712, 8182, 2, 198, 1, 4093, 198, 1780, 314, 28858, 47, 2, 198, 1, 520, 9531, 198,
];

/// The logits after the prompt, and 40 greedy tokens.
pub(crate) fn quantized_llama(path: &str) -> Result<Outputs> {
    let mut file = std::fs::File::open(path)?;
    let content = gguf_file::Content::read(&mut file)?;
    let mut model = quantized_llama::ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?;
    let first = model.forward(&Tensor::new(PROMPT, &Device::Cpu)?.unsqueeze(0)?, 0)?;
    let (mut logits, mut tokens) = (first.clone(), Vec::new());
    for step in 0..40 {
        let token = logits.argmax(D::Minus1)?.flatten_all()?.to_vec1::<u32>()?[0];
        tokens.push(token);
        let next = Tensor::new(&[[token]], &Device::Cpu)?;
        logits = model.forward(&next, PROMPT.len() + step)?;
    }
    let tokens = Tensor::new(tokens, &Device::Cpu)?;
    Ok(vec![("logits", first), ("tokens", tokens)])
}

/// The hidden states of a sentence.
pub(crate) fn bert(folder: &Path) -> Result<Outputs> {
    let config = serde_json::from_str(&std::fs::read_to_string(folder.join("config.json"))?)?;
    let weights = candle_core::safetensors::load(folder.join("model.safetensors"), &Device::Cpu)?;
    let vb = VarBuilder::from_tensors(weights, DType::F32, &Device::Cpu);
    let model = bert::BertModel::load(vb, &config)?;
    // "a tensor library runs language models"
    let ids = [101u32, 1037, 23435, 3075, 3216, 2653, 4275, 102];
    let ids = Tensor::new(&ids, &Device::Cpu)?.unsqueeze(0)?;
    Ok(vec![(
        "hidden",
        model.forward(&ids, &ids.zeros_like()?, None)?,
    )])
}
