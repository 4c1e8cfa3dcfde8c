//! Layout: how the elements of a view lie in their buffer.
//!
//! Element `(i0, …, ik)` is at `start_offset + Σ i·stride`, all in elements. Views (narrow,
//! transpose, broadcast) change the layout and leave the buffer as it is. A stride of 0 repeats.

use crate::shape::{Dim, Sizes};
use crate::{Error, Result, Shape};

/// How two layouts over one buffer relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutRelation {
    /// They name the same elements in the same order.
    Identical,
    /// They share no element.
    Disjoint,
    /// They share some elements.
    Overlapping,
    /// They may share elements.
    Unknown,
}

/// Shape, strides and offset of a view, in elements.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Shape,
    stride: Sizes,
    start_offset: usize,
}

impl Clone for Layout {
    #[inline]
    fn clone(&self) -> Self {
        Self {
            shape: self.shape.clone(),
            stride: Sizes::from_slice(&self.stride),
            start_offset: self.start_offset,
        }
    }
}

impl Layout {
    /// A layout of these parts; the caller sees to it that the buffer holds them.
    pub fn new(shape: Shape, stride: Vec<usize>, start_offset: usize) -> Self {
        Self {
            shape,
            stride: Sizes::from_slice(&stride),
            start_offset,
        }
    }

    /// Row-major from the buffer's start.
    #[inline(always)]
    pub fn contiguous<S: Into<Shape>>(shape: S) -> Self {
        Self::contiguous_with_offset(shape, 0)
    }

    /// Row-major from an offset.
    #[inline(always)]
    pub fn contiguous_with_offset<S: Into<Shape>>(shape: S, start_offset: usize) -> Self {
        let shape = shape.into();
        let stride = shape.strides();
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
    /// The size of one dimension.
    pub fn dim<D: Dim>(&self, dim: D) -> Result<usize> {
        self.shape.dim(dim)
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

    /// True for rank 0.
    pub fn is_scalar(&self) -> bool {
        self.shape.rank() == 0
    }

    /// True if one element is shown everywhere: every dimension repeats it.
    pub fn is_scalar_broadcast(&self) -> bool {
        !self.is_scalar() && self.stride.iter().all(|&stride| stride == 0)
    }

    /// True for a scalar, broadcast or not.
    pub fn is_scalar_like(&self) -> bool {
        self.is_scalar() || self.is_scalar_broadcast()
    }

    /// True if two indexes may lie in one place, as where a dimension repeats, or windows overlap.
    /// False is certain; true is so for every view that narrow, transpose, permute and broadcast
    /// make.
    ///
    /// ```
    /// use tallow::Layout;
    /// assert!(Layout::contiguous(3).broadcast_as((2, 3))?.has_internal_overlap());
    /// assert!(!Layout::contiguous((2, 3)).transpose(0, 1)?.has_internal_overlap());
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn has_internal_overlap(&self) -> bool {
        if self.shape.elem_count() == 0 {
            return false;
        }
        let sizes = self.dims().iter().zip(&self.stride);
        let mut steps: Vec<(usize, usize)> = sizes
            .filter(|(size, _)| **size > 1)
            .map(|(&size, &stride)| (stride, size))
            .collect();
        steps.sort_unstable();
        // A stride that passes all that the smaller ones reach lands in a place of its own.
        let mut reach = 0;
        steps.into_iter().any(|(stride, size)| {
            let lands_within = stride <= reach;
            reach += stride * (size - 1);
            lands_within
        })
    }

    /// How this layout relates to another over the same buffer.
    ///
    /// ```
    /// use tallow::{Layout, LayoutRelation};
    /// let x = Layout::contiguous(4);
    /// assert_eq!(x.narrow(0, 0, 2)?.relation(&x.narrow(0, 2, 2)?), LayoutRelation::Disjoint);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn relation(&self, other: &Self) -> LayoutRelation {
        if self == other {
            return LayoutRelation::Identical;
        }
        let span = |layout: &Self| (layout.start_offset, layout.span_end());
        let ((start, end), (other_start, other_end)) = (span(self), span(other));
        if start == end || other_start == other_end || end <= other_start || other_end <= start {
            return LayoutRelation::Disjoint;
        }
        // A contiguous view has every place of its span, and any view has its ends.
        let holds = |layout: &Self, start: usize, end: usize| {
            let (own_start, own_end) = span(layout);
            let has = |place: usize| (own_start..own_end).contains(&place);
            layout.is_contiguous() && (has(start) || has(end - 1))
        };
        match holds(self, other_start, other_end) || holds(other, start, end) {
            true => LayoutRelation::Overlapping,
            false if start == other_start => LayoutRelation::Overlapping,
            false => LayoutRelation::Unknown,
        }
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
        let mut dims = Sizes::from_slice(self.dims());
        dims[dim] = len;
        // In a view of no elements an offset could leave the buffer.
        let start_offset = if dims.contains(&0) {
            self.start_offset
        } else {
            self.start_offset + self.stride[dim] * start
        };
        Ok(Self {
            shape: Shape::of(dims),
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
        let (mut dims, mut stride) = (Sizes::from_slice(self.dims()), self.stride.clone());
        dims.swap(dim1, dim2);
        stride.swap(dim1, dim2);
        Ok(Self {
            shape: Shape::of(dims),
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
        let pick = |from: &[usize]| idxs.iter().map(|&idx| from[idx]).collect::<Sizes>();
        Ok(Self {
            shape: Shape::of(pick(self.dims())),
            stride: pick(&self.stride),
            start_offset: self.start_offset,
        })
    }

    /// Stretched to a larger shape: new dimensions in front, sizes of 1 repeated with stride 0.
    pub fn broadcast_as<S: Into<Shape>>(&self, shape: S) -> Result<Self> {
        let shape = shape.into();
        let error = || Error::BroadcastIncompatibleShapes {
            src_shape: self.shape.clone(),
            dst_shape: shape.clone(),
        };
        let added = shape
            .rank()
            .checked_sub(self.shape.rank())
            .ok_or_else(error)?;
        let mut stride: Sizes = smallvec::smallvec![0; added];
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
    fn overlap_is_seen() {
        let rows = Layout::contiguous((4, 5));
        for view in [
            rows.clone(),
            rows.transpose(0, 1).unwrap(),
            rows.narrow(1, 1, 3).unwrap(),
            rows.narrow(1, 0, 0).unwrap(),
            Layout::contiguous(()),
            Layout::new(Shape::from((2, 1)), vec![1, 0], 0),
        ] {
            assert!(!view.has_internal_overlap(), "{view:?}");
        }
        let repeated = Layout::contiguous((4, 1)).broadcast_as((4, 5)).unwrap();
        let windows = Layout::new(Shape::from((3, 2)), vec![1, 1], 0);
        assert!(repeated.has_internal_overlap() && windows.has_internal_overlap());
        assert!(
            Layout::contiguous(())
                .broadcast_as(2)
                .unwrap()
                .is_scalar_broadcast()
        );
        assert!(!rows.is_scalar_like() && Layout::contiguous(()).is_scalar_like());
    }

    #[test]
    fn layouts_relate() {
        let rows = Layout::contiguous((4, 6));
        let columns = |start| rows.narrow(1, start, 2).unwrap();
        assert_eq!(rows.relation(&rows.clone()), LayoutRelation::Identical);
        assert_eq!(rows.relation(&columns(2)), LayoutRelation::Overlapping);
        assert_eq!(columns(0).relation(&columns(2)), LayoutRelation::Unknown);
        let (top, bottom) = (rows.narrow(0, 0, 2).unwrap(), rows.narrow(0, 2, 2).unwrap());
        assert_eq!(top.relation(&bottom), LayoutRelation::Disjoint);
        assert_eq!(
            top.relation(&rows.narrow(1, 6, 0).unwrap()),
            LayoutRelation::Disjoint
        );
        assert_eq!(
            rows.relation(&rows.transpose(0, 1).unwrap()),
            LayoutRelation::Overlapping
        );
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
