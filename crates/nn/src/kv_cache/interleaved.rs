//! Caches with the key and the value of a head side by side, `[len, kv_heads, 2 · head_dim]`.

use tallow::{Result, Tensor, bail};

/// The cache as a tensor. Keys and values are appended as `[1, kv_heads, len, head_dim]`.
///
/// ```
/// use tallow::{Device, Tensor};
/// use tallow_nn::kv_cache::InterleavedKvCache;
/// let mut cache = InterleavedKvCache::new(2);
/// let k = Tensor::new(&[[[[1f32, 2.]]]], &Device::Cpu)?;
/// let all = cache.append(&k, &k.affine(10.0, 0.0)?)?;
/// assert_eq!(all.to_vec3::<f32>()?, [[[1., 2., 10., 20.]]]);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct InterleavedKvCache {
    kv: Option<Tensor>,
    head_dim: usize,
}

impl InterleavedKvCache {
    /// A cache of heads of this size.
    pub fn new(head_dim: usize) -> Self {
        Self { kv: None, head_dim }
    }

    /// The number of positions.
    pub fn current_seq_len(&self) -> usize {
        self.kv.as_ref().map_or(0, |kv| kv.dims()[0])
    }

    /// True if there are no positions.
    pub fn is_empty(&self) -> bool {
        self.current_seq_len() == 0
    }

    /// Takes more positions, and gives all. Errors unless keys and values are
    /// `[1, kv_heads, len, head_dim]`.
    pub fn append(&mut self, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let fits = matches!(*k.dims(), [1, _, _, head_dim] if head_dim == self.head_dim);
        if !fits || k.shape() != v.shape() {
            let (k, v) = (k.shape(), v.shape());
            let head_dim = self.head_dim;
            bail!("interleaved cache: k {k:?}, v {v:?}; want [1, heads, len, {head_dim}] both");
        }
        let joined = Tensor::cat(&[k, v], 3)?.squeeze(0)?.transpose(0, 1)?;
        let all = match &self.kv {
            Some(kv) => Tensor::cat(&[kv, &joined], 0)?,
            None => joined.contiguous()?,
        };
        Ok(self.kv.insert(all).clone())
    }

    /// All positions, `[len, kv_heads, 2 · head_dim]`.
    pub fn kv(&self) -> Option<&Tensor> {
        self.kv.as_ref()
    }

    /// The size of a head.
    pub fn head_dim(&self) -> usize {
        self.head_dim
    }

    /// Forgets all positions.
    pub fn reset(&mut self) {
        self.kv = None;
    }
}

/// The cache as f32 values in main memory. What is written has as many values as the heads take: a
/// slice that is too short counts as if zeros followed, and what it has beyond is left out.
///
/// ```
/// use tallow_nn::kv_cache::RawInterleavedKvCache;
/// let mut cache = RawInterleavedKvCache::new(1, 2, 512);
/// cache.write_kv(&[1., 2.], &[3., 4.]);
/// assert_eq!((cache.len(), cache.data()), (1, &[1., 2., 3., 4.][..]));
/// ```
#[derive(Clone, Debug)]
pub struct RawInterleavedKvCache {
    data: Vec<f32>,
    len: usize,
    h_kv: usize,
    d: usize,
}

impl RawInterleavedKvCache {
    /// A cache of `h_kv` heads of `d` values, with room for `max_seq` positions at first. Sizes
    /// that no memory holds give a cache without heads.
    pub fn new(h_kv: usize, d: usize, max_seq: usize) -> Self {
        let mut data = Vec::new();
        let position = h_kv.checked_mul(d).and_then(|size| size.checked_mul(2));
        if let Some(room) = position.and_then(|size| size.checked_mul(max_seq)) {
            // Room is for speed only: without it the cache grows as it is written.
            let _ = data.try_reserve_exact(room);
        }
        let h_kv = if position.is_some() { h_kv } else { 0 };
        Self {
            data,
            len: 0,
            h_kv,
            d,
        }
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes one position: keys and values of all heads, `h_kv · d` each.
    pub fn write_kv(&mut self, k_flat: &[f32], v_flat: &[f32]) {
        for head in 0..self.h_kv {
            for flat in [k_flat, v_flat] {
                let (start, end) = (head * self.d, (head + 1) * self.d);
                let present = flat.get(start.min(flat.len())..end.min(flat.len()));
                let filled = self.data.len() + self.d;
                self.data.extend_from_slice(present.unwrap_or_default());
                self.data.resize(filled, 0.0);
            }
        }
        self.len += 1;
    }

    /// Takes several positions, each as [`write_kv`](Self::write_kv) does, one behind the other.
    pub fn write_kv_batch(&mut self, k_flat: &[f32], v_flat: &[f32], seq_len: usize) {
        let size = self.h_kv.saturating_mul(self.d);
        for at in 0..seq_len {
            let start = at.saturating_mul(size);
            let k = k_flat.get(start..).unwrap_or_default();
            self.write_kv(k, v_flat.get(start..).unwrap_or_default());
        }
    }

    /// All positions, `len · h_kv · 2 · d` values.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// Forgets all positions.
    pub fn reset(&mut self) {
        self.data.clear();
        self.len = 0;
    }

    /// The number of heads.
    pub fn h_kv(&self) -> usize {
        self.h_kv
    }

    /// The size of a head.
    pub fn d(&self) -> usize {
        self.d
    }
}

/// Turns pairs of neighbours, 2i and 2i + 1, of each of `num_heads` heads of `d` values, in place;
/// cos and sin are those of one position, `d / 2` each. Pairs without both are left alone.
///
/// ```
/// let mut head = [1f32, 2., 3., 4.];
/// tallow_nn::kv_cache::rope_i_inplace(&mut head, &[0., 1.], &[1., 0.], 1, 4);
/// assert_eq!(head, [-2., 1., 3., 4.]);
/// ```
pub fn rope_i_inplace(data: &mut [f32], cos: &[f32], sin: &[f32], num_heads: usize, d: usize) {
    for head in data.chunks_mut(d.max(1)).take(num_heads) {
        for (pair, (cos, sin)) in head.chunks_exact_mut(2).zip(cos.iter().zip(sin)) {
            let (a, b) = (pair[0], pair[1]);
            pair[0] = a * cos - b * sin;
            pair[1] = a * sin + b * cos;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::numbers;
    use tallow::DType;

    #[test]
    fn both_hold_the_same() -> Result<()> {
        let (k, v) = (
            numbers(&[1, 2, 3, 4], DType::F32)?,
            numbers(&[1, 2, 3, 4], DType::F32)?.neg()?,
        );
        let mut cache = InterleavedKvCache::new(4);
        let mut raw = RawInterleavedKvCache::new(2, 4, 2);
        let flat = |x: &Tensor| x.transpose(1, 2)?.flatten_all()?.to_vec1::<f32>();
        let part = |x: &Tensor, start, len| x.narrow(2, start, len);
        cache.append(&part(&k, 0, 1)?, &part(&v, 0, 1)?)?;
        let all = cache.append(&part(&k, 1, 2)?, &part(&v, 1, 2)?)?;
        raw.write_kv(&flat(&part(&k, 0, 1)?)?, &flat(&part(&v, 0, 1)?)?);
        raw.write_kv_batch(&flat(&part(&k, 1, 2)?)?, &flat(&part(&v, 1, 2)?)?, 2);
        assert_eq!(all.dims(), [3, 2, 8]);
        assert_eq!(all.flatten_all()?.to_vec1::<f32>()?, raw.data());
        assert_eq!(
            all.narrow(2, 0, 4)?.to_vec3::<f32>()?,
            k.squeeze(0)?.transpose(0, 1)?.to_vec3::<f32>()?
        );
        assert_eq!(
            (cache.current_seq_len(), raw.len(), raw.h_kv(), raw.d()),
            (3, 3, 2, 4)
        );
        cache.reset();
        raw.reset();
        assert!(
            cache.is_empty() && cache.kv().is_none() && raw.is_empty() && raw.data().is_empty()
        );
        Ok(())
    }

    #[test]
    fn what_does_not_fit() -> Result<()> {
        let mut cache = InterleavedKvCache::new(4);
        for dims in [vec![2, 2, 3, 4], vec![1, 2, 3, 5], vec![2, 3, 4]] {
            let x = numbers(&dims, DType::F32)?;
            assert!(cache.append(&x, &x).is_err());
        }
        let k = numbers(&[1, 2, 3, 4], DType::F32)?;
        assert!(cache.append(&k, &k.narrow(2, 0, 1)?).is_err());
        let mut raw = RawInterleavedKvCache::new(2, 2, usize::MAX);
        raw.write_kv(&[1.], &[1., 2., 3., 4., 5.]);
        assert_eq!(raw.data(), [1., 0., 1., 2., 0., 0., 3., 4.]);
        raw.write_kv_batch(&[], &[], 1);
        assert_eq!((raw.len(), raw.data().len()), (2, 16));
        Ok(())
    }

    #[test]
    fn turning_in_place() {
        let mut data = [1f32, 2., 3., 4., 5., 6., 7., 8.];
        rope_i_inplace(&mut data, &[0., 0.5], &[1., 0.25], 2, 4);
        assert_eq!(data, [-2., 1., 0.5, 2.75, -6., 5., 1.5, 5.75]);
        rope_i_inplace(&mut data, &[], &[], 9, 0);
        assert_eq!(data[0], -2.);
    }
}
