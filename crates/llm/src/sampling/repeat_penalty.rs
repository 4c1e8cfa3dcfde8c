//! Repeat penalty: the logits of recent ids shrink (Keskar et al., 2019): positive ones are
//! divided by the penalty, negative ones multiplied by it.

use std::collections::VecDeque;

use super::candidates::Candidates;
use super::{Filter, SamplingOptions, out_of_range};
use crate::error::Result;

#[derive(Debug)]
struct RepeatPenalty(f32);

pub(super) fn make(options: &SamplingOptions) -> Result<Option<Box<dyn Filter>>> {
    let penalty = options.repeat_penalty;
    if !(penalty > 0.0 && penalty.is_finite()) {
        return Err(out_of_range("repeat_penalty", penalty, "above 0"));
    }
    if penalty == 1.0 || options.repeat_last_n == 0 {
        return Ok(None);
    }
    Ok(Some(Box::new(RepeatPenalty(penalty))))
}

impl Filter for RepeatPenalty {
    fn apply(&self, candidates: &mut Candidates, recent: &VecDeque<u32>) {
        let mut ids: Vec<u32> = recent.iter().copied().collect();
        ids.sort_unstable();
        candidates.update(|candidate| {
            if ids.binary_search(&candidate.id).is_ok() {
                if candidate.logit > 0.0 {
                    candidate.logit /= self.0;
                } else {
                    candidate.logit *= self.0;
                }
            }
        });
        candidates.forget_order();
    }
}
