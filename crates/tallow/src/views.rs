//! Views: new layouts over the same buffer. None of these computes; `reshape` and `flatten` copy
//! where no strides can express the new shape.

use crate::backprop::{Gradients, Rule};
use crate::ops::composed::unfold;
use crate::shape::{Dim, Dims, ShapeWithOneHole};
use crate::{D, Error, Layout, Result, Shape, Tensor, bail};
use smallvec::smallvec;

/// How a view was made of its tensor, for gradients.
pub(crate) enum View {
    /// Other sizes for the same elements.
    Reshape,
    /// Two dimensions exchanged.
    Transpose(usize, usize),
    /// Dimensions in a new order.
    Permute(Vec<usize>),
    /// Part of a dimension.
    Narrow { dim: usize, start: usize },
    /// Elements repeated.
    Broadcast,
    /// Windows along a dimension.
    Unfold { dim: usize, step: usize },
}

impl Rule for View {
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let x = inputs[0];
        let gradient = match self {
            Self::Reshape => upstream.reshape(x.shape())?,
            Self::Transpose(dim1, dim2) => upstream.transpose(*dim1, *dim2)?,
            Self::Permute(dims) => {
                let mut back = vec![0; dims.len()];
                dims.iter()
                    .enumerate()
                    .for_each(|(to, &from)| back[from] = to);
                upstream.permute(back)?
            }
            Self::Narrow { dim, start } => {
                let behind = x.dims()[*dim] - start - upstream.dims()[*dim];
                upstream.pad_with_zeros(*dim, *start, behind)?
            }
            Self::Broadcast => upstream.sum_to(x.shape())?,
            Self::Unfold { dim, step } => unfold::fold(upstream, x, *dim, *step)?,
        };
        Ok(smallvec![Some(gradient)])
    }
}

impl Tensor {
    /// `len` indexes of one dimension, from `start` on.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[0u8, 1, 2], [3, 4, 5]], &Device::Cpu)?;
    /// assert_eq!(x.narrow(1, 1, 2)?.to_vec2::<u8>()?, [[1, 2], [4, 5]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn narrow<I: Dim>(&self, dim: I, start: usize, len: usize) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "narrow")?;
        let layout = self.layout().narrow(dim, start, len)?;
        Ok(self.view(layout, View::Narrow { dim, start }))
    }

    /// Two dimensions exchanged.
    pub fn transpose<I: Dim, J: Dim>(&self, dim1: I, dim2: J) -> Result<Self> {
        let dim1 = dim1.to_index(self.shape(), "transpose")?;
        let dim2 = dim2.to_index(self.shape(), "transpose")?;
        let layout = self.layout().transpose(dim1, dim2)?;
        Ok(self.view(layout, View::Transpose(dim1, dim2)))
    }

    /// The last two dimensions exchanged. Errors below rank 2.
    pub fn t(&self) -> Result<Self> {
        if self.rank() < 2 {
            let (got, shape) = (self.rank(), self.shape().clone());
            return Err(Error::UnexpectedNumberOfDims {
                expected: 2,
                got,
                shape,
            });
        }
        self.transpose(D::Minus2, D::Minus1)
    }

    /// Dimensions in a new order: dimension `i` of the result is dimension `dims[i]` of this.
    pub fn permute<I: Dims>(&self, dims: I) -> Result<Self> {
        let dims = dims.to_indexes(self.shape(), "permute")?;
        let layout = self.layout().permute(&dims)?;
        Ok(self.view(layout, View::Permute(dims)))
    }

    /// The same elements in another shape; one size may be left open, as `()`. A view if this is
    /// row-major without gaps, else a copy that is.
    pub fn reshape<S: ShapeWithOneHole>(&self, shape: S) -> Result<Self> {
        let shape = shape.into_shape(self.elem_count())?;
        if shape.checked_elem_count()? != self.elem_count() {
            let (expected, got) = (shape, self.shape().clone());
            return Err(Error::UnexpectedShape {
                msg: "reshape".to_string(),
                expected,
                got,
            });
        }
        let layout = match self.is_contiguous() {
            true => self.layout().clone(),
            false => return self.contiguous()?.reshape(shape),
        };
        let start_offset = layout.start_offset();
        let layout = Layout::contiguous_with_offset(shape, start_offset);
        Ok(self.view(layout, View::Reshape))
    }

    /// Stretched to a larger shape: sizes are aligned at the end, and sizes of 1 repeat.
    pub fn broadcast_as<S: Into<Shape>>(&self, shape: S) -> Result<Self> {
        let layout = self.layout().broadcast_as(shape)?;
        Ok(self.view(layout, View::Broadcast))
    }

    /// [`broadcast_as`](Self::broadcast_as) by another name.
    pub fn expand<S: Into<Shape>>(&self, shape: S) -> Result<Self> {
        self.broadcast_as(shape)
    }

    /// Repeated over new dimensions in front.
    pub fn broadcast_left<S: Into<Shape>>(&self, left_shape: S) -> Result<Self> {
        self.broadcast_as(left_shape.into().extend(self.dims()))
    }

    /// Without a dimension, if its size is 1; the same tensor otherwise.
    pub fn squeeze<I: Dim>(&self, dim: I) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "squeeze")?;
        if self.dims()[dim] != 1 {
            return Ok(self.clone());
        }
        let (mut dims, mut stride) = (self.dims().to_vec(), self.stride().to_vec());
        dims.remove(dim);
        stride.remove(dim);
        let start_offset = self.layout().start_offset();
        let layout = Layout::new(Shape::from(dims), stride, start_offset);
        Ok(self.view(layout, View::Reshape))
    }

    /// With a dimension of size 1 more.
    pub fn unsqueeze<I: Dim>(&self, dim: I) -> Result<Self> {
        let dim = dim.to_index_plus_one(self.shape(), "unsqueeze")?;
        let (mut dims, mut stride) = (self.dims().to_vec(), self.stride().to_vec());
        // The stride of a size of 1 is never used; this one keeps a contiguous view contiguous.
        let step = if dim < dims.len() {
            dims[dim] * stride[dim]
        } else {
            1
        };
        dims.insert(dim, 1);
        stride.insert(dim, step);
        let start_offset = self.layout().start_offset();
        let layout = Layout::new(Shape::from(dims), stride, start_offset);
        Ok(self.view(layout, View::Reshape))
    }

    /// One slice of the first dimension; a scalar gives itself.
    pub fn get(&self, index: usize) -> Result<Self> {
        match self.dims() {
            [] => Ok(self.clone()),
            _ => self.get_on_dim(0, index),
        }
    }

    /// One slice of a dimension, without that dimension.
    pub fn get_on_dim<I: Dim>(&self, dim: I, index: usize) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "get_on_dim")?;
        self.narrow(dim, index, 1)?.squeeze(dim)
    }

    /// Dimensions `start` to `end`, both included, as one.
    pub fn flatten<I: Dim, J: Dim>(&self, start_dim: I, end_dim: J) -> Result<Self> {
        if self.rank() == 0 {
            return self.reshape(1);
        }
        let start = start_dim.to_index(self.shape(), "flatten")?;
        let end = end_dim.to_index(self.shape(), "flatten")?;
        if start >= end {
            return Ok(self.clone());
        }
        let merged: usize = self.dims()[start..=end].iter().product();
        let dims = [&self.dims()[..start], &[merged], &self.dims()[end + 1..]].concat();
        self.reshape(dims)
    }

    /// All dimensions from one on as one.
    pub fn flatten_from<I: Dim>(&self, start_dim: I) -> Result<Self> {
        self.flatten(start_dim, D::Minus1)
    }

    /// All dimensions up to one, which is included, as one.
    pub fn flatten_to<I: Dim>(&self, end_dim: I) -> Result<Self> {
        self.flatten(0, end_dim)
    }

    /// The sum over what [`broadcast_as`](Self::broadcast_as) repeated of a tensor of `shape`.
    pub(crate) fn sum_to(&self, shape: &Shape) -> Result<Self> {
        let left = self.rank() - shape.rank();
        let stretched =
            |&dim: &usize| dim < left || (shape.dims()[dim - left] == 1 && self.dims()[dim] != 1);
        let dims: Vec<usize> = (0..self.rank()).filter(stretched).collect();
        match dims.is_empty() {
            true => Ok(self.clone()),
            false => self.sum_keepdim(dims)?.reshape(shape),
        }
    }

    /// All elements in one dimension.
    pub fn flatten_all(&self) -> Result<Self> {
        self.reshape(self.elem_count())
    }

    /// `chunks` views along a dimension, of equal size but for the last ones, which may be smaller
    /// by one; fewer if the dimension is shorter. Errors for 0 chunks.
    pub fn chunk<I: Dim>(&self, chunks: usize, dim: I) -> Result<Vec<Self>> {
        let dim = dim.to_index(self.shape(), "chunk")?;
        if chunks == 0 {
            bail!(
                "chunk: 0 chunks of shape {:?}; wants at least 1",
                self.shape()
            );
        }
        let size = self.dims()[dim];
        let chunks = chunks.min(size.max(1));
        let (short, longer) = (size / chunks, size % chunks);
        let starts = (0..chunks).map(|at| at * short + at.min(longer));
        starts
            .enumerate()
            .map(|(at, start)| self.narrow(dim, start, short + usize::from(at < longer)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn views_show_the_same_elements() -> Result<()> {
        let x = Tensor::arange(0u32, 24, &Device::Cpu)?.reshape((2, 3, 4))?;
        let view = x.transpose(0, 2)?.narrow(0, 1, 2)?;
        assert_eq!(
            view.to_vec3::<u32>()?,
            [[[1, 13], [5, 17], [9, 21]], [[2, 14], [6, 18], [10, 22]]]
        );
        assert_eq!(view.reshape((3, ()))?.to_vec2::<u32>()?[1], [9, 21, 2, 14]);
        assert_eq!(x.get(1)?.get(2)?.to_vec1::<u32>()?, [20, 21, 22, 23]);
        assert_eq!(x.flatten(1, 2)?.dims(), [2, 12]);
        assert_eq!(
            x.unsqueeze(3)?.unsqueeze(0)?.squeeze(4)?.dims(),
            [1, 2, 3, 4]
        );
        Ok(())
    }

    #[test]
    fn chunks_cover_the_dim() -> Result<()> {
        let x = Tensor::arange(0u32, 7, &Device::Cpu)?;
        let lens = |chunks| -> Result<Vec<usize>> {
            Ok(x.chunk(chunks, 0)?.iter().map(Tensor::elem_count).collect())
        };
        assert_eq!(lens(3)?, [3, 2, 2]);
        assert_eq!(lens(9)?, [1; 7]);
        assert!(x.chunk(0, 0).is_err());
        Ok(())
    }

    #[test]
    fn bad_views_are_errors() -> Result<()> {
        let x = Tensor::arange(0u32, 6, &Device::Cpu)?.reshape((2, 3))?;
        assert!(x.reshape((4, 2)).is_err());
        assert!(x.get(2).is_err());
        assert!(x.permute((0, 0)).is_err());
        assert!(x.get(0)?.t().is_err());
        assert!(x.broadcast_as((2, 2, 3)).is_ok());
        assert!(x.broadcast_as((2, 4)).is_err());
        Ok(())
    }
}
