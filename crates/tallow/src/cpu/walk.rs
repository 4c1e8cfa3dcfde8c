//! The strided walk: the dimensions of N views over one shape, merged, and cut into inner runs.
//!
//! Dimensions of size 1 are dropped; neighbours that every view walks with one stride become one.
//! So a contiguous operand is a single run whatever its rank, and a row vector broadcast over a
//! matrix is a run a row. The result of an operation is always contiguous: its elements are
//! numbered, and a walk visits any range of those numbers, which is how a range is given to a
//! thread.

use smallvec::SmallVec;
use std::ops::Range;

/// Sizes or strides; merged shapes are short.
pub type Sizes = SmallVec<[usize; 6]>;

/// Merged dimensions of `N` views of one shape. There is at least one dimension; none has size 1
/// unless the shape has one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk<const N: usize> {
    /// The merged sizes, the inner run last.
    pub dims: Sizes,
    /// The strides of each view in the merged dimensions.
    pub strides: [Sizes; N],
}

impl<const N: usize> Walk<N> {
    /// The walk over `dims`, whose views have these strides.
    pub fn new(dims: &[usize], strides: [&[usize]; N]) -> Self {
        let mut walk = Self {
            dims: Sizes::new(),
            strides: std::array::from_fn(|_| Sizes::new()),
        };
        for (dim, &size) in dims.iter().enumerate() {
            if size == 1 {
                continue;
            }
            let last = walk.dims.len().wrapping_sub(1);
            let merges = !walk.dims.is_empty()
                && (0..N).all(|view| walk.strides[view][last] == strides[view][dim] * size);
            if merges {
                walk.dims[last] *= size;
                (0..N).for_each(|view| walk.strides[view][last] = strides[view][dim]);
            } else {
                walk.dims.push(size);
                (0..N).for_each(|view| walk.strides[view].push(strides[view][dim]));
            }
        }
        if walk.dims.is_empty() {
            walk.dims.push(1);
            walk.strides.iter_mut().for_each(|strides| strides.push(1));
        }
        walk
    }

    /// The length of the inner run.
    pub fn inner_len(&self) -> usize {
        self.dims[self.dims.len() - 1]
    }

    /// The stride of each view along the inner run.
    pub fn inner_strides(&self) -> [usize; N] {
        std::array::from_fn(|view| self.strides[view][self.dims.len() - 1])
    }

    /// Calls `run` for each piece of an inner run that `range` covers: the offset of each view, and
    /// which elements of the range these are.
    #[inline(always)]
    pub fn for_each_run(&self, range: Range<usize>, mut run: impl FnMut([usize; N], Range<usize>)) {
        let (inner_len, inner_strides) = (self.inner_len(), self.inner_strides());
        let outer = self.dims.len() - 1;
        if range.is_empty() {
            return;
        }
        let mut index = Sizes::new();
        let mut offsets = [0; N];
        let mut rest = range.start / inner_len;
        for dim in (0..outer).rev() {
            index.insert(0, rest % self.dims[dim]);
            rest /= self.dims[dim];
            (0..N).for_each(|view| offsets[view] += index[0] * self.strides[view][dim]);
        }
        let mut within = range.start % inner_len;
        let mut at = range.start;
        loop {
            let len = (inner_len - within).min(range.end - at);
            let here = std::array::from_fn(|view| offsets[view] + within * inner_strides[view]);
            run(here, at - range.start..at - range.start + len);
            at += len;
            if at == range.end {
                return;
            }
            within = 0;
            for dim in (0..outer).rev() {
                index[dim] += 1;
                (0..N).for_each(|view| offsets[view] += self.strides[view][dim]);
                if index[dim] < self.dims[dim] {
                    break;
                }
                index[dim] = 0;
                (0..N).for_each(|view| offsets[view] -= self.dims[dim] * self.strides[view][dim]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(of: &[usize]) -> Sizes {
        Sizes::from_slice(of)
    }

    #[test]
    fn contiguous_dims_become_one() {
        let walk = Walk::new(&[2, 1, 3, 4], [&[12, 99, 4, 1]]);
        assert_eq!((walk.dims, walk.strides), (sizes(&[24]), [sizes(&[1])]));
    }

    #[test]
    fn a_dim_merges_only_if_every_view_allows() {
        let walk = Walk::new(&[2, 3, 4], [&[12, 4, 1], &[0, 4, 1]]);
        assert_eq!(walk.dims, sizes(&[2, 12]));
        assert_eq!(walk.strides, [sizes(&[12, 1]), sizes(&[0, 1])]);
    }

    #[test]
    fn a_scalar_is_one_run() {
        let mut seen = Vec::new();
        Walk::new(&[], [&[]]).for_each_run(0..1, |offset, range| seen.push((offset, range)));
        assert_eq!(seen, [([0], 0..1)]);
    }

    #[test]
    fn every_range_of_every_view_visits_its_own_elements() {
        let (dims, strides) = ([3, 2, 5], [1usize, 21, 4]);
        let element =
            |at: usize| (at / 10) * strides[0] + (at / 5 % 2) * strides[1] + at % 5 * strides[2];
        for start in 0..30 {
            for end in start..=30 {
                let walk = Walk::new(&dims, [&strides]);
                let mut seen = Vec::new();
                walk.for_each_run(start..end, |[offset], range| {
                    assert_eq!(range.start, seen.len());
                    seen.extend((0..range.len()).map(|at| offset + at * strides[2]));
                });
                assert_eq!(seen, (start..end).map(element).collect::<Vec<_>>());
            }
        }
    }
}
