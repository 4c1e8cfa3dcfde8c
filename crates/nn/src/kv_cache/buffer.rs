//! A tensor that is written in place, and copied first if a clone still has it.

use std::sync::Arc;
use tallow::{Result, Tensor};

/// The tensor, once there is one.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    data: Option<Tensor>,
    /// Shared by the clones that may have the same tensor.
    sharers: Arc<()>,
}

impl Buffer {
    pub(super) fn new(data: Tensor) -> Self {
        Self {
            data: Some(data),
            sharers: Arc::default(),
        }
    }

    pub(super) fn data(&self) -> &Option<Tensor> {
        &self.data
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The tensor, this buffer's alone, with at least `size` places along a dimension; new places
    /// are zeros. `like` gives everything else of the shape.
    pub(super) fn reserve(&mut self, like: &Tensor, dim: usize, size: usize) -> Result<&Tensor> {
        let present = match &self.data {
            Some(data) => data.dim(dim)?,
            None => 0,
        };
        if present < size {
            let mut dims = like.dims().to_vec();
            dims[dim] = size - present;
            let more = Tensor::zeros(dims, like.dtype(), like.device())?;
            *self = Self::new(match &self.data {
                Some(data) => Tensor::cat(&[data, &more], dim)?,
                None => more,
            });
        }
        self.alone(like)
    }

    /// The tensor, this buffer's alone; one like `like` if there is none.
    fn alone(&mut self, like: &Tensor) -> Result<&Tensor> {
        let shared = Arc::get_mut(&mut self.sharers).is_none();
        match &self.data {
            Some(data) if shared => *self = Self::new(data.copy()?),
            None => *self = Self::new(like.zeros_like()?),
            Some(_) => {}
        }
        Ok(self
            .data
            .as_ref()
            .expect("it was just made if there was none"))
    }

    /// Writes slices along a dimension. A tensor that gradients flow through is not written in
    /// place.
    pub(super) fn write(&mut self, src: &Tensor, dim: usize, at: usize) -> Result<()> {
        let data = self.alone(src)?;
        if src.track_op() || data.track_op() {
            *self = Self::new(data.slice_scatter(src, dim, at)?);
            return Ok(());
        }
        data.slice_set(src, dim, at)
    }
}
