//! A llama model from a GGUF file in candle: load, prefill and decode, in microseconds.
//!
//! `llm MODEL.gguf`; README.md says what every line stands for.

mod arguments;

use std::time::Instant;

use arguments::{Arguments, median};
use candle_core::quantized::gguf_file::Content;
use candle_core::{D, Device, Result, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;

/// `<|im_start|>user\nWhat is Rust?<|im_end|>\n<|im_start|>assistant\n`
const QUESTION: [u32; 13] = [
    1, 4093, 198, 1780, 314, 36828, 47, 2, 198, 1, 520, 9531, 198,
];
const ANSWER_TOKENS: usize = 40;
const DECODE_TOKENS: usize = 128;
const DECODE_PROMPT: usize = 32;

fn main() -> std::result::Result<(), String> {
    let arguments = Arguments::read()?;
    let [path] = &arguments.rest[..] else {
        return Err("usage: llm MODEL.gguf [--threads N] [--only NAME] [--samples N]".to_owned());
    };
    measure(&arguments, path).map_err(|error| error.to_string())
}

fn measure(arguments: &Arguments, path: &str) -> Result<()> {
    let start = Instant::now();
    let mut model = load(path)?;
    let load_us = start.elapsed().as_secs_f64() * 1e6;
    if arguments.wants("load", true) {
        println!("load\t{load_us:.1}");
    }
    for (tokens, by_default) in [(32, true), (512, true), (2048, false)] {
        let name = format!("prefill_{tokens}");
        if arguments.wants(&name, by_default) {
            let time = |model: &mut _| prefill_us(model, tokens);
            println!("{name}\t{:.1}", sampled(arguments, &mut model, time)?);
        }
    }
    if arguments.wants("decode_128", true) {
        println!(
            "decode_128\t{:.1}",
            sampled(arguments, &mut model, decode_us)?
        );
    }
    if arguments.wants("answer", true) {
        let answer = greedy(&mut model, &QUESTION, ANSWER_TOKENS)?;
        let ids: Vec<String> = answer.iter().map(u32::to_string).collect();
        println!("# answer {}", ids.join(" "));
    }
    println!("# peak memory {}", peak_memory().unwrap_or_default());
    Ok(())
}

fn load(path: &str) -> Result<ModelWeights> {
    let mut file = std::fs::File::open(path)?;
    let content = Content::read(&mut file)?;
    ModelWeights::from_gguf(content, &mut file, &Device::Cpu)
}

/// One warm-up, then the median of the samples.
fn sampled(
    arguments: &Arguments,
    model: &mut ModelWeights,
    time_us: impl Fn(&mut ModelWeights) -> Result<f64>,
) -> Result<f64> {
    time_us(model)?;
    let samples = (0..arguments.samples(3)).map(|_| time_us(model));
    Ok(median(samples.collect::<Result<Vec<_>>>()?))
}

/// A prompt of the length: the same ids in every rival.
fn prompt(tokens: usize) -> Vec<u32> {
    (0..tokens as u32)
        .map(|index| 1000 + index * 7919 % 40_000)
        .collect()
}

fn next_token(model: &mut ModelWeights, tokens: &[u32], position: usize) -> Result<u32> {
    let tokens = Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?;
    model
        .forward(&tokens, position)?
        .squeeze(0)?
        .argmax(D::Minus1)?
        .to_scalar()
}

fn prefill_us(model: &mut ModelWeights, tokens: usize) -> Result<f64> {
    let prompt = prompt(tokens);
    let start = Instant::now();
    next_token(model, &prompt, 0)?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

/// Microseconds a token, greedy, after a prompt of `DECODE_PROMPT` tokens.
fn decode_us(model: &mut ModelWeights) -> Result<f64> {
    let mut token = next_token(model, &prompt(DECODE_PROMPT), 0)?;
    let start = Instant::now();
    for index in 0..DECODE_TOKENS {
        token = next_token(model, &[token], DECODE_PROMPT + index)?;
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / DECODE_TOKENS as f64)
}

fn greedy(model: &mut ModelWeights, prompt: &[u32], count: usize) -> Result<Vec<u32>> {
    let mut answer = vec![next_token(model, prompt, 0)?];
    while answer.len() < count {
        let position = prompt.len() + answer.len() - 1;
        let last = answer[answer.len() - 1];
        answer.push(next_token(model, &[last], position)?);
    }
    Ok(answer)
}

/// The most memory that the process held at once, as Linux counts it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}
