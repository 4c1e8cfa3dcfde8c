//! Temperature: logits divided by it. Below 1 the likely become likelier, above 1 all grow alike.

use std::collections::VecDeque;

use super::candidates::Candidates;
use super::{Filter, SamplingOptions, out_of_range};
use crate::error::Result;

#[derive(Debug)]
struct Temperature(f32);

pub(super) fn make(options: &SamplingOptions) -> Result<Option<Box<dyn Filter>>> {
    let temperature = options.temperature;
    if !(temperature >= 0.0 && temperature.is_finite()) {
        return Err(out_of_range("temperature", temperature, "0 or more"));
    }
    if temperature == 0.0 || temperature == 1.0 {
        return Ok(None);
    }
    Ok(Some(Box::new(Temperature(temperature))))
}

impl Filter for Temperature {
    fn apply(&self, candidates: &mut Candidates, _recent: &VecDeque<u32>) {
        // From the largest, so that a tiny temperature does not overflow to ∞ − ∞.
        let largest = candidates.largest_logit();
        candidates.update(|candidate| candidate.logit = (candidate.logit - largest) / self.0);
    }
}
