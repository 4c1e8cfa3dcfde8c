//! What builders read: maps of tensors, files, zeros. Each looks a name up, checks the shape, moves
//! the tensor to the device and casts it.

use super::SimpleBackend;
use crate::Init;
use crate::var_map::check_shape;
use std::collections::HashMap;
use tallow::npy::NpzTensors;
use tallow::pickle::PthTensors;
use tallow::safetensors::{BufferedSafetensors, MmapedSafetensors, SliceSafetensors};
use tallow::{DType, Device, Error, Result, Shape, Tensor, bail};

/// Zeros under every name.
pub(super) struct Zeros;

impl SimpleBackend for Zeros {
    fn get(&self, s: Shape, _name: &str, _h: Init, dtype: DType, dev: &Device) -> Result<Tensor> {
        Tensor::zeros(s, dtype, dev)
    }

    fn get_unchecked(&self, name: &str, _dtype: DType, _dev: &Device) -> Result<Tensor> {
        bail!("get_unchecked: {name:?}: zeros have no shape of their own; call get with one")
    }

    fn contains_tensor(&self, _name: &str) -> bool {
        true
    }
}

fn not_found(name: &str) -> Error {
    Error::CannotFindTensor {
        path: name.to_string(),
    }
}

/// Safetensors files in memory, each name routed to the file that has it.
pub struct SafeTensorWithRouting<'a> {
    routes: HashMap<String, usize>,
    files: Vec<SliceSafetensors<'a>>,
}

impl std::fmt::Debug for SafeTensorWithRouting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (tensors, files) = (self.routes.len(), self.files.len());
        write!(
            f,
            "SafeTensorWithRouting({tensors} tensors in {files} files)"
        )
    }
}

impl<'a> SafeTensorWithRouting<'a> {
    /// The tensors of some files. Of a name that several have, the last one's is given.
    pub fn new(files: Vec<SliceSafetensors<'a>>) -> Self {
        let names = |(at, file): (usize, &SliceSafetensors<'a>)| {
            let tensors = file.tensors().into_iter();
            tensors.map(|(name, _)| (name, at)).collect::<Vec<_>>()
        };
        let routes = files.iter().enumerate().flat_map(names).collect();
        Self { routes, files }
    }

    fn load(&self, name: &str, device: &Device) -> Result<Tensor> {
        let &at = self.routes.get(name).ok_or_else(|| not_found(name))?;
        self.files[at].load(name, device)
    }
}

/// A backend that is a lookup: how to load a tensor by its name, and whether there is one.
macro_rules! lookup {
    ($type:ty, |$self:ident, $name:ident, $device:ident| $load:expr, $contains:expr) => {
        impl SimpleBackend for $type {
            fn get(
                &self,
                s: Shape,
                name: &str,
                _h: Init,
                dtype: DType,
                dev: &Device,
            ) -> Result<Tensor> {
                let tensor = self.get_unchecked(name, dtype, dev)?;
                check_shape(name, &s, &tensor)?;
                Ok(tensor)
            }

            fn get_unchecked(
                &$self,
                $name: &str,
                dtype: DType,
                $device: &Device,
            ) -> Result<Tensor> {
                $load?.to_device($device)?.to_dtype(dtype)
            }

            fn contains_tensor(&$self, $name: &str) -> bool {
                $contains
            }
        }
    };
}

lookup!(
    HashMap<String, Tensor>,
    |self, name, device| HashMap::get(self, name).ok_or_else(|| not_found(name)),
    self.contains_key(name)
);
lookup!(
    MmapedSafetensors,
    |self, name, device| self.load(name, device),
    MmapedSafetensors::get(self, name).is_ok()
);
lookup!(
    BufferedSafetensors,
    |self, name, device| self.load(name, device),
    BufferedSafetensors::get(self, name).is_ok()
);
lookup!(
    SliceSafetensors<'_>,
    |self, name, device| self.load(name, device),
    SliceSafetensors::get(self, name).is_ok()
);
lookup!(
    SafeTensorWithRouting<'_>,
    |self, name, device| self.load(name, device),
    self.routes.contains_key(name)
);
lookup!(
    NpzTensors,
    |self, name, device| NpzTensors::get(self, name)?.ok_or_else(|| not_found(name)),
    NpzTensors::get_shape_and_dtype(self, name).is_ok()
);
lookup!(
    PthTensors,
    |self, name, device| PthTensors::get(self, name)?.ok_or_else(|| not_found(name)),
    self.tensor_infos().contains_key(name)
);
