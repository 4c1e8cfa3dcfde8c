//! How things are timed: warm-up, samples, their median.

use std::hint::black_box;
use std::time::Instant;

use crate::error::Result;

/// A sample lasts at least this long: short work is repeated within it, so that the clock's own
/// cost and grain vanish.
const SAMPLE_MICROSECONDS_MIN: f64 = 2_000.0;

/// Most repetitions within one sample.
const CALLS_MAX: f64 = 1_000.0;

/// Samples of one measurement, sorted, in microseconds.
#[derive(Debug)]
pub(super) struct Samples(Vec<f64>);

impl Samples {
    /// Sorts what was measured; there is at least one.
    pub(super) fn new(mut samples: Vec<f64>) -> Self {
        assert!(!samples.is_empty(), "samples: none were taken");
        samples.sort_by(f64::total_cmp);
        Self(samples)
    }

    pub(super) fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    pub(super) fn least(&self) -> f64 {
        self.0[0]
    }

    pub(super) fn most(&self) -> f64 {
        self.0[self.0.len() - 1]
    }
}

/// Times short work: two calls as warm-up, then samples of as many calls as fill 2 ms.
pub(super) fn calls<T>(count: usize, mut work: impl FnMut() -> Result<T>) -> Result<Samples> {
    let mut time = |calls: usize| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(work()?);
        }
        Ok(start.elapsed().as_secs_f64() * 1e6)
    };
    let warm_up = time(1)?.min(time(1)?).max(0.001);
    let calls = (SAMPLE_MICROSECONDS_MIN / warm_up).ceil();
    let calls = calls.clamp(1.0, CALLS_MAX) as usize;
    let samples = (0..count.max(1)).map(|_| Ok(time(calls)? / calls as f64));
    Ok(Samples::new(samples.collect::<Result<_>>()?))
}

/// Times long work that gives its own microseconds: one warm-up, then the samples.
pub(super) fn runs(count: usize, mut work: impl FnMut() -> Result<f64>) -> Result<Samples> {
    work()?;
    let samples = (0..count.max(1)).map(|_| work());
    Ok(Samples::new(samples.collect::<Result<_>>()?))
}

/// Values that look random, uniform in [-1, 1): a hash of the index, the same in every program.
pub(super) fn values(count: usize) -> Vec<f32> {
    let value = |index: u32| {
        let mut bits = index.wrapping_mul(0x9e37_79b9);
        bits = (bits ^ (bits >> 16)).wrapping_mul(0x85eb_ca6b);
        bits = (bits ^ (bits >> 13)).wrapping_mul(0xc2b2_ae35);
        bits ^= bits >> 16;
        (bits >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count as u32).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_know_their_middle_and_their_ends() {
        let samples = Samples::new(vec![3.0, 1.0, 2.0]);
        assert_eq!(
            (samples.least(), samples.median(), samples.most()),
            (1.0, 2.0, 3.0)
        );
    }

    #[test]
    fn values_are_spread_over_their_range() {
        let values = values(4096);
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
        let mean = values.iter().sum::<f32>() / 4096.0;
        assert!(mean.abs() < 0.05, "{mean}");
    }
}
