//! Indexing: `x.i(1)`, `x.i(2..)`, `x.i((.., 0, 1..=3))`, `x.i(&ids)`.
//!
//! Each index takes the next dimension: a number picks one slice and drops the dimension, a range
//! narrows it, a tensor of ids (or `&[u32]`) picks by [`index_select`](Tensor::index_select).

use crate::{Device, Error, Result, Tensor, bail};
use std::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};

/// One index.
#[derive(Debug)]
pub enum TensorIndexer {
    /// One slice, without the dimension.
    Select(usize),
    /// A range.
    Narrow(Bound<usize>, Bound<usize>),
    /// The slices that a tensor of rank 1 names.
    IndexSelect(Tensor),
    /// An index that could not be made.
    Err(Error),
}

impl From<usize> for TensorIndexer {
    fn from(index: usize) -> Self {
        Self::Select(index)
    }
}
impl From<&[u32]> for TensorIndexer {
    fn from(ids: &[u32]) -> Self {
        Tensor::new(ids, &Device::Cpu).map_or_else(Self::Err, Self::IndexSelect)
    }
}
impl From<Vec<u32>> for TensorIndexer {
    fn from(ids: Vec<u32>) -> Self {
        Self::from(ids.as_slice())
    }
}
impl From<&Tensor> for TensorIndexer {
    fn from(ids: &Tensor) -> Self {
        Self::IndexSelect(ids.clone())
    }
}

macro_rules! from_range {
    ($($range:ty),+) => {
        $(impl From<$range> for TensorIndexer {
            fn from(range: $range) -> Self {
                Self::Narrow(range.start_bound().cloned(), range.end_bound().cloned())
            }
        })+
    };
}
from_range!(
    Range<usize>,
    RangeFrom<usize>,
    RangeFull,
    RangeInclusive<usize>,
    RangeTo<usize>,
    RangeToInclusive<usize>
);

impl TensorIndexer {
    /// Indexes one dimension; gives the tensor and the dimension that the next index takes.
    fn apply(self, tensor: &Tensor, dim: usize) -> Result<(Tensor, usize)> {
        let Some(&size) = tensor.dims().get(dim) else {
            bail!("i: more indexes than dims: shape {:?}", tensor.shape());
        };
        match self {
            Self::Select(index) if index >= size => Err(Error::InvalidIndex {
                op: "i",
                index,
                size,
            }),
            Self::Select(index) => Ok((tensor.narrow(dim, index, 1)?.squeeze(dim)?, dim)),
            Self::Narrow(start, end) => {
                let (start, len) = range_within(start, end, size)?;
                Ok((tensor.narrow(dim, start, len)?, dim + 1))
            }
            Self::IndexSelect(ids) => Ok((tensor.index_select(&ids, dim)?, dim + 1)),
            Self::Err(error) => Err(error),
        }
    }
}

/// Start and length of a range, which is empty if it ends before it starts; an error if it passes
/// the dim's end.
pub(crate) fn range_within(
    start: Bound<usize>,
    end: Bound<usize>,
    size: usize,
) -> Result<(usize, usize)> {
    let start = match start {
        Bound::Included(start) => start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match end {
        Bound::Included(end) => end.saturating_add(1),
        Bound::Excluded(end) => end,
        Bound::Unbounded => size,
    };
    if start > size || end > size {
        bail!("range: {start}..{end} is not within a dim of size {size}");
    }
    Ok((start, end.saturating_sub(start)))
}

/// Indexing with a number, a range, ids, or a tuple of them.
pub trait IndexOp<T> {
    /// The part of the tensor that the index names.
    ///
    /// ```
    /// use tallow::{Device, IndexOp, Tensor};
    /// let x = Tensor::new(&[[0u8, 1, 2], [3, 4, 5]], &Device::Cpu)?;
    /// assert_eq!(x.i(1)?.to_vec1::<u8>()?, [3, 4, 5]);
    /// assert_eq!(x.i((.., 1..))?.to_vec2::<u8>()?, [[1, 2], [4, 5]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    fn i(&self, index: T) -> Result<Tensor, Error>;
}

impl<T: Into<TensorIndexer>> IndexOp<T> for Tensor {
    fn i(&self, index: T) -> Result<Tensor, Error> {
        Ok(index.into().apply(self, 0)?.0)
    }
}

macro_rules! index_tuple {
    ($($name:ident),+) => {
        impl<$($name: Into<TensorIndexer>),+> IndexOp<($($name,)+)> for Tensor {
            #[allow(non_snake_case)]
            fn i(&self, ($($name,)+): ($($name,)+)) -> Result<Tensor, Error> {
                let indexed = (self.clone(), 0);
                $(let indexed = $name.into().apply(&indexed.0, indexed.1)?;)+
                Ok(indexed.0)
            }
        }
    };
}
index_tuple!(A);
index_tuple!(A, B);
index_tuple!(A, B, C);
index_tuple!(A, B, C, E);
index_tuple!(A, B, C, E, F);
index_tuple!(A, B, C, E, F, G);
index_tuple!(A, B, C, E, F, G, H);

#[cfg(test)]
mod tests {
    use super::*;

    fn cube() -> Tensor {
        Tensor::arange(0u32, 24, &Device::Cpu)
            .and_then(|x| x.reshape((2, 3, 4)))
            .unwrap()
    }

    #[test]
    fn numbers_drop_their_dim_and_ranges_keep_it() -> Result<()> {
        let x = cube();
        assert_eq!(x.i((1, 2, 3))?.to_scalar::<u32>()?, 23);
        assert_eq!(x.i((.., 0, 1..=2))?.to_vec2::<u32>()?, [[1, 2], [13, 14]]);
        assert_eq!(x.i((1, .., ..1))?.to_vec2::<u32>()?, [[12], [16], [20]]);
        assert_eq!(x.i((0..2, 1..1))?.dims(), [2, 0, 4]);
        Ok(())
    }

    #[test]
    fn tensors_and_slices_of_ids_select() -> Result<()> {
        let ids = Tensor::new(&[2u32, 0], &Device::Cpu)?;
        assert_eq!(cube().i((1, &ids, 0))?.to_vec1::<u32>()?, [20, 12]);
        assert_eq!(cube().i((1, vec![2u32, 0], 0))?.to_vec1::<u32>()?, [20, 12]);
        Ok(())
    }

    #[test]
    fn indexes_out_of_range_are_errors() {
        let x = cube();
        assert!(x.i(2).is_err() && x.i(1..3).is_err() && x.i((0, 0, 0, 0)).is_err());
        assert!(x.i(3..).is_err() && x.i(..=usize::MAX).is_err());
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges)]
    fn a_range_that_ends_before_it_starts_is_empty() -> Result<()> {
        assert_eq!(cube().i((.., 1..0))?.dims()[1], 0);
        assert!(cube().i(3..0).is_err());
        Ok(())
    }
}
