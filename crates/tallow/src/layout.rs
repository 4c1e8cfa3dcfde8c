//! Layout: how the elements of a view lie in their buffer.
//!
//! Element `(i0, …, ik)` is at `start_offset + Σ i·stride`, all in elements. Views (narrow,
//! transpose, broadcast) change the layout and leave the buffer as it is. A stride of 0 repeats.

use crate::shape::Dim;
use crate::{Error, Result, Shape};

/// Shape, strides and offset of a view, in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Shape,
    stride: Vec<usize>,
    start_offset: usize,
}

impl Layout {
    /// A layout of these parts; the caller sees to it that the buffer holds them.
    pub fn new(shape: Shape, stride: Vec<usize>, start_offset: usize) -> Self {
        Self {
            shape,
            stride,
            start_offset,
        }
    }

    /// Row-major from the buffer's start.
    pub fn contiguous(shape: impl Into<Shape>) -> Self {
        Self::contiguous_with_offset(shape, 0)
    }

    /// Row-major from an offset.
    pub fn contiguous_with_offset(shape: impl Into<Shape>, start_offset: usize) -> Self {
        let shape = shape.into();
        let stride = shape.stride_contiguous();
        Self {
            shape,
            stride,
            start_offset,
        }
    }

    /// The sizes.
    pub fn dims(&self) -> &[usize] {
        self.shape.dims()
    }
    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    /// The strides, in elements.
    pub fn stride(&self) -> &[usize] {
        &self.stride
    }
    /// Where the first element lies.
    pub fn start_offset(&self) -> usize {
        self.start_offset
    }
    /// True if the view is row-major without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.shape.is_contiguous(&self.stride)
    }
    /// True if the view is column-major without gaps.
    pub fn is_fortran_contiguous(&self) -> bool {
        self.shape.is_fortran_contiguous(&self.stride)
    }
    /// First element and one past the last, if the view is contiguous.
    pub fn contiguous_offsets(&self) -> Option<(usize, usize)> {
        let end = self.start_offset + self.shape.elem_count();
        self.is_contiguous().then_some((self.start_offset, end))
    }

    /// One past the last element that the view can touch; its start if it is empty.
    pub fn span_end(&self) -> usize {
        if self.shape.elem_count() == 0 {
            return self.start_offset;
        }
        let last: usize = self
            .dims()
            .iter()
            .zip(&self.stride)
            .map(|(&size, &stride)| (size - 1) * stride)
            .sum();
        self.start_offset + last + 1
    }

    /// `len` indexes of one dimension, from `start` on.
    pub fn narrow(&self, dim: usize, start: usize, len: usize) -> Result<Self> {
        let error = |msg| Error::NarrowInvalidArgs {
            shape: self.shape.clone(),
            dim,
            start,
            len,
            msg,
        };
        let &size = self.dims().get(dim).ok_or_else(|| error("no such dim"))?;
        match start.checked_add(len) {
            Some(end) if end <= size => {}
            _ => return Err(error("start + len passes the dim's size")),
        }
        let mut dims = self.dims().to_vec();
        dims[dim] = len;
        // In a view of no elements an offset could leave the buffer.
        let start_offset = if dims.contains(&0) {
            self.start_offset
        } else {
            self.start_offset + self.stride[dim] * start
        };
        Ok(Self {
            shape: Shape::from(dims),
            stride: self.stride.clone(),
            start_offset,
        })
    }

    /// Two dimensions exchanged.
    pub fn transpose(&self, dim1: usize, dim2: usize) -> Result<Self> {
        let op = "transpose";
        let (dim1, dim2) = (
            dim1.to_index(&self.shape, op)?,
            dim2.to_index(&self.shape, op)?,
        );
        let (mut dims, mut stride) = (self.dims().to_vec(), self.stride.clone());
        dims.swap(dim1, dim2);
        stride.swap(dim1, dim2);
        Ok(Self {
            shape: Shape::from(dims),
            stride,
            start_offset: self.start_offset,
        })
    }

    /// Dimensions in a new order: dimension `i` of the result is dimension `idxs[i]` of this.
    pub fn permute(&self, idxs: &[usize]) -> Result<Self> {
        let mut seen = vec![false; self.shape.rank()];
        let known = idxs
            .iter()
            .all(|&idx| idx < seen.len() && !std::mem::replace(&mut seen[idx], true));
        if !known || idxs.len() != self.shape.rank() {
            crate::bail!(
                "permute: {idxs:?} is not an order of the dims of shape {:?}",
                self.shape
            );
        }
        let pick = |from: &[usize]| idxs.iter().map(|&idx| from[idx]).collect::<Vec<_>>();
        Ok(Self {
            shape: Shape::from(pick(self.dims())),
            stride: pick(&self.stride),
            start_offset: self.start_offset,
        })
    }

    /// Stretched to a larger shape: new dimensions in front, sizes of 1 repeated with stride 0.
    pub fn broadcast_as(&self, shape: impl Into<Shape>) -> Result<Self> {
        let shape = shape.into();
        let error = || Error::BroadcastIncompatibleShapes {
            src_shape: self.shape.clone(),
            dst_shape: shape.clone(),
        };
        let added = shape
            .rank()
            .checked_sub(self.shape.rank())
            .ok_or_else(error)?;
        let mut stride = vec![0; added];
        for ((&to, &from), &step) in shape.dims()[added..]
            .iter()
            .zip(self.dims())
            .zip(&self.stride)
        {
            match (from, to) {
                _ if from == to => stride.push(step),
                (1, _) => stride.push(0),
                _ => return Err(error()),
            }
        }
        Ok(Self {
            shape,
            stride,
            start_offset: self.start_offset,
        })
    }

    /// Shape, strides and offset in one line, for errors.
    pub fn describe(&self) -> String {
        if self.is_contiguous() {
            return format!("{:?}", self.shape);
        }
        format!("{:?} (strides {:?})", self.shape, self.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_checks_its_range() {
        let layout = Layout::contiguous((2, 3));
        assert_eq!(layout.narrow(1, 1, 2).unwrap().start_offset(), 1);
        assert_eq!(layout.narrow(1, 3, 0).unwrap().span_end(), 0);
        assert!(layout.narrow(1, 2, 2).is_err());
        assert!(layout.narrow(2, 0, 0).is_err());
        assert!(layout.narrow(0, usize::MAX, 2).is_err());
    }

    #[test]
    fn views_keep_their_span() {
        let layout = Layout::contiguous((4, 5))
            .transpose(0, 1)
            .unwrap()
            .narrow(0, 1, 2)
            .unwrap();
        assert_eq!((layout.start_offset(), layout.span_end()), (1, 18));
        assert!(!layout.is_contiguous());
        assert!(
            Layout::contiguous((1, 5))
                .transpose(0, 1)
                .unwrap()
                .is_contiguous()
        );
    }

    #[test]
    fn broadcast_repeats_sizes_of_one() {
        let layout = Layout::contiguous((3, 1)).broadcast_as((2, 3, 4)).unwrap();
        assert_eq!(layout.stride(), [0, 1, 0]);
        assert!(Layout::contiguous(3).broadcast_as((3, 2)).is_err());
        assert!(Layout::contiguous((1, 3)).broadcast_as(3).is_err());
    }

    #[test]
    fn permute_wants_each_dim_once() {
        let layout = Layout::contiguous((2, 3, 4));
        assert_eq!(layout.permute(&[2, 0, 1]).unwrap().stride(), [1, 12, 4]);
        assert!(layout.permute(&[0, 0, 1]).is_err());
        assert!(layout.permute(&[0, 1]).is_err());
        assert!(layout.permute(&[0, 1, 3]).is_err());
    }
}
