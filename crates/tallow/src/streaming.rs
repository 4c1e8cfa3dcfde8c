//! Streams: sequences that arrive piece by piece, and layers that keep what is left between pieces.

use crate::{Module, Result, Shape, Tensor};

pub use crate::shape::Dim;

/// A piece of a stream: a tensor, or nothing yet.
#[derive(Clone, Debug, Default)]
pub struct StreamTensor(Option<Tensor>);

impl From<Option<Tensor>> for StreamTensor {
    fn from(piece: Option<Tensor>) -> Self {
        Self(piece)
    }
}

impl From<Tensor> for StreamTensor {
    fn from(piece: Tensor) -> Self {
        Self(Some(piece))
    }
}

impl From<()> for StreamTensor {
    fn from((): ()) -> Self {
        Self(None)
    }
}

impl StreamTensor {
    /// Nothing.
    pub fn empty() -> Self {
        Self(None)
    }

    /// A tensor as a piece.
    pub fn from_tensor(tensor: Tensor) -> Self {
        Self(Some(tensor))
    }

    /// The shape, if there is anything.
    pub fn shape(&self) -> Option<&Shape> {
        self.0.as_ref().map(Tensor::shape)
    }

    /// The tensor, if there is one.
    pub fn as_option(&self) -> Option<&Tensor> {
        self.0.as_ref()
    }

    /// Becomes nothing.
    pub fn reset(&mut self) {
        self.0 = None;
    }

    /// This piece and the next, joined along a dimension.
    pub fn cat2<D: Dim>(&self, rhs: &Self, dim: D) -> Result<Self> {
        Ok(Self(match (&self.0, &rhs.0) {
            (Some(lhs), Some(rhs)) => Some(Tensor::cat(&[lhs, rhs], dim)?),
            (Some(only), None) | (None, Some(only)) => Some(only.clone()),
            (None, None) => None,
        }))
    }

    /// The size along a dimension; 0 for nothing.
    pub fn seq_len<D: Dim>(&self, dim: D) -> Result<usize> {
        self.0.as_ref().map_or(Ok(0), |piece| piece.dim(dim))
    }

    /// The first `lhs_len` along a dimension, or as many as there are, and the rest.
    pub fn split<D: Dim>(&self, dim: D, lhs_len: usize) -> Result<(Self, Self)> {
        let Some(piece) = &self.0 else {
            return Ok((Self::empty(), Self::empty()));
        };
        let dim = dim.to_index(piece.shape(), "split")?;
        let (size, len) = (piece.dims()[dim], lhs_len.min(piece.dims()[dim]));
        let part = |start: usize, len: usize| match len {
            0 => Ok(Self::empty()),
            _ => piece.narrow(dim, start, len).map(Self::from_tensor),
        };
        Ok((part(0, len)?, part(len, size - len)?))
    }

    /// `len` indexes of a dimension from `offset` on, or as many as there are.
    pub fn narrow<D: Dim>(&self, dim: D, offset: usize, len: usize) -> Result<Self> {
        let Some(piece) = &self.0 else {
            return Ok(Self::empty());
        };
        let dim = dim.to_index(piece.shape(), "narrow")?;
        let len = len.min(piece.dims()[dim].saturating_sub(offset));
        match len {
            0 => Ok(Self::empty()),
            _ => piece.narrow(dim, offset, len).map(Self::from_tensor),
        }
    }

    /// A layer's output for the piece; nothing for nothing.
    pub fn apply<M: Module>(&self, m: &M) -> Result<Self> {
        let out = self.0.as_ref().map(|piece| piece.apply(m));
        out.transpose().map(Self)
    }
}

/// A layer that takes a stream.
pub trait StreamingModule {
    /// What can be said after one more piece.
    fn step(&mut self, xs: &StreamTensor) -> Result<StreamTensor>;
    /// Forgets all that came before.
    fn reset_state(&mut self);
}

/// A function of two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each variant is the function of its name
pub enum BinOp {
    Add,
    Mul,
    Sub,
    Div,
}

/// A function of two streams whose pieces differ in length: what one is ahead waits for the other.
#[derive(Clone, Debug)]
pub struct StreamingBinOp {
    ahead: [StreamTensor; 2],
    /// The function.
    pub op: BinOp,
    /// The dimension along which the streams go on.
    pub dim: crate::D,
}

impl StreamingBinOp {
    /// Nothing has arrived yet.
    pub fn new(op: BinOp, dim: crate::D) -> Self {
        let ahead = [StreamTensor::empty(), StreamTensor::empty()];
        Self { ahead, op, dim }
    }

    /// Forgets all that came before.
    pub fn reset_state(&mut self) {
        self.ahead.iter_mut().for_each(StreamTensor::reset);
    }

    /// The function of two whole tensors.
    pub fn forward(&self, lhs: &Tensor, rhs: &Tensor) -> Result<Tensor> {
        match self.op {
            BinOp::Add => lhs.broadcast_add(rhs),
            BinOp::Mul => lhs.broadcast_mul(rhs),
            BinOp::Sub => lhs.broadcast_sub(rhs),
            BinOp::Div => lhs.broadcast_div(rhs),
        }
    }

    /// The function of what both streams have by now.
    pub fn step(&mut self, lhs: &StreamTensor, rhs: &StreamTensor) -> Result<StreamTensor> {
        let lhs = self.ahead[0].cat2(lhs, self.dim)?;
        let rhs = self.ahead[1].cat2(rhs, self.dim)?;
        let len = lhs.seq_len(self.dim)?.min(rhs.seq_len(self.dim)?);
        let (lhs, lhs_ahead) = lhs.split(self.dim, len)?;
        let (rhs, rhs_ahead) = rhs.split(self.dim, len)?;
        self.ahead = [lhs_ahead, rhs_ahead];
        match (lhs.as_option(), rhs.as_option()) {
            (Some(lhs), Some(rhs)) => self.forward(lhs, rhs).map(StreamTensor::from_tensor),
            _ => Ok(StreamTensor::empty()),
        }
    }
}

/// A layer without memory, over a stream.
#[derive(Clone, Debug)]
pub struct Map<T: Module>(T);

impl<T: Module> StreamingModule for Map<T> {
    fn step(&mut self, xs: &StreamTensor) -> Result<StreamTensor> {
        xs.apply(&self.0)
    }
    fn reset_state(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{D, Device};

    fn piece(values: &[f32]) -> StreamTensor {
        Tensor::new(values, &Device::Cpu).unwrap().into()
    }

    #[test]
    fn what_is_ahead_waits() -> Result<()> {
        let mut sum = StreamingBinOp::new(BinOp::Add, D::Minus1);
        let first = sum.step(&piece(&[1., 2., 3.]), &piece(&[10.]))?;
        assert_eq!(first.as_option().unwrap().to_vec1::<f32>()?, [11.]);
        assert!(sum.step(&piece(&[4.]), &().into())?.as_option().is_none());
        let last = sum.step(&().into(), &piece(&[20., 30.]))?;
        assert_eq!(last.as_option().unwrap().to_vec1::<f32>()?, [22., 33.]);
        sum.reset_state();
        let fresh = sum.step(&piece(&[5.]), &piece(&[5.]))?;
        assert_eq!(fresh.as_option().unwrap().to_vec1::<f32>()?, [10.]);
        Ok(())
    }

    #[test]
    fn parts_end_where_the_stream_does() -> Result<()> {
        let stream = piece(&[1., 2., 3.]);
        let (front, rest) = stream.split(0, 5)?;
        assert_eq!((front.seq_len(0)?, rest.seq_len(0)?), (3, 0));
        assert_eq!(stream.narrow(0, 2, 9)?.seq_len(0)?, 1);
        assert!(stream.narrow(0, 3, 1)?.as_option().is_none());
        assert_eq!(stream.cat2(&stream, 0)?.seq_len(0)?, 6);
        Ok(())
    }
}
