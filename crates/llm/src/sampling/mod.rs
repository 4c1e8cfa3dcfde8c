//! From logits to the next id.
//!
//! A sampler is the filters that its options turn on, in the order of [`FILTERS`], then a draw
//! from the softmax of what is left. Temperature 0 takes the largest logit instead (after the
//! repeat penalty), so that the answer needs no random numbers.
//!
//! The draws come from ChaCha8 with the given seed: the same numbers on every platform. To add a
//! filter, write a file and add its line to [`FILTERS`].

mod candidates;
mod greedy;
mod min_p;
mod repeat_penalty;
mod temperature;
mod top_k;
mod top_p;

pub use greedy::argmax;

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use self::candidates::Candidates;
use crate::error::{Error, Result};

/// How to choose the next id. The default is greedy.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingOptions {
    /// Divides the logits; 0 takes the largest (greedy).
    pub temperature: f32,
    /// Keep the `top_k` largest logits; 0 keeps all.
    pub top_k: usize,
    /// Keep the fewest largest whose probabilities reach this sum; 1 keeps all.
    pub top_p: f32,
    /// Keep what is at least this share as likely as the likeliest; 0 keeps all.
    pub min_p: f32,
    /// Makes recent ids less likely; 1 does nothing.
    pub repeat_penalty: f32,
    /// How many ids count as recent.
    pub repeat_last_n: usize,
    /// Where the random numbers start.
    pub seed: u64,
}

impl Default for SamplingOptions {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repeat_penalty: 1.0,
            repeat_last_n: 64,
            seed: 0,
        }
    }
}

/// Narrows or rescales the candidates.
trait Filter: std::fmt::Debug + Send {
    fn apply(&self, candidates: &mut Candidates, recent: &VecDeque<u32>);
}

/// Makes a filter if the options ask for it; an option out of range is an error.
type MakeFilter = fn(&SamplingOptions) -> Result<Option<Box<dyn Filter>>>;

/// Every filter, in the order in which they run.
const FILTERS: &[MakeFilter] = &[
    repeat_penalty::make,
    top_k::make,
    top_p::make,
    min_p::make,
    temperature::make,
];

/// Chooses ids one after the other, remembering the recent ones.
#[derive(Debug)]
pub struct Sampler {
    filters: Vec<Box<dyn Filter>>,
    greedy: bool,
    recent: VecDeque<u32>,
    recent_len: usize,
    random: ChaCha8Rng,
    candidates: Candidates,
}

impl Sampler {
    /// Checks the options and starts the random numbers.
    ///
    /// # Errors
    /// Names the option that is out of range.
    pub fn new(options: &SamplingOptions) -> Result<Self> {
        let mut filters = Vec::new();
        for make in FILTERS {
            filters.extend(make(options)?);
        }
        Ok(Self {
            filters,
            greedy: options.temperature == 0.0,
            recent: VecDeque::new(),
            recent_len: options.repeat_last_n,
            random: ChaCha8Rng::seed_from_u64(options.seed),
            candidates: Candidates::default(),
        })
    }

    /// Remembers an id of the prompt or of the answer for the repeat penalty.
    pub fn accept(&mut self, id: u32) {
        if self.recent_len == 0 {
            return;
        }
        if self.recent.len() == self.recent_len {
            self.recent.pop_front();
        }
        self.recent.push_back(id);
    }

    /// Whether the next id is that of the largest logit, whatever came before.
    pub fn takes_largest(&self) -> bool {
        self.greedy && self.filters.is_empty()
    }

    /// Chooses the next id by the logits of the whole vocabulary. Does not [`accept`] it.
    ///
    /// [`accept`]: Self::accept
    ///
    /// # Errors
    /// When a logit is NaN or +∞, or all are −∞.
    pub fn sample(&mut self, logits: &[f32]) -> Result<u32> {
        if self.takes_largest() {
            return argmax(logits);
        }
        self.candidates.fill(logits)?;
        for filter in &self.filters {
            filter.apply(&mut self.candidates, &self.recent);
        }
        if self.greedy {
            return Ok(self.candidates.best());
        }
        // 53 random bits make a double in [0, 1).
        let point = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        Ok(self.candidates.draw(point))
    }
}

/// The error of an option out of range.
fn out_of_range(name: &str, value: f32, range: &str) -> Error {
    Error::Sampling(format!("{name} is {value}; it must be {range}"))
}

#[cfg(test)]
mod tests;
