//! Top-p (nucleus): the fewest largest whose probabilities sum to p (Holtzman et al., 2019).

use std::collections::VecDeque;

use super::candidates::Candidates;
use super::{Filter, SamplingOptions, out_of_range};
use crate::error::Result;

#[derive(Debug)]
struct TopP(f32);

pub(super) fn make(options: &SamplingOptions) -> Result<Option<Box<dyn Filter>>> {
    let share = options.top_p;
    if !(share > 0.0 && share <= 1.0) {
        return Err(out_of_range("top_p", share, "above 0 and at most 1"));
    }
    if share == 1.0 {
        return Ok(None);
    }
    Ok(Some(Box::new(TopP(share))))
}

impl Filter for TopP {
    fn apply(&self, candidates: &mut Candidates, _recent: &VecDeque<u32>) {
        let sorted = candidates.sort();
        let largest = sorted[0].logit;
        let weights: Vec<f64> = sorted
            .iter()
            .map(|candidate| f64::from(candidate.logit - largest).exp())
            .collect();
        let wanted = f64::from(self.0) * weights.iter().sum::<f64>();
        let mut sum = 0.0;
        let count = weights.iter().position(|weight| {
            sum += weight;
            sum >= wanted
        });
        candidates.keep_largest(count.map_or(weights.len(), |last| last + 1));
    }
}
