//! A layer's keys and values in pages, as the CPU's attention reads them.
//!
//! Pages are made when positions reach them, so a short answer in a long context costs what it
//! uses. A layer with a window lets pages go that no later query can see.

use std::collections::VecDeque;

use tallow::{DType, Device, Tensor};

use super::{Kind, Pages};
use crate::error::Result;

/// Positions a page. A head's keys in a page are 8 KB of f16 at 64 features: long enough to be
/// read at full speed, and the unfilled rest of the last page is at most a few MB in all layers.
const PAGE_LEN: usize = 64;

#[derive(Debug)]
pub(super) struct LayerPages {
    pages: VecDeque<(Tensor, Tensor)>,
    /// How many pages before the first of `pages` were let go.
    dropped: usize,
    kind: Kind,
}

impl LayerPages {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            pages: VecDeque::new(),
            dropped: 0,
            kind,
        }
    }

    /// Adds keys and values from position `start` on; gives the pages that they may see.
    pub(super) fn append(&mut self, start: usize, k: &Tensor, v: &Tensor) -> Result<Pages> {
        let count = k.dim(2)?;
        let end = start + count;
        let mut position = start;
        while position < end {
            let page = position / PAGE_LEN - self.dropped;
            if page == self.pages.len() {
                let shape = self.kind.shape(PAGE_LEN);
                let page = || Tensor::zeros(shape, DType::F16, &Device::Cpu);
                self.pages.push_back((page()?, page()?));
            }
            let offset = position % PAGE_LEN;
            let part = (PAGE_LEN - offset).min(end - position);
            let pages = [(&self.pages[page].0, k), (&self.pages[page].1, v)];
            for (page, new) in pages {
                let new = new.narrow(2, position - start, part)?.contiguous()?;
                page.slice_set(&new, 2, offset)?;
            }
            position += part;
        }
        let mut seen = Vec::with_capacity(self.pages.len());
        let mut rest = end - self.dropped * PAGE_LEN;
        for (k, v) in &self.pages {
            let part = rest.min(PAGE_LEN);
            rest -= part;
            seen.push(match part == PAGE_LEN {
                true => (k.clone(), v.clone()),
                false => (k.narrow(2, 0, part)?, v.narrow(2, 0, part)?),
            });
        }
        Ok(seen)
    }

    /// Lets pages go that no query at `len` or later sees.
    pub(super) fn drop_unseen(&mut self, len: usize) {
        let first_page = self.kind.first_seen(len) / PAGE_LEN;
        while self.dropped < first_page && self.pages.pop_front().is_some() {
            self.dropped += 1;
        }
    }

    pub(super) fn can_truncate(&self, len: usize) -> bool {
        self.kind.first_seen(len) >= self.dropped * PAGE_LEN
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if len == 0 {
            self.dropped = 0;
        }
        self.pages
            .truncate((len.div_ceil(PAGE_LEN)).saturating_sub(self.dropped));
    }
}
