//! The ids that may come next, with their logits.

use crate::error::{Error, Result};

/// An id that may come next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) id: u32,
    pub(super) logit: f32,
}

/// What the filters work on; never empty after [`fill`](Self::fill).
#[derive(Debug, Default)]
pub(super) struct Candidates {
    list: Vec<Candidate>,
    /// How many at the front are the largest, in falling order.
    sorted: usize,
}

impl Candidates {
    /// Starts from the logits of the whole vocabulary.
    pub(super) fn fill(&mut self, logits: &[f32]) -> Result<()> {
        check(logits)?;
        self.list.clear();
        let ids = 0..logits.len() as u32;
        self.list
            .extend(ids.zip(logits).map(|(id, &logit)| Candidate { id, logit }));
        self.sorted = 0;
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Changes logits one by one.
    pub(super) fn update(&mut self, mut change: impl FnMut(&mut Candidate)) {
        self.list.iter_mut().for_each(&mut change);
    }

    /// Gives up the order after a change that does not keep it.
    pub(super) fn forget_order(&mut self) {
        self.sorted = 0;
    }

    /// Keeps the `count` largest, at least one, and puts them in falling order.
    pub(super) fn keep_largest(&mut self, count: usize) {
        let count = count.clamp(1, self.list.len());
        if self.sorted < count {
            if count < self.list.len() {
                self.list.select_nth_unstable_by(count - 1, falling);
            }
            self.list[..count].sort_unstable_by(falling);
            self.sorted = count;
        }
        self.list.truncate(count);
        self.sorted = self.sorted.min(count);
    }

    /// Keeps those for which `keep` holds, or the first that is largest when none would be left.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Candidate) -> bool) {
        let best = self.list.iter().min_by(|a, b| falling(a, b)).copied();
        let is_sorted = self.sorted == self.list.len();
        self.list.retain(|candidate| keep(candidate));
        if self.list.is_empty() {
            self.list.extend(best);
        }
        self.sorted = if is_sorted { self.list.len() } else { 0 };
    }

    /// All in falling order.
    pub(super) fn sort(&mut self) -> &[Candidate] {
        self.keep_largest(self.list.len());
        &self.list
    }

    pub(super) fn largest_logit(&self) -> f32 {
        self.list
            .iter()
            .fold(f32::NEG_INFINITY, |largest, candidate| {
                largest.max(candidate.logit)
            })
    }

    /// The id of the largest logit, the smallest id on a tie.
    pub(super) fn best(&self) -> u32 {
        self.list
            .iter()
            .min_by(|a, b| falling(a, b))
            .map_or(0, |candidate| candidate.id)
    }

    /// The id at a point of [0, 1) of the row of probabilities.
    pub(super) fn draw(&self, point: f64) -> u32 {
        let largest = self.largest_logit();
        let weight = |candidate: &Candidate| f64::from(candidate.logit - largest).exp();
        let total: f64 = self.list.iter().map(weight).sum();
        let mut rest = point * total;
        for candidate in &self.list {
            rest -= weight(candidate);
            if rest < 0.0 {
                return candidate.id;
            }
        }
        // Rounding may leave a little over.
        self.best()
    }
}

/// Larger logits first, then smaller ids.
fn falling(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.logit.total_cmp(&a.logit).then(a.id.cmp(&b.id))
}

/// Refuses logits that have no largest.
pub(super) fn check(logits: &[f32]) -> Result<()> {
    if let Some(id) = logits
        .iter()
        .position(|logit| logit.is_nan() || *logit == f32::INFINITY)
    {
        let value = logits[id];
        return Err(Error::Sampling(format!(
            "the logit of id {id} is {value}; the model's weights or its arithmetic are broken"
        )));
    }
    if logits.iter().all(|&logit| logit == f32::NEG_INFINITY) {
        return Err(Error::Sampling(format!(
            "none of {} logits is finite",
            logits.len()
        )));
    }
    Ok(())
}
