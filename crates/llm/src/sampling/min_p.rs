//! Min-p: what is at least a share p as likely as the likeliest stays (Nguyen et al., 2024).

use std::collections::VecDeque;

use super::candidates::Candidates;
use super::{Filter, SamplingOptions, out_of_range};
use crate::error::Result;

#[derive(Debug)]
struct MinP(f32);

pub(super) fn make(options: &SamplingOptions) -> Result<Option<Box<dyn Filter>>> {
    let share = options.min_p;
    if !(0.0..=1.0).contains(&share) {
        return Err(out_of_range("min_p", share, "from 0 to 1"));
    }
    if share == 0.0 {
        return Ok(None);
    }
    Ok(Some(Box::new(MinP(share))))
}

impl Filter for MinP {
    fn apply(&self, candidates: &mut Candidates, _recent: &VecDeque<u32>) {
        let least = candidates.largest_logit() + self.0.ln();
        candidates.retain(|candidate| candidate.logit >= least);
    }
}
