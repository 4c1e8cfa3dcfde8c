//! Iterators over the places of a view's elements, for code that walks a buffer itself.
//!
//! [`StridedIndex`] gives each element's offset; [`StridedBlocks`] the longest contiguous blocks;
//! [`NdIter`] walks several layouts of one shape together. Kernels of this crate use
//! [`Walk`](crate::cpu::walk::Walk), which these are made of.

use crate::cpu::walk::{Sizes, Walk};
use crate::{Layout, Tensor};
use std::iter::FusedIterator;

/// The offsets of a view's elements in its buffer, in row-major order.
///
/// ```
/// use tallow::{Device, Tensor};
/// let x = Tensor::new(&[[0u8, 1, 2], [3, 4, 5]], &Device::Cpu)?.t()?;
/// assert_eq!(x.strided_index().collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StridedIndex<'a> {
    dims: &'a [usize],
    strides: &'a [usize],
    index: Sizes,
    offset: usize,
    left: usize,
}

impl<'a> StridedIndex<'a> {
    pub(crate) fn new(dims: &'a [usize], strides: &'a [usize], start_offset: usize) -> Self {
        Self {
            dims,
            strides,
            index: dims.iter().map(|_| 0).collect(),
            offset: start_offset,
            left: dims.iter().product(),
        }
    }
}

impl Iterator for StridedIndex<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let here = self.offset;
        for dim in (0..self.dims.len()).rev() {
            self.index[dim] += 1;
            self.offset += self.strides[dim];
            if self.index[dim] < self.dims[dim] {
                break;
            }
            self.offset -= self.dims[dim] * self.strides[dim];
            self.index[dim] = 0;
        }
        Some(here)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for StridedIndex<'_> {}
impl FusedIterator for StridedIndex<'_> {}

/// A view's elements as contiguous blocks of the buffer, in row-major order.
#[derive(Debug)]
pub enum StridedBlocks<'a> {
    /// The view is contiguous.
    SingleBlock {
        /// Where the block starts.
        start_offset: usize,
        /// Its length.
        len: usize,
    },
    /// Blocks that lie one distance apart.
    UniformBlocks {
        /// Where the first block starts.
        start_offset: usize,
        /// The length of each.
        block_len: usize,
        /// How many there are.
        count: usize,
        /// From the start of one to the start of the next.
        src_stride: usize,
    },
    /// Any other view.
    MultipleBlocks {
        /// Where each block starts.
        block_start_index: StridedIndex<'a>,
        /// The length of each.
        block_len: usize,
    },
}

impl Layout {
    /// The offsets of the elements, in row-major order.
    pub fn strided_index(&self) -> StridedIndex<'_> {
        StridedIndex::new(self.dims(), self.stride(), self.start_offset())
    }

    /// The longest contiguous blocks.
    pub fn strided_blocks(&self) -> StridedBlocks<'_> {
        let (start_offset, dims) = (self.start_offset(), self.dims());
        if self.is_contiguous() {
            let len = self.shape().elem_count();
            return StridedBlocks::SingleBlock { start_offset, len };
        }
        let (mut block_len, mut outer) = (1, dims.len());
        while outer > 0 && (dims[outer - 1] == 1 || self.stride()[outer - 1] == block_len) {
            block_len *= dims[outer - 1];
            outer -= 1;
        }
        // A view that is not contiguous has a dimension that no block holds.
        let starts = Walk::new(&dims[..outer], [&self.stride()[..outer]]);
        if let ([count], [src_stride]) = (&starts.dims[..], starts.inner_strides()) {
            return StridedBlocks::UniformBlocks {
                start_offset,
                block_len,
                count: *count,
                src_stride,
            };
        }
        let strides = &self.stride()[..outer];
        StridedBlocks::MultipleBlocks {
            block_start_index: StridedIndex::new(&dims[..outer], strides, start_offset),
            block_len,
        }
    }
}

impl Tensor {
    /// The offsets of the elements in the buffer, in row-major order.
    pub fn strided_index(&self) -> StridedIndex<'_> {
        self.layout().strided_index()
    }

    /// The elements as contiguous blocks of the buffer, in row-major order.
    pub fn strided_blocks(&self) -> StridedBlocks<'_> {
        self.layout().strided_blocks()
    }
}

/// Walks layouts of one shape together: each item has the offset, in each buffer, of a run of
/// `inner_size` elements, which lie `inner_strides` apart. Neighbouring dimensions that all layouts
/// walk with one stride count as one. Layouts of different shapes give no items.
///
/// ```
/// use tallow::{Layout, NdIter};
/// let (rows, row) = (Layout::contiguous((2, 3)), Layout::contiguous(3).broadcast_as((2, 3))?);
/// let runs = NdIter::new([&rows, &row]);
/// assert_eq!((runs.inner_size, runs.inner_strides), (3, [1, 1]));
/// assert_eq!(runs.collect::<Vec<_>>(), [[0, 0], [3, 0]]);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NdIter<const N: usize> {
    /// Elements in a run.
    pub inner_size: usize,
    /// From one element of a run to the next, in each buffer: 1, 0 where it repeats, or more.
    pub inner_strides: [usize; N],
    walk: Walk<N>,
    index: Sizes,
    offsets: [usize; N],
    left: usize,
}

impl<const N: usize> NdIter<N> {
    /// The runs of these layouts.
    pub fn new(layouts: [&Layout; N]) -> Self {
        let dims = layouts.first().map_or(&[][..], |layout| layout.dims());
        let walk = Walk::new(dims, layouts.map(Layout::stride));
        let same = layouts.iter().all(|layout| layout.dims() == dims);
        let (inner, outer) = (walk.inner_len(), walk.dims.len() - 1);
        let runs = walk.dims[..outer].iter().product();
        Self {
            inner_size: inner,
            inner_strides: walk.inner_strides(),
            index: walk.dims[..outer].iter().map(|_| 0).collect(),
            offsets: layouts.map(Layout::start_offset),
            left: if same && inner > 0 { runs } else { 0 },
            walk,
        }
    }
}

impl<const N: usize> Iterator for NdIter<N> {
    type Item = [usize; N];

    fn next(&mut self) -> Option<[usize; N]> {
        self.left = self.left.checked_sub(1)?;
        let here = self.offsets;
        for dim in (0..self.index.len()).rev() {
            let size = self.walk.dims[dim];
            self.index[dim] += 1;
            let ended = self.index[dim] == size;
            for (offset, strides) in self.offsets.iter_mut().zip(&self.walk.strides) {
                *offset += strides[dim];
                if ended {
                    *offset -= size * strides[dim];
                }
            }
            if !ended {
                break;
            }
            self.index[dim] = 0;
        }
        Some(here)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<const N: usize> ExactSizeIterator for NdIter<N> {}
impl<const N: usize> FusedIterator for NdIter<N> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Result;

    /// Offsets by the definition.
    fn offsets(layout: &Layout) -> Vec<usize> {
        let dims = layout.dims();
        let count: usize = dims.iter().product();
        let element = |at: usize| {
            let (mut rest, mut offset) = (at, layout.start_offset());
            for (size, stride) in dims.iter().zip(layout.stride()).rev() {
                offset += rest % size * stride;
                rest /= size;
            }
            offset
        };
        (0..count).map(element).collect()
    }

    fn layouts() -> Result<Vec<Layout>> {
        let cube = Layout::contiguous((2, 3, 4));
        Ok(vec![
            Layout::contiguous(()),
            cube.clone(),
            cube.narrow(0, 1, 1)?,
            cube.narrow(1, 1, 2)?,
            cube.narrow(2, 1, 2)?,
            cube.narrow(1, 0, 0)?,
            cube.transpose(0, 2)?,
            cube.permute(&[1, 0, 2])?,
            Layout::contiguous((3, 1)).broadcast_as((2, 3, 4))?,
            Layout::contiguous(()).broadcast_as((2, 3))?,
        ])
    }

    #[test]
    fn every_iterator_visits_the_elements_in_order() -> Result<()> {
        for layout in layouts()? {
            let want = offsets(&layout);
            assert_eq!(
                layout.strided_index().collect::<Vec<_>>(),
                want,
                "{layout:?}"
            );
            let block = |start: usize, len: usize| start..start + len;
            let blocks: Vec<usize> = match layout.strided_blocks() {
                StridedBlocks::SingleBlock { start_offset, len } => {
                    block(start_offset, len).collect()
                }
                StridedBlocks::UniformBlocks {
                    start_offset,
                    block_len,
                    count,
                    src_stride,
                } => (0..count)
                    .flat_map(|at| block(start_offset + at * src_stride, block_len))
                    .collect(),
                StridedBlocks::MultipleBlocks {
                    block_start_index,
                    block_len,
                } => block_start_index
                    .flat_map(|start| block(start, block_len))
                    .collect(),
            };
            assert_eq!(blocks, want, "{layout:?}");
            let runs = NdIter::new([&layout, &layout]);
            let (len, [stride, _]) = (runs.inner_size, runs.inner_strides);
            let visited: Vec<usize> = runs
                .flat_map(|[start, same]| {
                    assert_eq!(start, same);
                    (0..len).map(move |at| start + at * stride)
                })
                .collect();
            assert_eq!(visited, want, "{layout:?}");
        }
        Ok(())
    }

    #[test]
    fn the_three_forms_of_blocks() -> Result<()> {
        let cube = Layout::contiguous((2, 3, 4));
        assert!(matches!(
            cube.narrow(0, 1, 1)?.strided_blocks(),
            StridedBlocks::SingleBlock {
                start_offset: 12,
                len: 12
            }
        ));
        assert!(matches!(
            cube.narrow(1, 1, 2)?.strided_blocks(),
            StridedBlocks::UniformBlocks {
                start_offset: 4,
                block_len: 8,
                count: 2,
                src_stride: 12
            }
        ));
        let permuted = cube.permute(&[1, 0, 2])?;
        let StridedBlocks::MultipleBlocks {
            block_start_index,
            block_len,
        } = permuted.strided_blocks()
        else {
            panic!("two dims of starts");
        };
        assert_eq!((block_start_index.len(), block_len), (6, 4));
        Ok(())
    }

    #[test]
    fn layouts_of_different_shapes_have_no_runs() {
        let (lhs, rhs) = (Layout::contiguous((2, 3)), Layout::contiguous((3, 2)));
        assert_eq!(NdIter::new([&lhs, &rhs]).len(), 0);
    }
}
