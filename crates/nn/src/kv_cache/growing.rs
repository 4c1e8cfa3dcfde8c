//! Caches that grow.

use super::buffer::Buffer;
use tallow::{Result, Tensor, bail};

/// Slices along a dimension, one append behind the other, in a buffer with room for more. The
/// buffer grows by its first size where an append needs it.
#[derive(Clone, Debug)]
pub struct Cache {
    buffer: Buffer,
    dim: usize,
    current_seq_len: usize,
    grow_by: usize,
    max_seq_len: usize,
}

impl Cache {
    /// A cache along a dimension, with room for `max_seq_len` slices at first.
    pub fn new(dim: usize, max_seq_len: usize) -> Self {
        let buffer = Buffer::default();
        Self {
            buffer,
            dim,
            current_seq_len: 0,
            grow_by: max_seq_len,
            max_seq_len,
        }
    }

    /// The dimension.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of slices.
    pub fn current_seq_len(&self) -> usize {
        self.current_seq_len
    }

    /// The number of slices that there is room for.
    pub fn max_seq_len(&self) -> usize {
        self.max_seq_len
    }

    /// The buffer, room included.
    pub fn all_data(&self) -> &Option<Tensor> {
        self.buffer.data()
    }

    /// The slices, a view of the buffer.
    pub fn current_data(&self) -> Result<Option<Tensor>> {
        let data = self.buffer.data().as_ref();
        data.map(|data| data.narrow(self.dim, 0, self.current_seq_len))
            .transpose()
    }

    /// Forgets all slices.
    pub fn reset(&mut self) {
        self.current_seq_len = 0;
        self.buffer.clear();
    }

    /// Takes more slices. Errors if they differ from those before in shape or dtype.
    pub fn append(&mut self, src: &Tensor) -> Result<()> {
        let added = src.dim(self.dim)?;
        let Some(len) = self.current_seq_len.checked_add(added) else {
            bail!(
                "cache: {added} slices behind {} overflow",
                self.current_seq_len
            );
        };
        let mut room = self.max_seq_len;
        if len > room {
            room = len
                .checked_next_multiple_of(self.grow_by.max(1))
                .unwrap_or(len);
        }
        self.buffer.reserve(src, self.dim, room)?;
        self.buffer.write(src, self.dim, self.current_seq_len)?;
        (self.current_seq_len, self.max_seq_len) = (len, room);
        Ok(())
    }
}

/// A cache of keys and one of values.
///
/// ```
/// use tallow::{Device, Tensor};
/// use tallow_nn::kv_cache::KvCache;
/// let mut cache = KvCache::new(1, 512);
/// let k = Tensor::new(&[[1f32, 2.]], &Device::Cpu)?;
/// cache.append(&k, &k)?;
/// let (keys, _values) = cache.append(&k, &k)?;
/// assert_eq!(keys.to_vec2::<f32>()?, [[1., 2., 1., 2.]]);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KvCache {
    k: Cache,
    v: Cache,
}

impl KvCache {
    /// Caches along a dimension, with room for `max_seq_len` positions at first.
    pub fn new(dim: usize, max_seq_len: usize) -> Self {
        let cache = Cache::new(dim, max_seq_len);
        Self {
            k: cache.clone(),
            v: cache,
        }
    }

    /// The cache of keys.
    pub fn k_cache(&self) -> &Cache {
        &self.k
    }

    /// The cache of values.
    pub fn v_cache(&self) -> &Cache {
        &self.v
    }

    /// The cache of keys.
    pub fn k_cache_mut(&mut self) -> &mut Cache {
        &mut self.k
    }

    /// The cache of values.
    pub fn v_cache_mut(&mut self) -> &mut Cache {
        &mut self.v
    }

    /// All keys.
    pub fn k(&self) -> Result<Option<Tensor>> {
        self.k.current_data()
    }

    /// All values.
    pub fn v(&self) -> Result<Option<Tensor>> {
        self.v.current_data()
    }

    /// Takes more positions, and gives all keys and all values.
    pub fn append(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        self.k.append(k)?;
        self.v.append(v)?;
        match (self.k()?, self.v()?) {
            (Some(k), Some(v)) => Ok((k, v)),
            _ => Ok((k.clone(), v.clone())),
        }
    }

    /// The number of positions.
    pub fn current_seq_len(&self) -> usize {
        self.k.current_seq_len()
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
    use crate::differences::{check_gradients, numbers};
    use tallow::{DType, Device};

    fn row(values: &[f32]) -> Result<Tensor> {
        Tensor::new(values, &Device::Cpu)
    }

    #[test]
    fn it_grows_by_its_first_size() -> Result<()> {
        let mut cache = Cache::new(0, 2);
        assert!(cache.current_data()?.is_none() && cache.all_data().is_none());
        let mut want = Vec::new();
        for (added, room) in [(1usize, 2), (1, 2), (1, 4), (3, 6), (7, 14), (0, 14)] {
            let slices: Vec<f32> = (0..added).map(|at| (want.len() + at) as f32).collect();
            cache.append(&row(&slices)?)?;
            want.extend(slices);
            assert_eq!(cache.current_data()?.unwrap().to_vec1::<f32>()?, want);
            assert_eq!(
                (cache.current_seq_len(), cache.max_seq_len()),
                (want.len(), room)
            );
            assert_eq!(cache.all_data().as_ref().unwrap().dims(), [room]);
        }
        cache.reset();
        assert!(cache.current_seq_len() == 0 && cache.current_data()?.is_none());
        let mut without_room = Cache::new(0, 0);
        without_room.append(&row(&[1., 2.])?)?;
        assert_eq!(
            without_room.current_data()?.unwrap().to_vec1::<f32>()?,
            [1., 2.]
        );
        Ok(())
    }

    #[test]
    fn any_dim_and_any_strides() -> Result<()> {
        let x = numbers(&[2, 3, 6, 4], DType::F32)?;
        let turned = x.transpose(1, 2)?.contiguous()?.transpose(1, 2)?;
        let mut cache = KvCache::new(2, 4);
        for (start, len) in [(0, 1), (1, 4), (5, 1)] {
            let part = turned.narrow(2, start, len)?;
            let (k, v) = cache.append(&part, &part.narrow(3, 0, 2)?)?;
            let so_far = x.narrow(2, 0, start + len)?;
            assert_eq!(k.sub(&so_far)?.abs()?.sum_all()?.to_scalar::<f32>()?, 0.);
            assert_eq!(v.dims(), [2, 3, start + len, 2]);
        }
        assert_eq!(cache.current_seq_len(), 6);
        Ok(())
    }

    #[test]
    fn clones_do_not_see_each_others_appends() -> Result<()> {
        let mut first = Cache::new(0, 4);
        first.append(&row(&[1., 2.])?)?;
        let mut second = first.clone();
        first.append(&row(&[3.])?)?;
        second.append(&row(&[9.])?)?;
        assert_eq!(
            first.current_data()?.unwrap().to_vec1::<f32>()?,
            [1., 2., 3.]
        );
        assert_eq!(
            second.current_data()?.unwrap().to_vec1::<f32>()?,
            [1., 2., 9.]
        );
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_changes_nothing() -> Result<()> {
        let mut cache = Cache::new(1, 4);
        cache.append(&numbers(&[2, 1, 3], DType::F32)?)?;
        assert!(cache.append(&numbers(&[2, 1, 4], DType::F32)?).is_err());
        assert!(cache.append(&numbers(&[2, 9, 4], DType::F32)?).is_err());
        assert!(cache.append(&numbers(&[2, 1, 3], DType::F64)?).is_err());
        assert!(cache.append(&numbers(&[2], DType::F32)?).is_err());
        assert_eq!(cache.current_data()?.unwrap().dims(), [2, 1, 3]);
        Ok(())
    }

    #[test]
    fn gradients_pass_the_cache() -> Result<()> {
        let operands = [numbers(&[2, 2], DType::F64)?, numbers(&[2, 1], DType::F64)?];
        check_gradients(&operands, |x| {
            let mut cache = Cache::new(1, 2);
            cache.append(&x[0])?;
            cache.append(&x[1])?;
            Ok(cache.current_data()?.unwrap())
        })
    }
}
