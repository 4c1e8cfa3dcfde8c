//! Parts of tensors, for models that are spread over several processes.

use super::{Backend, VarBuilderArgs};
use std::path::Path;
use tallow::safetensors::MmapedSafetensors;
use tallow::{DType, Device, Result, Shape, Tensor, bail};

/// Safetensors files of which tensors are read in parts.
pub struct ShardedSafeTensors(MmapedSafetensors);

impl std::fmt::Debug for ShardedSafeTensors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShardedSafeTensors")
    }
}

/// A builder whose hints say which part of a tensor is wanted.
pub type ShardedVarBuilder<'a> = VarBuilderArgs<'a, ShardedSafeTensors>;

impl ShardedSafeTensors {
    /// The tensors of some safetensors files, which are mapped.
    pub fn var_builder<P: AsRef<Path>>(
        paths: &[P],
        dtype: DType,
        dev: &Device,
    ) -> Result<ShardedVarBuilder<'static>> {
        let files = Self(MmapedSafetensors::multi(paths)?);
        Ok(VarBuilderArgs::new_with_args(files, dtype, dev))
    }
}

/// A part of a tensor: the `rank`-th of `world_size` equal ones along a dimension. All of it by
/// default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The dimension that is cut.
    pub dim: usize,
    /// Which part.
    pub rank: usize,
    /// How many parts there are.
    pub world_size: usize,
}

impl Default for Shard {
    fn default() -> Self {
        Self {
            dim: 0,
            rank: 0,
            world_size: 1,
        }
    }
}

impl Backend for ShardedSafeTensors {
    type Hints = Shard;

    /// The part of a tensor. The shape is not looked at: callers name the whole's, the part's, or
    /// none. Errors if the parts would not be equal.
    fn get(
        &self,
        _target_shape: Shape,
        path: &str,
        h: Shard,
        dtype: DType,
        dev: &Device,
    ) -> Result<Tensor> {
        let Shard {
            dim,
            rank,
            world_size,
        } = h;
        if world_size == 1 {
            return self.0.load(path, dev)?.to_dtype(dtype);
        }
        let whole = self.0.load(path, &Device::Cpu)?;
        let size = whole.dim(dim)?;
        if rank >= world_size || !size.is_multiple_of(world_size) {
            bail!(
                "shard: part {rank} of {world_size} along dim {dim} of {path:?} {:?}; wants a \
                 multiple of the parts, and a part below their number",
                whole.shape()
            );
        }
        let part = size / world_size;
        // A copy, so that the rest of the tensor is given back.
        let part = whole.narrow(dim, rank * part, part)?.force_contiguous()?;
        part.to_device(dev)?.to_dtype(dtype)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, dev: &Device) -> Result<Tensor> {
        self.0.load(name, dev)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.0.get(name).is_ok()
    }
}
