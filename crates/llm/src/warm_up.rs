//! Kernels made ready before the first request.
//!
//! What a model asks of a GPU follows from its shapes and types alone, so its list of kernels comes
//! from the model itself, run on a device on paper: no list that somebody has to keep. The
//! [`exercise`] goes through every call that generation makes, at lengths of every kind. A warm-up
//! compiles the list in parallel, while the weights go up where it comes with loading, then runs a
//! prompt and a token on the device, so that its libraries and its pool of buffers are there too.

use std::time::{Duration, Instant};

use tallow::{Device, GpuDevice};
use tallow_gpu::{KernelCounts, Variant};

use crate::error::{Error, Result};
use crate::model::Model;
use crate::transformer::{GPU_CHUNK_LEN, KvCache};

/// What a model is made ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// Sequences of up to so many positions; the model's context, if that is less.
    pub max_len: usize,
    /// So many sequences at once. They go through the model one after the other, so that more than
    /// one ask for the same kernels as one.
    pub batch: usize,
}

impl Default for WarmUp {
    /// One sequence of any length.
    fn default() -> Self {
        Self {
            max_len: usize::MAX,
            batch: 1,
        }
    }
}

/// What a warm-up did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WarmUpReport {
    /// Kernels compiled from their text.
    pub compiled: u64,
    /// Kernels loaded from the folder of compiled kernels.
    pub loaded: u64,
    /// Kernels loaded from the kernel pack.
    pub packed: u64,
    /// How long it took, from the beginning of loading where it came with that.
    pub time: Duration,
}

/// A warm-up that has begun.
pub(crate) struct Started {
    at: Instant,
    counts: KernelCounts,
}

impl WarmUpReport {
    /// Notes where a GPU stands; `None` for the processor.
    pub(crate) fn start(device: &Device) -> Option<Started> {
        let counts = device.gpu()?.statistics().kernels;
        let at = Instant::now();
        Some(Started { at, counts })
    }

    fn since(started: &Started, gpu: &GpuDevice) -> Self {
        let now = gpu.statistics().kernels;
        Self {
            compiled: now.compiled - started.counts.compiled,
            loaded: now.loaded - started.counts.loaded,
            packed: now.packed - started.counts.packed,
            time: started.at.elapsed(),
        }
    }
}

impl std::fmt::Display for WarmUpReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let milliseconds = self.time.as_secs_f64() * 1e3;
        write!(
            f,
            "{} kernels compiled, {} loaded, {} from the pack, {milliseconds:.0} ms",
            self.compiled, self.loaded, self.packed
        )
    }
}

/// Tokens of the prompt that a warm-up runs on the device.
const PROMPT_LEN: usize = 32;

/// Every short prompt's length, and those on both sides of where tiles end, up to what goes through
/// the layers at once. Tiles of long prompts have 64 rows and more.
fn prompt_lengths(max_len: usize) -> Vec<usize> {
    let max_len = max_len.min(GPU_CHUNK_LEN);
    let tiles = (32..512).step_by(32);
    let tiles = tiles.chain((512..=GPU_CHUNK_LEN).step_by(64));
    let around = tiles.flat_map(|end| [end - 1, end, end + 1]);
    let mut lengths: Vec<usize> = (1..=20).chain(around).chain([max_len]).collect();
    lengths.retain(|&len| len <= max_len);
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// Every call that generation makes of a model, over sequences of up to `max_len` positions.
fn exercise(model: &Model, max_len: usize) -> Result<()> {
    let add = |cache: &mut KvCache, count: usize| -> Result<()> {
        let count = count.min(max_len - cache.len());
        if count > 0 {
            model.forward(&vec![0; count], cache)?;
        }
        Ok(())
    };
    let lengths = prompt_lengths(max_len);
    for &len in &lengths {
        // A first prompt, tokens one by one, a further prompt.
        let mut cache = model.new_cache();
        let singles = usize::from(len < 5 || len % 64 == 1);
        for count in [len, singles, singles, len] {
            add(&mut cache, count)?;
        }
    }
    // A single token as the rest of a longer prompt, which need not go the way of one by itself.
    let mut cache = model.new_cache();
    model.forward_all(&[0], &mut cache, 0, &mut |_, _| Ok(()))?;
    // Tokens of the largest logits, which are not read back.
    let mut cache = model.new_cache();
    for _ in 0..max_len.min(3) {
        model.forward_greedy(&[0], &mut cache)?;
    }
    // To the end in whole chunks, with and without a few tokens between.
    let longest = lengths.last().copied().unwrap_or(1);
    for between in [0, 1, 2, 3] {
        let mut cache = model.new_cache();
        while cache.len() < max_len {
            add(&mut cache, longest)?;
            add(&mut cache, between)?;
        }
    }
    Ok(())
}

impl Model {
    /// Every kernel that the model can ask of its device, for sequences of up to `max_len`
    /// positions (at most its context), `batch` at once: a function of its shapes, its types and
    /// the device's properties. Empty on the processor.
    ///
    /// # Errors
    /// A length or a batch of 0.
    pub fn variants(&self, max_len: usize, batch: usize) -> Result<Vec<Variant>> {
        match self.device().gpu() {
            Some(gpu) => self
                .planned(gpu)?
                .variants_of_plan(WarmUp { max_len, batch }),
            None => Ok(Vec::new()),
        }
    }

    /// The variants that a model on paper asks for.
    pub(crate) fn variants_of_plan(&self, warm_up: WarmUp) -> Result<Vec<Variant>> {
        let WarmUp { max_len, batch } = warm_up;
        if max_len == 0 || batch == 0 {
            return Err(Error::Model(format!(
                "a warm-up for {batch} sequences of {max_len} positions; want at least one of each"
            )));
        }
        exercise(self, max_len.min(self.context_len()))?;
        Ok(self.device().gpu().map_or(Vec::new(), GpuDevice::asked))
    }

    /// Makes every kernel ready that sequences of up to `max_len` positions ask for, `batch` at
    /// once, and runs a prompt and a token on the device. After it no request compiles anything.
    /// Does nothing on the processor.
    ///
    /// # Errors
    /// A length or a batch of 0, a kernel that does not compile, what the device refuses.
    pub fn warm_up(&self, max_len: usize, batch: usize) -> Result<WarmUpReport> {
        let (Some(gpu), Some(started)) = (self.device().gpu(), WarmUpReport::start(self.device()))
        else {
            return Ok(WarmUpReport::default());
        };
        let variants = self.variants(max_len, batch)?;
        gpu.prepare(&variants).map_err(tallow::Error::from)?;
        self.finish_warm_up(WarmUp { max_len, batch }, started)
    }

    /// Runs a prompt and a token, and says what was done since `started`.
    pub(crate) fn finish_warm_up(&self, warm_up: WarmUp, started: Started) -> Result<WarmUpReport> {
        let Some(gpu) = self.device().gpu() else {
            return Ok(WarmUpReport::default());
        };
        let len_max = warm_up.max_len.min(self.context_len());
        let mut cache = self.new_cache();
        self.forward(&vec![0; PROMPT_LEN.min(len_max)], &mut cache)?;
        if cache.len() < len_max {
            self.forward_greedy(&[0], &mut cache)?;
        }
        let report = WarmUpReport::since(&started, gpu);
        tracing::info!(
            target: "tallow::warm_up",
            compiled = report.compiled,
            loaded = report.loaded,
            packed = report.packed,
            ms = report.time.as_secs_f64() * 1e3,
            "kernels are ready"
        );
        Ok(report)
    }
}
