//! A cache that makes a new tensor for each append.

use tallow::{Result, Tensor};

/// Keys and values joined along a dimension. Nothing is written in place, so tensors that were
/// given out stay as they are, and gradients flow through; each append copies all.
///
/// ```
/// use tallow::{Device, Tensor};
/// use tallow_nn::kv_cache::ConcatKvCache;
/// let mut cache = ConcatKvCache::new(0);
/// let k = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
/// cache.append(&k, &k)?;
/// assert_eq!(cache.append(&k, &k)?.0.to_vec1::<f32>()?, [1., 2., 1., 2.]);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConcatKvCache {
    both: Option<(Tensor, Tensor)>,
    dim: usize,
}

impl ConcatKvCache {
    /// A cache along a dimension.
    pub fn new(dim: usize) -> Self {
        Self { both: None, dim }
    }

    /// The number of positions.
    pub fn current_seq_len(&self) -> usize {
        self.k().and_then(|k| k.dim(self.dim).ok()).unwrap_or(0)
    }

    /// True if nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.both.is_none()
    }

    /// The dimension.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Takes more positions, and gives all keys and all values.
    pub fn append(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        k.dim(self.dim)?;
        v.dim(self.dim)?;
        let both = match &self.both {
            Some((keys, values)) => (
                Tensor::cat(&[keys, k], self.dim)?,
                Tensor::cat(&[values, v], self.dim)?,
            ),
            None => (k.contiguous()?, v.contiguous()?),
        };
        Ok(self.both.insert(both).clone())
    }

    /// Forgets all positions.
    pub fn reset(&mut self) {
        self.both = None;
    }

    /// All keys.
    pub fn k(&self) -> Option<&Tensor> {
        self.both.as_ref().map(|(k, _)| k)
    }

    /// All values.
    pub fn v(&self) -> Option<&Tensor> {
        self.both.as_ref().map(|(_, v)| v)
    }

    /// All keys.
    pub fn k_mut(&mut self) -> Option<&mut Tensor> {
        self.both.as_mut().map(|(k, _)| k)
    }

    /// All values.
    pub fn v_mut(&mut self) -> Option<&mut Tensor> {
        self.both.as_mut().map(|(_, v)| v)
    }

    /// All keys and all values.
    pub fn into_inner(self) -> Option<(Tensor, Tensor)> {
        self.both
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{check_gradients, numbers};
    use tallow::DType;

    #[test]
    fn appends_are_joined() -> Result<()> {
        let x = numbers(&[1, 2, 5, 3], DType::F32)?;
        let mut cache = ConcatKvCache::new(2);
        assert!(cache.is_empty() && cache.k().is_none() && cache.current_seq_len() == 0);
        let (first, _) = cache.append(&x.narrow(2, 0, 3)?, &x.narrow(2, 0, 3)?)?;
        let (k, v) = cache.append(&x.narrow(2, 3, 2)?, &x.narrow(2, 3, 2)?)?;
        assert_eq!(first.dims(), [1, 2, 3, 3]);
        for all in [k, v] {
            assert_eq!(all.sub(&x)?.abs()?.sum_all()?.to_scalar::<f32>()?, 0.);
        }
        assert_eq!((cache.current_seq_len(), cache.dim()), (5, 2));
        assert!(cache.append(&x.narrow(3, 0, 1)?, &x).is_err());
        assert!(ConcatKvCache::new(4).append(&x, &x).is_err());
        assert_eq!(cache.v().unwrap().dims(), [1, 2, 5, 3]);
        *cache.k_mut().unwrap() = x.narrow(2, 0, 1)?;
        assert!(cache.v_mut().is_some() && cache.current_seq_len() == 1);
        assert_eq!(cache.clone().into_inner().unwrap().0.dims(), [1, 2, 1, 3]);
        cache.reset();
        assert!(cache.is_empty());
        Ok(())
    }

    #[test]
    fn gradients_pass_the_cache() -> Result<()> {
        let operands = [numbers(&[2, 2], DType::F64)?, numbers(&[2, 1], DType::F64)?];
        check_gradients(&operands, |x| {
            let mut cache = ConcatKvCache::new(1);
            cache.append(&x[0], &x[0])?;
            let (k, v) = cache.append(&x[1], &x[1])?;
            k.mul(&v)
        })
    }
}
