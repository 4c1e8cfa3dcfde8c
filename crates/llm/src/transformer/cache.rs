//! The keys and values of past positions, in pages.
//!
//! ```text
//! layer ─► page 0: k, v [1, kv_heads, 64, head_dim] f16 │ page 1 │ … │ last page, partly filled
//! ```
//! Pages are made when positions reach them, so a short answer in a long context costs what it
//! uses. Attention reads the pages where they lie. A layer with a window lets pages go that no
//! later query can see.

use std::collections::VecDeque;

use tallow::{DType, Device, Tensor};

use super::config::Config;
use crate::error::{Error, Result};

/// Positions a page. A head's keys in a page are 8 KB of f16 at 64 features: long enough to be
/// read at full speed, and the unfilled rest of the last page is at most a few MB in all layers.
pub const PAGE_LEN: usize = 64;

/// Positions a page on a GPU: several pages are joined before they are read, and with this many a
/// context of most models is one.
const GPU_PAGE_LEN: usize = 8192;

/// The keys and values of one sequence.
#[derive(Debug)]
pub struct KvCache {
    layers: Vec<LayerPages>,
    len: usize,
    capacity: usize,
}

#[derive(Debug)]
struct LayerPages {
    pages: VecDeque<(Tensor, Tensor)>,
    /// How many pages before the first of `pages` were let go.
    dropped: usize,
    window: Option<usize>,
    shape: (usize, usize, usize, usize),
    device: Device,
}

impl KvCache {
    /// An empty cache for sequences of up to `capacity` positions, on a device.
    pub(crate) fn new(config: &Config, capacity: usize, device: &Device) -> Self {
        // A GPU's kernels want keys and values in one piece.
        let page_len = match device.is_cpu() {
            true => PAGE_LEN,
            false => capacity.clamp(1, GPU_PAGE_LEN),
        };
        let layer = |index| LayerPages {
            pages: VecDeque::new(),
            dropped: 0,
            window: config
                .window
                .as_ref()
                .map(|w| w.len)
                .filter(|_| !config.is_global(index)),
            shape: (1, config.kv_head_count, page_len, config.head_dim),
            device: device.clone(),
        };
        Self {
            layers: (0..config.layer_count).map(layer).collect(),
            len: 0,
            capacity,
        }
    }

    /// How many positions are in it.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no position is in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many positions it can take.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Forgets all positions from `len` on. `false`, with everything forgotten, if a layer has let
    /// go of positions that those before `len` need.
    pub fn truncate(&mut self, len: usize) -> bool {
        if len >= self.len {
            return true;
        }
        let is_whole = len > 0 && self.layers.iter().all(|layer| layer.can_truncate(len));
        self.len = if is_whole { len } else { 0 };
        for layer in &mut self.layers {
            layer.truncate(self.len);
        }
        is_whole
    }

    /// Refuses `count` more positions when there is no room for them.
    pub(crate) fn check_room(&self, count: usize) -> Result<()> {
        if count > self.capacity - self.len {
            return Err(Error::Model(format!(
                "{count} tokens after {} do not fit a context of {}; shorten the prompt",
                self.len, self.capacity
            )));
        }
        Ok(())
    }

    /// Adds the keys and values of the positions after [`len`](Self::len) in one layer, both
    /// `[1, kv_heads, count, head_dim]`; gives the pages that these positions may see.
    pub(crate) fn append(
        &mut self,
        layer: usize,
        k: &Tensor,
        v: &Tensor,
    ) -> Result<Vec<(Tensor, Tensor)>> {
        let start = self.len;
        self.layers[layer].append(start, k, v)
    }

    /// Counts positions that every layer has.
    pub(crate) fn advance(&mut self, count: usize) {
        self.len += count;
        for layer in &mut self.layers {
            layer.drop_unseen(self.len);
        }
    }
}

impl LayerPages {
    fn page_len(&self) -> usize {
        self.shape.2
    }

    fn append(&mut self, start: usize, k: &Tensor, v: &Tensor) -> Result<Vec<(Tensor, Tensor)>> {
        let (k, v) = (k.to_dtype(DType::F16)?, v.to_dtype(DType::F16)?);
        let count = k.dim(2)?;
        let end = start + count;
        let (mut position, page_len) = (start, self.page_len());
        while position < end {
            let page = position / self.page_len() - self.dropped;
            if page == self.pages.len() {
                let page = || Tensor::zeros(self.shape, DType::F16, &self.device);
                self.pages.push_back((page()?, page()?));
            }
            let offset = position % self.page_len();
            let part = (self.page_len() - offset).min(end - position);
            let (k_page, v_page) = &self.pages[page];
            k_page.slice_set(
                &k.narrow(2, position - start, part)?.contiguous()?,
                2,
                offset,
            )?;
            v_page.slice_set(
                &v.narrow(2, position - start, part)?.contiguous()?,
                2,
                offset,
            )?;
            position += part;
        }
        let mut seen = Vec::with_capacity(self.pages.len());
        let mut rest = end - self.dropped * self.page_len();
        for (k, v) in &self.pages {
            let part = rest.min(self.page_len());
            rest -= part;
            seen.push(match part == page_len {
                true => (k.clone(), v.clone()),
                false => (k.narrow(2, 0, part)?, v.narrow(2, 0, part)?),
            });
        }
        Ok(seen)
    }

    /// The first position that a query at `position` sees.
    fn first_seen(&self, position: usize) -> usize {
        self.window
            .map_or(0, |window| (position + 1).saturating_sub(window))
    }

    /// Lets pages go that no query at `len` or later sees.
    fn drop_unseen(&mut self, len: usize) {
        let first_page = self.first_seen(len) / self.page_len();
        while self.dropped < first_page && self.pages.pop_front().is_some() {
            self.dropped += 1;
        }
    }

    fn can_truncate(&self, len: usize) -> bool {
        self.first_seen(len) >= self.dropped * self.page_len()
    }

    fn truncate(&mut self, len: usize) {
        if len == 0 {
            self.dropped = 0;
        }
        self.pages
            .truncate((len.div_ceil(self.page_len())).saturating_sub(self.dropped));
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Activation, Window};
    use super::super::rope::{RopeConfig, RopePairs};
    use super::*;

    fn config(window: Option<usize>) -> Config {
        let rope = RopeConfig::new(1e4, 2, RopePairs::Halves);
        Config {
            context_len: 1000,
            hidden_len: 2,
            layer_count: 2,
            head_count: 1,
            kv_head_count: 1,
            head_dim: 2,
            mlp_len: 2,
            norm_eps: 1e-5,
            norm_shift: 0.0,
            activation: Activation::Silu,
            embedding_scale: 1.0,
            attention_scale: 1.0,
            window: window.map(|len| Window {
                len,
                global_every: 2,
                rope: rope.clone(),
            }),
            rope,
        }
    }

    /// Adds positions whose keys are their own numbers; gives what each layer sees.
    fn add(cache: &mut KvCache, count: usize) -> Vec<Vec<f32>> {
        let start = cache.len();
        let numbers: Vec<f32> = (start..start + count)
            .flat_map(|position| [position as f32; 2])
            .collect();
        let k = Tensor::from_vec(numbers, (1, 1, count, 2), &Device::Cpu).unwrap();
        let mut seen = Vec::new();
        for layer in 0..2 {
            let pages = cache.append(layer, &k, &k).unwrap();
            let mut keys = Vec::new();
            for (page, _) in pages {
                let page = page.narrow(3, 0, 1).unwrap().to_dtype(DType::F32).unwrap();
                keys.extend(page.flatten_all().unwrap().to_vec1::<f32>().unwrap());
            }
            seen.push(keys);
        }
        cache.advance(count);
        seen
    }

    fn numbers(from: usize, to: usize) -> Vec<f32> {
        (from..to).map(|position| position as f32).collect()
    }

    #[test]
    fn pages_hold_every_position_in_order() {
        let mut cache = KvCache::new(&config(None), 1000, &Device::Cpu);
        let mut end = 0;
        for count in [1, 62, 1, 1, 128, 63, 1, 200] {
            end += count;
            let seen = add(&mut cache, count);
            assert_eq!(seen, [numbers(0, end), numbers(0, end)]);
            assert_eq!(cache.len(), end);
        }
        assert!(cache.truncate(100));
        assert_eq!(add(&mut cache, 2)[0], numbers(0, 102));
    }

    #[test]
    fn a_window_lets_pages_go_that_nobody_sees() {
        let mut cache = KvCache::new(&config(Some(70)), 1000, &Device::Cpu);
        add(&mut cache, 300);
        // The next query, at 300, sees 231 on: pages before 192 are gone in the first layer.
        let seen = add(&mut cache, 1);
        assert_eq!(seen, [numbers(192, 301), numbers(0, 301)]);
        assert!(cache.truncate(300));
        assert_eq!(add(&mut cache, 1)[0], numbers(192, 301));
        // At 200, 131 and later are wanted.
        assert!(!cache.truncate(200));
        assert!(cache.is_empty());
        assert_eq!(add(&mut cache, 3), [numbers(0, 3), numbers(0, 3)]);
    }

    #[test]
    fn a_full_cache_refuses_more() {
        let mut cache = KvCache::new(&config(None), 10, &Device::Cpu);
        add(&mut cache, 8);
        assert!(cache.check_room(2).is_ok());
        let error = cache.check_room(3).unwrap_err().to_string();
        assert!(error.contains("context of 10"), "{error}");
    }
}
