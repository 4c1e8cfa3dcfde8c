//! A layer's keys and values in one piece, as a GPU's kernels want them.
//!
//! It grows to twice its size when it is full. A layer with a window then keeps only the positions
//! that later queries see, and grows no further than they need.

use tallow::{DType, Device, Tensor};

use super::{Kind, Pages};
use crate::error::Result;

/// Positions that it starts with.
const LEN_MIN: usize = 2048;

#[derive(Debug)]
pub(crate) struct Whole {
    /// `[1, kv_heads, room, head_dim]` each, once there is a position.
    tensors: Option<(Tensor, Tensor)>,
    /// The position of the first row.
    base: usize,
    room: usize,
    kind: Kind,
    device: Device,
}

impl Whole {
    pub(super) fn new(kind: Kind, device: &Device) -> Self {
        Self {
            tensors: None,
            base: 0,
            room: 0,
            kind,
            device: device.clone(),
        }
    }

    /// Keys, values, and the position of their first row.
    pub(crate) fn parts(&self) -> Option<(&Tensor, &Tensor, usize)> {
        let (k, v) = self.tensors.as_ref()?;
        Some((k, v, self.base))
    }

    /// The first position that there is no room for.
    pub(super) fn end(&self) -> usize {
        self.base + self.room
    }

    /// Makes room for positions from `len` to `end`; `true` if the rows moved.
    pub(super) fn reserve(&mut self, len: usize, end: usize, capacity: usize) -> Result<bool> {
        if end <= self.end() {
            return Ok(false);
        }
        let base = self.kind.first_seen(len).min(len);
        let mut room = LEN_MIN;
        while base + room < end {
            room *= 2;
        }
        let room = room.min(capacity - base);
        let new = || Tensor::zeros(self.kind.shape(room), DType::F16, &self.device);
        let new = (new()?, new()?);
        if let Some((k, v)) = &self.tensors
            && len > base
        {
            for (old, new) in [(k, &new.0), (v, &new.1)] {
                let kept = old.narrow(2, base - self.base, len - base)?;
                new.slice_set(&kept.contiguous()?, 2, 0)?;
            }
        }
        (self.tensors, self.base, self.room) = (Some(new), base, room);
        Ok(true)
    }

    /// Adds keys and values from position `start` on, for which there is room; gives all up to
    /// them.
    pub(super) fn append(&mut self, start: usize, k: &Tensor, v: &Tensor) -> Result<Pages> {
        let Some((keys, values)) = &self.tensors else {
            return Ok(Vec::new());
        };
        let (at, end) = (start - self.base, start - self.base + k.dim(2)?);
        keys.slice_set(&k.contiguous()?, 2, at)?;
        values.slice_set(&v.contiguous()?, 2, at)?;
        Ok(vec![(keys.narrow(2, 0, end)?, values.narrow(2, 0, end)?)])
    }

    pub(super) fn can_truncate(&self, len: usize) -> bool {
        self.kind.first_seen(len) >= self.base
    }

    /// Forgets positions; `true` if rows now stand for others.
    pub(super) fn truncate(&mut self, len: usize) -> bool {
        let is_moved = len == 0 && self.base > 0;
        if is_moved {
            self.base = 0;
        }
        is_moved
    }
}
