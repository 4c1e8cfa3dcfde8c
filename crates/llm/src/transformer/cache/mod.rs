//! The keys and values of past positions.
//!
//! ```text
//! CPU   layer ─► page 0: k, v [1, kv_heads, 64, head_dim] f16 │ page 1 │ … │ last, partly filled
//! GPU   layer ─► k, v [1, kv_heads, room, head_dim] f16, grown when it is full
//! ```

mod pages;
mod whole;

use tallow::{DType, Device, Tensor};

use self::pages::LayerPages;
pub(super) use self::whole::Whole;
use super::config::Config;
use super::step::Step;
use crate::error::{Error, Result};

/// Keys and values in pieces, in the order of positions.
type Pages = Vec<(Tensor, Tensor)>;

/// The keys and values of one sequence.
#[derive(Debug)]
pub struct KvCache {
    layers: Vec<Layer>,
    len: usize,
    capacity: usize,
    /// The decode step that is recorded over the layers' tensors, while they stay where they are.
    step: Option<Box<Step>>,
}

#[derive(Debug)]
enum Layer {
    Pages(LayerPages),
    Whole(Whole),
}

/// What a layer keeps of a position, and for how long.
#[derive(Clone, Copy, Debug)]
struct Kind {
    kv_head_count: usize,
    head_dim: usize,
    window: Option<usize>,
}

impl Kind {
    fn shape(self, len: usize) -> (usize, usize, usize, usize) {
        (1, self.kv_head_count, len, self.head_dim)
    }

    /// The first position that a query at `position` sees.
    fn first_seen(self, position: usize) -> usize {
        self.window
            .map_or(0, |window| (position + 1).saturating_sub(window))
    }
}

impl KvCache {
    /// An empty cache for sequences of up to `capacity` positions, on a device.
    pub(crate) fn new(config: &Config, capacity: usize, device: &Device) -> Self {
        let layer = |index| {
            let kind = Kind {
                kv_head_count: config.kv_head_count,
                head_dim: config.head_dim,
                window: config.window_of(index),
            };
            match device.is_cpu() {
                true => Layer::Pages(LayerPages::new(kind)),
                false => Layer::Whole(Whole::new(kind, device)),
            }
        };
        Self {
            layers: (0..config.layer_count).map(layer).collect(),
            len: 0,
            capacity,
            step: None,
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
        let can_truncate = |layer: &Layer| match layer {
            Layer::Pages(pages) => pages.can_truncate(len),
            Layer::Whole(whole) => whole.can_truncate(len),
        };
        let is_whole = len > 0 && self.layers.iter().all(can_truncate);
        self.len = if is_whole { len } else { 0 };
        if let Some(step) = &mut self.step {
            step.forget();
        }
        for layer in &mut self.layers {
            match layer {
                Layer::Pages(pages) => pages.truncate(self.len),
                Layer::Whole(whole) => {
                    if whole.truncate(self.len) {
                        self.step = None;
                    }
                }
            }
        }
        is_whole
    }

    /// Makes room for `count` more positions.
    ///
    /// # Errors
    /// When they do not fit, or there is no memory.
    pub(crate) fn reserve(&mut self, count: usize) -> Result<()> {
        if count > self.capacity - self.len {
            return Err(Error::Model(format!(
                "{count} tokens after {} do not fit a context of {}; shorten the prompt",
                self.len, self.capacity
            )));
        }
        for layer in &mut self.layers {
            if let Layer::Whole(whole) = layer
                && whole.reserve(self.len, self.len + count, self.capacity)?
            {
                self.step = None;
            }
        }
        Ok(())
    }

    /// Adds the keys and values of the positions after [`len`](Self::len) in one layer, both
    /// `[1, kv_heads, count, head_dim]`, for which room was made; gives those that these positions
    /// may see.
    pub(crate) fn append(&mut self, layer: usize, k: &Tensor, v: &Tensor) -> Result<Pages> {
        let (k, v) = (k.to_dtype(DType::F16)?, v.to_dtype(DType::F16)?);
        if let Some(step) = &mut self.step {
            step.forget();
        }
        match &mut self.layers[layer] {
            Layer::Pages(pages) => pages.append(self.len, &k, &v),
            Layer::Whole(whole) => whole.append(self.len, &k, &v),
        }
    }

    /// Counts positions that every layer has.
    pub(crate) fn advance(&mut self, count: usize) {
        self.len += count;
        for layer in &mut self.layers {
            if let Layer::Pages(pages) = layer {
                pages.drop_unseen(self.len);
            }
        }
    }

    /// A layer's tensors, where they are in one piece.
    pub(super) fn whole(&self, layer: usize) -> Option<&Whole> {
        match self.layers.get(layer)? {
            Layer::Pages(_) => None,
            Layer::Whole(whole) => Some(whole),
        }
    }

    /// The first position that some layer has no room for.
    pub(super) fn room_end(&self) -> usize {
        let ends = self.layers.iter().map(|layer| match layer {
            Layer::Pages(_) => self.capacity,
            Layer::Whole(whole) => whole.end(),
        });
        ends.min().unwrap_or(self.capacity)
    }

    /// The decode step over the tensors as they lie, if one is recorded.
    pub(super) fn step(&mut self) -> &mut Option<Box<Step>> {
        &mut self.step
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Activation, Window};
    use super::super::rope::{RopeConfig, RopePairs};
    use super::*;
    use tallow::Device;

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
        assert!(cache.reserve(2).is_ok());
        let error = cache.reserve(3).unwrap_err().to_string();
        assert!(error.contains("context of 10"), "{error}");
    }
}
