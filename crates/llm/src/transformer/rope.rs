//! Rotary position embedding (Su et al., 2021): frequencies, and the turn of queries and keys.
//!
//! Pair i of a head of `dims` turning features is turned by `position · base^(−2i/dims)`. Longer
//! contexts than those of training come from scaled frequencies:
//! - linear (Chen et al., 2023): all divided by the factor;
//! - llama3 (Meta's reference code): long waves divided, short ones kept, a ramp between;
//! - yarn (Peng et al., 2023): a ramp over the pairs, and longer queries and keys;
//! - longrope (Ding et al., 2024) and GGUF's `rope_freqs`: a divisor of its own for each pair.
//!
//! Angles are computed in f64. On the CPU for the positions at hand: a table of all positions would
//! cost 64 MB at a context of 32,768 and heads of 256; a GPU keeps the table as far as positions
//! have come.

use std::sync::{Mutex, PoisonError};

use tallow::{Device, GpuDevice, Tensor, ops};

use crate::error::{Error, Result};
use crate::settings::Settings;

/// Which features make a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RopePairs {
    /// Feature i with i + dims/2 (GPT-NeoX; all safetensors).
    Halves,
    /// Features 2i and 2i + 1 (the rows of a GGUF file of the llama architecture are in this
    /// order).
    Neighbours,
}

/// How frequencies are changed for a longer context.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RopeScaling {
    None,
    Linear {
        factor: f64,
    },
    Llama3 {
        factor: f64,
        low: f64,
        high: f64,
        original_len: f64,
    },
    Yarn {
        factor: f64,
        fast: f64,
        slow: f64,
        original_len: f64,
    },
    /// A divisor for each pair.
    PerPair(Vec<f32>),
}

/// The position embedding of a layer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RopeConfig {
    pub(crate) base: f64,
    /// How many features of a head turn; the rest stay.
    pub(crate) dims: usize,
    pub(crate) pairs: RopePairs,
    pub(crate) scaling: RopeScaling,
    /// The factor of turned queries and keys.
    pub(crate) magnitude: f64,
}

impl RopeConfig {
    /// A position embedding without scaling.
    pub(crate) fn new(base: f64, dims: usize, pairs: RopePairs) -> Self {
        Self {
            base,
            dims,
            pairs,
            scaling: RopeScaling::None,
            magnitude: 1.0,
        }
    }

    /// What the settings say. `default_base` holds where they name none.
    pub(crate) fn from_settings(
        settings: &Settings<'_>,
        pairs: RopePairs,
        default_base: f64,
    ) -> Result<Self> {
        let head_dim = super::config::head_dim(settings)?;
        let dims = settings
            .find_count("rope.dimension_count")?
            .unwrap_or(head_dim);
        let base = settings
            .find_number("rope.freq_base")?
            .unwrap_or(default_base);
        if base.is_nan() || base <= 0.0 {
            return Err(Error::Model(format!("the rope base is {base}")));
        }
        let mut rope = Self::new(base, dims, pairs);
        rope.read_scaling(settings)?;
        Ok(rope)
    }

    fn read_scaling(&mut self, settings: &Settings<'_>) -> Result<()> {
        match settings.find_text("rope.scaling.type")?.unwrap_or("none") {
            "none" | "default" => {}
            "linear" => {
                let factor = positive(settings, "rope.scaling.factor", None)?;
                self.scaling = RopeScaling::Linear { factor };
            }
            "llama3" => {
                self.scaling = RopeScaling::Llama3 {
                    factor: positive(settings, "rope.scaling.factor", None)?,
                    low: positive(settings, "rope.scaling.low_freq_factor", Some(1.0))?,
                    high: positive(settings, "rope.scaling.high_freq_factor", Some(4.0))?,
                    original_len: positive(settings, ORIGINAL_LEN, Some(8192.0))?,
                };
            }
            "yarn" => self.read_yarn(settings)?,
            "longrope" | "su" => self.read_longrope(settings)?,
            other => {
                return Err(Error::Model(format!(
                    "unknown rope scaling {other:?}; known: none, linear, llama3, yarn, longrope"
                )));
            }
        }
        Ok(())
    }

    fn read_yarn(&mut self, settings: &Settings<'_>) -> Result<()> {
        let factor = positive(settings, "rope.scaling.factor", None)?;
        let context_len = settings.find_number("context_length")?;
        self.scaling = RopeScaling::Yarn {
            factor,
            fast: positive(settings, "rope.scaling.yarn_beta_fast", Some(32.0))?,
            slow: positive(settings, "rope.scaling.yarn_beta_slow", Some(1.0))?,
            original_len: positive(settings, ORIGINAL_LEN, context_len)?,
        };
        let grown = if factor > 1.0 {
            0.1 * factor.ln() + 1.0
        } else {
            1.0
        };
        // GGUF's factor multiplies the grown magnitude, config.json's replaces it.
        self.magnitude = match settings.find_number("rope.scaling.attn_factor")? {
            Some(given) if settings.is_json() => given,
            Some(given) => given * grown,
            None => grown,
        };
        Ok(())
    }

    fn read_longrope(&mut self, settings: &Settings<'_>) -> Result<()> {
        let original_len = positive(settings, ORIGINAL_LEN, None)?;
        let context_len = settings
            .find_number("context_length")?
            .unwrap_or(original_len);
        let growth = context_len / original_len;
        let name = if growth > 1.0 {
            "long_factor"
        } else {
            "short_factor"
        };
        // In a GGUF file the factors are a tensor, which the weights bring.
        if let Some(factors) = settings.find_numbers(&format!("rope.scaling.{name}"))? {
            self.set_factors(factors)?;
        }
        let grown = (1.0 + growth.max(1.0).ln() / original_len.ln()).sqrt();
        self.magnitude = positive(settings, "rope.scaling.attn_factor", Some(grown))?;
        Ok(())
    }

    /// Takes a divisor for each pair.
    pub(crate) fn set_factors(&mut self, factors: Vec<f32>) -> Result<()> {
        if factors.len() != self.dims / 2 || !factors.iter().all(|factor| *factor > 0.0) {
            return Err(Error::Model(format!(
                "{} rope factors for {} pairs; each pair wants one above 0",
                factors.len(),
                self.dims / 2
            )));
        }
        self.scaling = RopeScaling::PerPair(factors);
        Ok(())
    }

    /// The angle of each pair at position 1.
    fn frequencies(&self) -> Vec<f64> {
        let dims = self.dims as f64;
        let tau = std::f64::consts::TAU;
        let plain = |pair: usize| self.base.powf(-2.0 * pair as f64 / dims);
        let scaled = |pair: usize| match &self.scaling {
            RopeScaling::None => plain(pair),
            RopeScaling::Linear { factor } => plain(pair) / factor,
            RopeScaling::PerPair(factors) => plain(pair) / f64::from(factors[pair]),
            RopeScaling::Llama3 {
                factor,
                low,
                high,
                original_len,
            } => {
                let frequency = plain(pair);
                // How many waves fit the original context.
                let waves = original_len * frequency / tau;
                let keep = ((waves - low) / (high - low)).clamp(0.0, 1.0);
                frequency * (keep + (1.0 - keep) / factor)
            }
            RopeScaling::Yarn {
                factor,
                fast,
                slow,
                original_len,
            } => {
                // The pair that turns so many times in the original context.
                let pair_of = |turns: f64| {
                    dims * (original_len / (turns * tau)).ln() / (2.0 * self.base.ln())
                };
                let first = pair_of(*fast).floor().max(0.0);
                let last = pair_of(*slow).ceil().min(dims - 1.0);
                let ramp = (pair as f64 - first) / (last - first).max(0.001);
                let keep = 1.0 - ramp.clamp(0.0, 1.0);
                plain(pair) * (keep + (1.0 - keep) / factor)
            }
        };
        (0..self.dims / 2).map(scaled).collect()
    }
}

/// How many positions the model was trained on before its context was stretched.
const ORIGINAL_LEN: &str = "rope.scaling.original_context_length";

/// A number above 0; one that is missing is an error unless there is a default.
fn positive(settings: &Settings<'_>, name: &str, default: Option<f64>) -> Result<f64> {
    let value = match (settings.find_number(name)?, default) {
        (Some(value), _) | (None, Some(value)) => value,
        (None, None) => settings.number(name)?,
    };
    match value > 0.0 {
        true => Ok(value),
        false => Err(Error::Model(format!(
            "{name} is {value}; it must be above 0"
        ))),
    }
}

/// Positions that a table on a GPU has at least.
const KNOWN_MIN: usize = 2048;

/// Turns queries and keys of one kind of layer.
#[derive(Debug)]
pub(crate) struct Rope {
    frequencies: Vec<f64>,
    pairs: RopePairs,
    dims: usize,
    magnitude: f64,
    device: Device,
    /// The table from position 0 on, on a GPU: as far as it was wanted.
    known: Mutex<Option<RopeTable>>,
}

/// Cosines and sines of the positions at hand, `[len, dims / 2]` each.
#[derive(Clone, Debug)]
pub(crate) struct RopeTable {
    pub(super) cos: Tensor,
    pub(super) sin: Tensor,
}

impl Rope {
    pub(crate) fn new(config: &RopeConfig, device: &Device) -> Self {
        Self {
            frequencies: config.frequencies(),
            pairs: config.pairs,
            dims: config.dims,
            magnitude: config.magnitude,
            device: device.clone(),
            known: Mutex::default(),
        }
    }

    /// Features of a head that turn, and which are pairs.
    pub(super) fn turns(&self) -> (usize, RopePairs) {
        (self.dims, self.pairs)
    }

    /// The table of the positions from `start` on.
    pub(crate) fn table(&self, start: usize, len: usize) -> Result<RopeTable> {
        if self.device.is_cpu() {
            return self.make_table(start, len);
        }
        // A GPU keeps it: on the way there it would cost more than its use.
        let table = self.prefix(start + len)?;
        Ok(RopeTable {
            cos: table.cos.narrow(0, start, len)?,
            sin: table.sin.narrow(0, start, len)?,
        })
    }

    /// A table of at least `len` positions from 0 on; it is made once.
    pub(super) fn prefix(&self, len: usize) -> Result<RopeTable> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = &*known
            && table.cos.dim(0)? >= len
        {
            return Ok(table.clone());
        }
        let table = self.make_table(0, len.next_power_of_two().max(KNOWN_MIN))?;
        *known = Some(table.clone());
        Ok(table)
    }

    fn make_table(&self, start: usize, len: usize) -> Result<RopeTable> {
        let half = self.frequencies.len();
        if self.device.gpu().is_some_and(GpuDevice::runs_nothing) {
            // On paper nobody looks at values.
            let any = || Tensor::from_vec(vec![0f32; len * half], (len, half), &self.device);
            let (cos, sin) = (any()?, any()?);
            return Ok(RopeTable { cos, sin });
        }
        let mut cos = Vec::with_capacity(len * half);
        let mut sin = Vec::with_capacity(len * half);
        for position in start..start + len {
            for frequency in &self.frequencies {
                let (s, c) = (position as f64 * frequency).sin_cos();
                cos.push((c * self.magnitude) as f32);
                sin.push((s * self.magnitude) as f32);
            }
        }
        let device = &self.device;
        Ok(RopeTable {
            cos: Tensor::from_vec(cos, (len, half), device)?,
            sin: Tensor::from_vec(sin, (len, half), device)?,
        })
    }

    /// Turns `[1, heads, len, head_dim]`.
    pub(crate) fn apply(&self, x: &Tensor, table: &RopeTable) -> Result<Tensor> {
        let turn = match self.pairs {
            RopePairs::Halves => ops::rope,
            RopePairs::Neighbours => ops::rope_i,
        };
        let head_dim = x.dims4()?.3;
        if self.dims == head_dim {
            return Ok(turn(x, &table.cos, &table.sin)?);
        }
        let turned = turn(&x.narrow(3, 0, self.dims)?, &table.cos, &table.sin)?;
        let rest = x.narrow(3, self.dims, head_dim - self.dims)?;
        Ok(Tensor::cat(&[&turned, &rest], 3)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequencies(scaling: RopeScaling) -> Vec<f64> {
        let config = RopeConfig {
            scaling,
            ..RopeConfig::new(10_000.0, 8, RopePairs::Halves)
        };
        config.frequencies()
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found / expected - 1.0).abs() < 1e-12,
                "{found} for {expected}"
            );
        }
    }

    #[test]
    fn plain_and_linear_frequencies_are_powers_of_the_base() {
        assert_close(&frequencies(RopeScaling::None), &[1.0, 0.1, 0.01, 0.001]);
        let linear = frequencies(RopeScaling::Linear { factor: 4.0 });
        assert_close(&linear, &[0.25, 0.025, 0.0025, 0.00025]);
        let own = frequencies(RopeScaling::PerPair(vec![1.0, 2.0, 4.0, 8.0]));
        assert_close(&own, &[1.0, 0.05, 0.0025, 0.000125]);
    }

    #[test]
    fn llama3_keeps_short_waves_and_divides_long_ones() {
        // Waves of 6.28, 62.8, 628 and 6283 positions; 256 positions of training, so short is
        // below 64 and long above 256.
        let scaling = RopeScaling::Llama3 {
            factor: 8.0,
            low: 1.0,
            high: 4.0,
            original_len: 256.0,
        };
        let found = frequencies(scaling);
        let waves = 256.0 * 0.1 / std::f64::consts::TAU;
        let keep = ((waves - 1.0) / 3.0).min(1.0);
        let second = 0.1 * (keep + (1.0 - keep) / 8.0);
        assert_close(&found, &[1.0, second, 0.01 / 8.0, 0.001 / 8.0]);
    }

    #[test]
    fn yarn_ramps_between_its_two_speeds() {
        // 32 turns in 4,096 positions: pair 1.31, floor 1; 1 turn: pair 2.81, ceiling 3.
        let scaling = RopeScaling::Yarn {
            factor: 4.0,
            fast: 32.0,
            slow: 1.0,
            original_len: 4096.0,
        };
        let half = 0.01 * (0.5 + 0.5 / 4.0);
        assert_close(&frequencies(scaling), &[1.0, 0.1, half, 0.00025]);
    }

    #[test]
    fn turning_keeps_the_length_and_the_rest_of_a_head() {
        let rope = Rope::new(
            &RopeConfig::new(10_000.0, 4, RopePairs::Halves),
            &Device::Cpu,
        );
        let x = Tensor::new(&[3f32, 1., 4., 2., 9., 9.], &Device::Cpu).unwrap();
        let x = x.reshape((1, 1, 1, 6)).unwrap();
        let turned = rope.apply(&x, &rope.table(1, 1).unwrap()).unwrap();
        let turned = turned.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let (sin, cos) = 1f32.sin_cos();
        assert!((turned[0] - (3.0 * cos - 4.0 * sin)).abs() < 1e-6);
        assert!((turned[2] - (3.0 * sin + 4.0 * cos)).abs() < 1e-6);
        assert_eq!(turned[4..], [9.0, 9.0]);
    }

    #[test]
    fn factors_that_do_not_fit_are_errors() {
        let mut rope = RopeConfig::new(10_000.0, 8, RopePairs::Halves);
        assert!(rope.set_factors(vec![1.0; 3]).is_err());
        assert!(rope.set_factors(vec![0.0; 4]).is_err());
        assert!(rope.set_factors(vec![2.0; 4]).is_ok());
    }
}
