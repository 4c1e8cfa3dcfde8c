//! How well a model predicts a text: exp of the mean of −ln p(next token).
//!
//! The way llama.cpp's `perplexity` does it, so that figures can be compared: the text is cut into
//! chunks of `context_len` tokens, each starts from an empty cache (with BOS in place of its first
//! token where the vocabulary asks for BOS), and only the second half of a chunk is scored, where
//! each token has at least half a chunk before it.

use crate::error::{Error, Result};
use crate::model::Model;
use crate::tokenizer::{EncodeOptions, Tokenizer};

/// The chunk length that published figures use.
pub const DEFAULT_CHUNK_LEN: usize = 512;

/// How well a text was predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Perplexity {
    /// exp of the mean loss.
    pub value: f64,
    /// The standard error of [`value`](Self::value).
    pub error: f64,
    /// How many tokens were scored.
    pub scored_tokens: usize,
}

/// The perplexity of a text. `on_chunk` gets the figure so far after each chunk, with the number of
/// chunks done and of all.
///
/// # Errors
/// When the text has fewer than two chunks, or the chunk does not fit the model's context.
pub fn perplexity(
    model: &Model,
    tokenizer: &Tokenizer,
    text: &str,
    chunk_len: usize,
    on_chunk: &mut dyn FnMut(usize, usize, Perplexity),
) -> Result<Perplexity> {
    if chunk_len < 4 || chunk_len > model.context_len() {
        return Err(Error::Model(format!(
            "a chunk of {chunk_len} tokens; it must be from 4 to the model's context of {}",
            model.context_len()
        )));
    }
    let ids = tokenizer.encode(text, EncodeOptions::plain())?;
    let chunk_count = ids.len() / chunk_len;
    if chunk_count < 2 {
        return Err(Error::Model(format!(
            "the text has {} tokens; perplexity wants at least {} (two chunks)",
            ids.len(),
            2 * chunk_len
        )));
    }
    let mut losses = Losses::default();
    for (done, chunk) in ids.chunks_exact(chunk_len).enumerate() {
        let mut chunk = chunk.to_vec();
        if let Some(bos) = tokenizer.bos().filter(|_| tokenizer.adds_bos()) {
            chunk[0] = bos;
        }
        score(model, &chunk, &mut losses)?;
        on_chunk(done + 1, chunk_count, losses.perplexity());
    }
    Ok(losses.perplexity())
}

/// Adds the losses of a chunk's second half.
fn score(model: &Model, chunk: &[u32], losses: &mut Losses) -> Result<()> {
    let mut cache = model.new_cache();
    let half = chunk.len() / 2;
    model.forward_all(chunk, &mut cache, half, &mut |position, logits| {
        if let Some(&next) = chunk.get(position + 1) {
            losses.add(loss(logits, next)?);
        }
        Ok(())
    })
}

/// −ln of the softmax of the logits at `id`.
fn loss(logits: &[f32], id: u32) -> Result<f64> {
    let largest = logits
        .iter()
        .fold(f32::NEG_INFINITY, |largest, &logit| largest.max(logit));
    let sum: f64 = logits
        .iter()
        .map(|&logit| f64::from(logit - largest).exp())
        .sum();
    let loss = sum.ln() - f64::from(logits[id as usize] - largest);
    if loss.is_nan() {
        return Err(Error::Sampling(
            "a logit is not a number; the model's weights or its arithmetic are broken".to_string(),
        ));
    }
    Ok(loss)
}

#[derive(Default)]
struct Losses {
    sum: f64,
    sum_of_squares: f64,
    count: usize,
}

impl Losses {
    fn add(&mut self, loss: f64) {
        self.sum += loss;
        self.sum_of_squares += loss * loss;
        self.count += 1;
    }

    fn perplexity(&self) -> Perplexity {
        let count = self.count.max(1) as f64;
        let mean = self.sum / count;
        let variance = (self.sum_of_squares / count - mean * mean).max(0.0);
        let value = mean.exp();
        // The error of the mean, through exp to first order.
        let error = value * (variance / (count - 1.0).max(1.0)).sqrt();
        Perplexity {
            value,
            error,
            scored_tokens: self.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_logits_give_the_vocabularys_size() {
        let mut losses = Losses::default();
        for id in 0..8 {
            losses.add(loss(&[0.5; 8], id).unwrap());
        }
        let found = losses.perplexity();
        assert!((found.value - 8.0).abs() < 1e-9 && found.error < 1e-6);
        assert_eq!(found.scored_tokens, 8);
        assert!(loss(&[f32::NAN, 0.0], 1).is_err());
    }
}
