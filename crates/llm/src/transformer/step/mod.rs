//! A decode step on a GPU: five kernels a layer, recorded once and replayed for every token.
//!
//! ```text
//! state ─► embed ─► layer × n ─► project (logits) ─► pick ─► state
//! layer:  project (q, k, v) ─► attend ─► mix ─► gated ─► mix
//! ```
//! What changes from token to token, the position and the token, lies in a small buffer on the
//! device (`state`), so that the recorded commands are the same each time, and the largest logit is
//! found there too. A kernel adds what its forerunner computed to the residual stream and norms it
//! before it multiplies; attention turns queries and key, fills the cache and attends in one.
//! Values are those of the layers in `decoder.rs`; sums are in another order.
//!
//! Models that the kernels do not cover go on layer by layer ([`Step::covers`]).

mod kernels;
mod plan;

use tallow::gpu::{Recording, start_read};
use tallow::{DType, Device, Tensor};

use self::plan::{Buffers, Plan};
use super::cache::KvCache;
use super::decoder::Decoder;
use crate::error::{Error, Result};

/// A recorded step over one cache.
#[derive(Debug)]
pub(crate) struct Step {
    recording: Recording,
    /// `[4]`: position, token, whether the best logit is no finite number, nothing.
    state: Tensor,
    logits: Tensor,
    /// Held for the recording, with `state` and `logits`.
    _buffers: Buffers,
    /// Whose weights the recording reads.
    decoder: u64,
    /// The first position that the recorded tensors have no room for.
    end: usize,
    /// The position and token that the step ran for ahead of the call.
    ahead: Option<(usize, u32)>,
}

impl Step {
    /// Whether single tokens of a decoder can go through a step: there is a GPU, and the kernels
    /// cover the model.
    pub(super) fn covers(decoder: &Decoder) -> bool {
        !device_of(decoder).is_cpu() && plan::covers(decoder)
    }

    /// Records the step of a decoder that it [`covers`](Self::covers) over the tensors of a cache.
    pub(super) fn record(decoder: &Decoder, cache: &KvCache) -> Result<Self> {
        let end = cache.room_end();
        let plan = Plan::new(decoder, end);
        let device = plan.device();
        let Some(gpu) = device.gpu() else {
            return Err(Error::Model("a decode step wants a gpu".to_string()));
        };
        let state = Tensor::zeros(4, DType::U32, device)?;
        let logits = Tensor::zeros(decoder.vocabulary_len(), DType::F32, device)?;
        let buffers = plan.buffers(decoder, end)?;
        let record = || plan.launch(decoder, cache, &buffers, &state, &logits);
        let ((), recording) = gpu.record_commands::<_, Error>(record)?;
        Ok(Self {
            recording,
            state,
            logits,
            _buffers: buffers,
            decoder: decoder.id(),
            end,
            ahead: None,
        })
    }

    /// Whether the step may run for a decoder at a position.
    pub(super) fn is_for(&self, decoder: &Decoder, position: usize) -> bool {
        decoder.id() == self.decoder && position < self.end
    }

    /// What ran ahead is of no use any more: the cache changed.
    pub(super) fn forget(&mut self) {
        self.ahead = None;
    }

    /// The logits after a token at a position.
    pub(super) fn logits(&mut self, position: usize, token: u32) -> Result<Vec<f32>> {
        self.run(position, token)?;
        Ok(self.logits.to_vec1()?)
    }

    /// The id of the largest logit after a token at a position, as
    /// [`argmax`](crate::sampling::argmax) gives it. While it is on its way the step runs once
    /// more, for that id: who asks for the next token mostly asks for that. What it adds to the
    /// cache is behind the cache's end, and is written over if another comes.
    pub(super) fn best(&mut self, position: usize, token: u32) -> Result<u32> {
        self.run(position, token)?;
        let read = start_read(&self.state)?;
        let runs_ahead = position + 1 < self.end;
        if runs_ahead {
            self.recording.replay()?;
        }
        let mut bytes = [0; 16];
        read.finish(&mut bytes)?;
        let word = |at: usize| {
            bytes[4 * at..]
                .first_chunk()
                .map(|word| u32::from_le_bytes(*word))
        };
        let (Some(best), Some(is_bad)) = (word(1), word(2)) else {
            return Err(Error::Model("the decode step's state is lost".to_string()));
        };
        if is_bad != 0 {
            return crate::sampling::argmax(&self.logits(position, token)?);
        }
        self.ahead = runs_ahead.then_some((position + 1, best));
        Ok(best)
    }

    /// Runs the step for a token at a position, if it has not run ahead.
    fn run(&mut self, position: usize, token: u32) -> Result<()> {
        if self.ahead.take() != Some((position, token)) {
            let now = Tensor::new(&[position as u32, token, 0, 0], self.state.device())?;
            self.state.slice_set(&now, 0, 0)?;
            self.recording.replay()?;
        }
        Ok(())
    }
}

/// The device of a decoder.
fn device_of(decoder: &Decoder) -> Device {
    decoder.embedding().table().device()
}
