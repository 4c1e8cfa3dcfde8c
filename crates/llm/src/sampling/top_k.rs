//! Top-k: the k largest logits stay (Fan et al., 2018).

use std::collections::VecDeque;

use super::candidates::Candidates;
use super::{Filter, SamplingOptions};
use crate::error::Result;

#[derive(Debug)]
struct TopK(usize);

pub(super) fn make(options: &SamplingOptions) -> Result<Option<Box<dyn Filter>>> {
    if options.top_k == 0 {
        return Ok(None);
    }
    Ok(Some(Box::new(TopK(options.top_k))))
}

impl Filter for TopK {
    fn apply(&self, candidates: &mut Candidates, _recent: &VecDeque<u32>) {
        if self.0 < candidates.len() {
            candidates.keep_largest(self.0);
        }
    }
}
