//! Caches of the last so many positions.
//!
//! The buffer is a ring: `offset` is the slot that is written next, and once the ring is full it
//! holds the oldest position. The order of the slots is that in which attention is given the keys;
//! [`RotatingCache::positions`] says which position each slot holds, and the mask goes by it.

use super::buffer::Buffer;
use tallow::{Device, Result, Tensor, bail};

/// The last `max_seq_len` slices along a dimension.
#[derive(Clone, Debug)]
pub struct RotatingCache {
    buffer: Buffer,
    dim: usize,
    offset: usize,
    current_seq_len: usize,
    max_seq_len: usize,
}

impl RotatingCache {
    /// A cache along a dimension.
    pub fn new(dim: usize, max_seq_len: usize) -> Self {
        let buffer = Buffer::default();
        Self {
            buffer,
            dim,
            offset: 0,
            current_seq_len: 0,
            max_seq_len,
        }
    }

    /// The slot that is written next.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The dimension.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of slices that it was given, those that it has forgotten included.
    pub fn current_seq_len(&self) -> usize {
        self.current_seq_len
    }

    /// The number of slices that it keeps.
    pub fn max_seq_len(&self) -> usize {
        self.max_seq_len
    }

    /// The buffer, in the order of its slots.
    pub fn all_data(&self) -> &Option<Tensor> {
        self.buffer.data()
    }

    /// The slices that it keeps, in the order of their slots.
    pub fn current_data(&self) -> Result<Option<Tensor>> {
        let len = self.current_seq_len.min(self.max_seq_len);
        let data = self.buffer.data().as_ref();
        data.map(|data| data.narrow(self.dim, 0, len)).transpose()
    }

    /// Forgets all slices.
    pub fn reset(&mut self) {
        *self = Self::new(self.dim, self.max_seq_len);
    }

    /// Takes more slices, and gives those that attention is to see: what it keeps, in the order of
    /// the slots, or the new ones themselves if they are as many as it keeps or more.
    pub fn append(&mut self, src: &Tensor) -> Result<Tensor> {
        let (dim, max) = (self.dim, self.max_seq_len);
        let added = src.dim(dim)?;
        let Some(len) = self.current_seq_len.checked_add(added).filter(|_| max > 0) else {
            bail!(
                "rotating cache: {added} more slices: it keeps {max}, and has seen {}",
                self.current_seq_len
            );
        };
        self.buffer.reserve(src, dim, max)?;
        if added >= max {
            self.buffer
                .write(&src.narrow(dim, added - max, max)?, dim, 0)?;
            (self.offset, self.current_seq_len) = (0, len);
            return Ok(src.clone());
        }
        let until_end = added.min(max - self.offset);
        self.buffer
            .write(&src.narrow(dim, 0, until_end)?, dim, self.offset)?;
        if until_end < added {
            self.buffer
                .write(&src.narrow(dim, until_end, added - until_end)?, dim, 0)?;
        }
        (self.offset, self.current_seq_len) = ((self.offset + added) % max, len);
        match self.current_data()? {
            Some(data) => Ok(data),
            None => Ok(src.clone()),
        }
    }

    /// The position of each slice that [`append`](Self::append) would give for `seq_len` more.
    pub fn positions(&self, seq_len: usize) -> Vec<usize> {
        let (max, start) = (self.max_seq_len, self.current_seq_len);
        let end = start.saturating_add(seq_len);
        if seq_len >= max {
            return (start..end).collect();
        }
        if end <= max {
            return (0..end).collect();
        }
        // The newest is in the slot before the next one, and every slot back is one older.
        let next = (self.offset + seq_len) % max;
        let age = |slot: usize| (next + max - 1 - slot) % max;
        (0..max).map(|slot| end - 1 - age(slot)).collect()
    }

    /// The mask for `seq_len` more slices, `[seq_len, keys]` of u8: 1 where a query does not see a
    /// key, because it comes later or stands more than `max_seq_len` before. None for one slice,
    /// which sees all.
    pub fn attn_mask(&self, seq_len: usize, device: &Device) -> Result<Option<Tensor>> {
        if seq_len == 1 {
            return Ok(None);
        }
        let positions = self.positions(seq_len);
        let mut mask = Vec::with_capacity(positions.len() * seq_len);
        for at in 0..seq_len {
            let query = self.current_seq_len + at;
            let hidden = |&key: &usize| key > query || query - key > self.max_seq_len;
            mask.extend(positions.iter().map(|key| u8::from(hidden(key))));
        }
        Tensor::from_vec(mask, (seq_len, positions.len()), device).map(Some)
    }
}

/// A rotating cache of keys and one of values.
///
/// ```
/// use tallow::{Device, Tensor};
/// use tallow_nn::kv_cache::RotatingKvCache;
/// let mut cache = RotatingKvCache::new(0, 2);
/// for position in 0..3 {
///     let k = Tensor::new(&[position as f32], &Device::Cpu)?;
///     cache.append(&k, &k)?;
/// }
/// assert_eq!(cache.k()?.unwrap().to_vec1::<f32>()?, [2., 1.]);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RotatingKvCache {
    k: RotatingCache,
    v: RotatingCache,
}

impl RotatingKvCache {
    /// Caches along a dimension of the last `max_seq_len` positions.
    pub fn new(dim: usize, max_seq_len: usize) -> Self {
        let cache = RotatingCache::new(dim, max_seq_len);
        Self {
            k: cache.clone(),
            v: cache,
        }
    }

    /// The cache of keys.
    pub fn k_cache(&self) -> &RotatingCache {
        &self.k
    }

    /// The cache of values.
    pub fn v_cache(&self) -> &RotatingCache {
        &self.v
    }

    /// The cache of keys.
    pub fn k_cache_mut(&mut self) -> &mut RotatingCache {
        &mut self.k
    }

    /// The cache of values.
    pub fn v_cache_mut(&mut self) -> &mut RotatingCache {
        &mut self.v
    }

    /// The keys that it keeps.
    pub fn k(&self) -> Result<Option<Tensor>> {
        self.k.current_data()
    }

    /// The values that it keeps.
    pub fn v(&self) -> Result<Option<Tensor>> {
        self.v.current_data()
    }

    /// Takes more positions, and gives the keys and values that attention is to see.
    pub fn append(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok((self.k.append(k)?, self.v.append(v)?))
    }

    /// The slot that is written next.
    pub fn offset(&self) -> usize {
        self.k.offset()
    }

    /// The number of positions that it was given.
    pub fn current_seq_len(&self) -> usize {
        self.k.current_seq_len()
    }

    /// See [`RotatingCache::attn_mask`].
    pub fn attn_mask(&self, seq_len: usize, device: &Device) -> Result<Option<Tensor>> {
        self.k.attn_mask(seq_len, device)
    }

    /// See [`RotatingCache::positions`].
    pub fn positions(&self, seq_len: usize) -> Vec<usize> {
        self.k.positions(seq_len)
    }

    /// Forgets all positions.
    pub fn reset(&mut self) {
        self.k.reset();
        self.v.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::numbers;
    use tallow::DType;

    /// Slices whose values are their positions.
    fn slices(start: usize, len: usize) -> Result<Tensor> {
        Tensor::arange(start as f32, (start + len) as f32, &Device::Cpu)
    }

    #[test]
    fn slots_by_hand() -> Result<()> {
        let mut cache = RotatingCache::new(0, 4);
        let steps: [(usize, &[f32], usize); 6] = [
            (3, &[0., 1., 2.], 3),
            (2, &[4., 1., 2., 3.], 1),
            (3, &[4., 5., 6., 7.], 0),
            (6, &[8., 9., 10., 11., 12., 13.], 0),
            (1, &[14., 11., 12., 13.], 1),
            (4, &[15., 16., 17., 18.], 0),
        ];
        for (len, want, offset) in steps {
            let seen = cache.append(&slices(cache.current_seq_len(), len)?)?;
            assert_eq!(seen.to_vec1::<f32>()?, want);
            assert_eq!(cache.offset(), offset);
        }
        assert_eq!(
            cache.current_data()?.unwrap().to_vec1::<f32>()?,
            [15., 16., 17., 18.]
        );
        cache.reset();
        assert!(cache.current_data()?.is_none() && cache.offset() == 0);
        Ok(())
    }

    #[test]
    fn positions_and_masks_say_what_appends_give() -> Result<()> {
        let orders: [&[usize]; 4] = [
            &[1; 12],
            &[3, 1, 1, 2, 3, 3, 1],
            &[9, 1, 2, 4, 3],
            &[4, 4, 2, 5, 1, 3, 2],
        ];
        for (order, max) in orders
            .into_iter()
            .flat_map(|order| [(order, 4), (order, 5)])
        {
            let mut cache = RotatingCache::new(0, max);
            for &len in order {
                let start = cache.current_seq_len();
                let (positions, mask) = (cache.positions(len), cache.attn_mask(len, &Device::Cpu)?);
                let seen = cache.append(&slices(start, len)?)?.to_vec1::<f32>()?;
                let as_floats: Vec<f32> = positions.iter().map(|&at| at as f32).collect();
                assert_eq!(seen, as_floats, "{order:?} {max}");
                let Some(mask) = mask else {
                    assert!(len == 1 && positions.iter().all(|&at| at <= start));
                    continue;
                };
                for (at, row) in mask.to_vec2::<u8>()?.iter().enumerate() {
                    let query = start + at;
                    let want = positions
                        .iter()
                        .map(|&key| u8::from(key > query || key + max < query));
                    assert_eq!(row, &want.collect::<Vec<_>>());
                }
            }
        }
        Ok(())
    }

    #[test]
    fn inner_dims_clones_and_errors() -> Result<()> {
        let x = numbers(&[2, 3, 5, 2], DType::F32)?;
        let mut cache = RotatingKvCache::new(2, 4);
        cache.append(&x.narrow(2, 0, 3)?, &x.narrow(2, 0, 3)?)?;
        let before = cache.clone();
        let (k, _) = cache.append(&x.narrow(2, 3, 2)?, &x.narrow(2, 3, 2)?)?;
        let order = Tensor::new(&[4u32, 1, 2, 3], &Device::Cpu)?;
        let want = x.index_select(&order, 2)?;
        assert_eq!(k.sub(&want)?.abs()?.sum_all()?.to_scalar::<f32>()?, 0.);
        let kept = before.k()?.unwrap().sub(&x.narrow(2, 0, 3)?)?;
        assert_eq!(kept.abs()?.sum_all()?.to_scalar::<f32>()?, 0.);
        assert!(cache.append(&x.narrow(3, 0, 1)?, &x).is_err());
        assert!(RotatingCache::new(0, 0).append(&x).is_err());
        assert!(RotatingCache::new(4, 2).append(&x).is_err());
        Ok(())
    }
}
