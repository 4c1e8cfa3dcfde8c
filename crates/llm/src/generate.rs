//! Goes on from a prompt, id by id, handing the text on as it comes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::model::Model;
use crate::sampling::{Sampler, SamplingOptions};
use crate::tokenizer::Tokenizer;
use crate::transformer::KvCache;

/// How to generate.
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    /// How many tokens at most.
    pub max_tokens: usize,
    /// How to choose each.
    pub sampling: SamplingOptions,
    /// Go on after an end-of-turn token (for measuring).
    pub ignore_end_of_turn: bool,
    /// The text goes on from the prompt's: a leading space is kept.
    pub continues_text: bool,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            max_tokens: 512,
            sampling: SamplingOptions::default(),
            ignore_end_of_turn: false,
            continues_text: false,
        }
    }
}

/// Why generation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model ended its turn.
    EndOfTurn,
    /// As many tokens as were asked for.
    MaxTokens,
    /// The context is full.
    ContextFull,
    /// The caller cancelled.
    Cancelled,
}

/// How long it took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GenerateStats {
    /// Tokens of the prompt that were computed (those still in the cache are not).
    pub prefill_tokens: usize,
    /// The time that those took.
    pub prefill_time: Duration,
    /// Tokens of the answer that were computed: all but the first, whose logits are the prompt's.
    pub decode_tokens: usize,
    /// The time that those took.
    pub decode_time: Duration,
}

impl GenerateStats {
    /// Tokens of the prompt per second.
    pub fn prefill_per_second(&self) -> f64 {
        per_second(self.prefill_tokens, self.prefill_time)
    }

    /// Tokens of the answer per second.
    pub fn decode_per_second(&self) -> f64 {
        per_second(self.decode_tokens, self.decode_time)
    }
}

fn per_second(count: usize, time: Duration) -> f64 {
    if count == 0 {
        0.0
    } else {
        count as f64 / time.as_secs_f64().max(1e-9)
    }
}

/// What was generated.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The ids, without the end-of-turn token.
    pub ids: Vec<u32>,
    /// Their text.
    pub text: String,
    /// Why it stopped.
    pub stop: StopReason,
    /// How long it took.
    pub stats: GenerateStats,
}

/// A model with the positions that it has already seen: what a next prompt has in common with them
/// is not computed again.
#[derive(Debug)]
pub struct Session<'m> {
    model: &'m Model,
    tokenizer: &'m Tokenizer,
    cache: KvCache,
    ids: Vec<u32>,
}

impl<'m> Session<'m> {
    /// A session that has seen nothing.
    pub fn new(model: &'m Model, tokenizer: &'m Tokenizer) -> Self {
        Self {
            model,
            tokenizer,
            cache: model.new_cache(),
            ids: Vec::new(),
        }
    }

    /// Generates after the prompt. `on_text` gets each piece of the text, never half a character;
    /// `cancel` is looked at after every token.
    ///
    /// # Errors
    /// Before any work: an empty prompt, one that fills the context, options out of range.
    pub fn generate(
        &mut self,
        prompt: &[u32],
        options: &GenerateOptions,
        cancel: &AtomicBool,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Answer> {
        let context_len = self.cache.capacity();
        if prompt.is_empty() {
            return Err(Error::Model("the prompt is empty".to_string()));
        }
        if prompt.len() >= context_len {
            return Err(Error::Model(format!(
                "the prompt has {} tokens and the model's context {context_len}; shorten the \
                 prompt",
                prompt.len()
            )));
        }
        let mut sampler = Sampler::new(&options.sampling)?;
        prompt.iter().for_each(|&id| sampler.accept(id));
        let started = Instant::now();
        let prefilled = self.prefill(prompt, cancel)?;
        let mut stats = GenerateStats {
            prefill_tokens: prefilled.computed,
            prefill_time: started.elapsed(),
            ..GenerateStats::default()
        };
        let mut stream = match options.continues_text {
            true => self.tokenizer.continuing_stream(),
            false => self.tokenizer.stream(),
        };
        let (mut ids, mut text) = (Vec::new(), String::new());
        let started = Instant::now();
        let was_cancelled = prefilled.values.is_empty();
        let mut next = Next::Logits(prefilled.values);
        let stop = loop {
            if cancel.load(Ordering::Relaxed) || was_cancelled {
                break StopReason::Cancelled;
            }
            if ids.len() == options.max_tokens {
                break StopReason::MaxTokens;
            }
            let id = match &next {
                Next::Logits(values) => sampler.sample(values)?,
                Next::Id(id) => *id,
            };
            if self.tokenizer.is_end_of_turn(id) && !options.ignore_end_of_turn {
                break StopReason::EndOfTurn;
            }
            sampler.accept(id);
            ids.push(id);
            show(&stream.push(id), &mut text, on_text);
            if self.cache.len() == context_len {
                break StopReason::ContextFull;
            }
            if ids.len() < options.max_tokens {
                next = match sampler.takes_largest() {
                    true => Next::Id(self.model.forward_greedy(&[id], &mut self.cache)?),
                    false => Next::Logits(self.model.forward(&[id], &mut self.cache)?),
                };
                self.ids.push(id);
                stats.decode_tokens += 1;
            }
        };
        stats.decode_time = started.elapsed();
        show(&stream.finish(), &mut text, on_text);
        Ok(Answer {
            ids,
            text,
            stop,
            stats,
        })
    }

    /// Computes what the prompt adds to the positions that are in the cache.
    fn prefill(&mut self, prompt: &[u32], cancel: &AtomicBool) -> Result<Prefilled> {
        let both = self.ids.iter().zip(prompt);
        let common = both.take_while(|(ours, theirs)| ours == theirs).count();
        // The last token is computed in any case: its logits are wanted.
        let mut reused = common.min(prompt.len().saturating_sub(1));
        if !self.cache.truncate(reused) {
            reused = 0;
        }
        self.ids.truncate(reused);
        let mut values = Vec::new();
        // From one look at the flag to the next is some half a second on a slow processor.
        for part in prompt[reused..].chunks(self.model.chunk_len()) {
            if cancel.load(Ordering::Relaxed) {
                values.clear();
                break;
            }
            values = self.model.forward(part, &mut self.cache).inspect_err(|_| {
                self.cache.truncate(0);
                self.ids.clear();
            })?;
            self.ids.extend_from_slice(part);
        }
        Ok(Prefilled {
            values,
            computed: self.ids.len() - reused,
        })
    }
}

/// What the next id comes from.
enum Next {
    Logits(Vec<f32>),
    /// The largest logit's, found where the logits are.
    Id(u32),
}

/// The logits after a prompt; none if it was cancelled before its end.
struct Prefilled {
    values: Vec<f32>,
    computed: usize,
}

fn show(piece: &str, text: &mut String, on_text: &mut dyn FnMut(&str)) {
    if !piece.is_empty() {
        text.push_str(piece);
        on_text(piece);
    }
}
