//! Typed strided views: what a CPU kernel is handed.

use crate::{CpuStorage, DType, Error, Layout, Result, WithDType};

/// An operand before its type is known: a storage and the layout into it.
#[derive(Clone, Copy, Debug)]
pub struct CpuView<'a> {
    storage: &'a CpuStorage,
    layout: &'a Layout,
}

impl<'a> CpuView<'a> {
    /// A view of a storage; an error if the layout reaches past the storage's end.
    #[inline(always)] // a result in memory is waited for
    pub fn new(storage: &'a CpuStorage, layout: &'a Layout) -> Result<Self> {
        if layout.span_end() > storage.len() {
            return Err(past_the_end(storage, layout));
        }
        Ok(Self { storage, layout })
    }

    /// The dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.storage.dtype()
    }

    /// The whole storage; the layout says which elements are the view's.
    pub fn storage(&self) -> &'a CpuStorage {
        self.storage
    }

    /// The shape, strides and offset in the storage.
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// The sizes.
    pub fn dims(&self) -> &'a [usize] {
        self.layout.dims()
    }

    /// The view with its element type; an error if the storage holds another.
    #[inline]
    pub fn typed<T: WithDType>(&self) -> Result<View<'a, T>> {
        let data = self.storage.as_slice::<T>()?;
        let data = &data[self.layout.start_offset()..self.layout.span_end()];
        Ok(View {
            data,
            dims: self.layout.dims(),
            strides: self.layout.stride(),
        })
    }
}

#[cold]
fn past_the_end(storage: &CpuStorage, layout: &Layout) -> Error {
    Error::Msg(format!(
        "view: layout {} at offset {} reaches past the storage: {} elements",
        layout.describe(),
        layout.start_offset(),
        storage.len()
    ))
}

/// A strided view of elements. `data` starts at the view's first element and ends after its last;
/// element `(i0, …, ik)` is `data[Σ i·stride]`.
#[derive(Debug)]
pub struct View<'a, T> {
    /// The elements that the view spans.
    pub data: &'a [T],
    /// The sizes.
    pub dims: &'a [usize],
    /// The strides, in elements.
    pub strides: &'a [usize],
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for View<'_, T> {}

impl<'a, T> View<'a, T> {
    /// The number of elements.
    pub fn count(&self) -> usize {
        self.dims.iter().product()
    }

    /// The elements as one slice, if the view is row-major without gaps.
    #[inline]
    pub fn contiguous(&self) -> Option<&'a [T]> {
        let mut expected = 1;
        for (&size, &stride) in self.dims.iter().zip(self.strides).rev() {
            if size != 1 && stride != expected {
                return None;
            }
            expected *= size;
        }
        self.data.get(..expected)
    }

    /// Size and stride of the last `N` dimensions, where the view has them.
    pub fn last<const N: usize>(&self) -> Option<[(usize, usize); N]> {
        let first = self.dims.len().checked_sub(N)?;
        Some(std::array::from_fn(|at| {
            (self.dims[first + at], self.strides[first + at])
        }))
    }

    /// The view without its last `count` dimensions: the first element of each slice.
    pub fn leading(&self, count: usize) -> View<'a, T> {
        let rank = self.dims.len() - count;
        View {
            data: self.data,
            dims: &self.dims[..rank],
            strides: &self.strides[..rank],
        }
    }

    /// Offsets of the elements, in row-major order.
    pub fn offsets(&self) -> impl Iterator<Item = usize> + 'a {
        let (dims, strides) = (self.dims, self.strides);
        let count = self.count();
        let mut index: crate::cpu::walk::Sizes = dims.iter().map(|_| 0).collect();
        let mut offset = 0;
        (0..count).map(move |_| {
            let here = offset;
            for dim in (0..dims.len()).rev() {
                index[dim] += 1;
                offset += strides[dim];
                if index[dim] < dims[dim] {
                    break;
                }
                offset -= dims[dim] * strides[dim];
                index[dim] = 0;
            }
            here
        })
    }
}
