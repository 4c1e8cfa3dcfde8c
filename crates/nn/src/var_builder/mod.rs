//! Where a model gets its tensors: a builder is a place in a tree of names.
//!
//! `vb.pp("layers").pp(3).get((4, 4), "weight")` gives the tensor `layers.3.weight`, in the
//! builder's dtype and on its device. What is behind the builder, the backend, may read a file,
//! make variables of a [`VarMap`], or give zeros; most of them are in `backends.rs`, those that
//! rename or split in files of their own. A [`SimpleBackend`] is told how a new variable is to be
//! filled; other hints, such as which part of a tensor to read, take a [`Backend`] of one's own.

mod backends;
mod rename;
mod shard;

pub use backends::SafeTensorWithRouting;
pub use rename::{Rename, Renamer};
pub use shard::{Shard, ShardedSafeTensors, ShardedVarBuilder};

use crate::{Init, VarMap};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use tallow::npy::NpzTensors;
use tallow::pickle::PthTensors;
use tallow::safetensors::{BufferedSafetensors, MmapedSafetensors, SliceSafetensors};
use tallow::{DType, Device, Result, Shape, Tensor};

/// What is behind a builder, with hints of its own.
pub trait Backend: Send + Sync {
    /// What a caller may say about the tensor that it asks for.
    type Hints: Default;

    /// The tensor of a name, which has to have a shape.
    fn get(
        &self,
        s: Shape,
        name: &str,
        h: Self::Hints,
        dtype: DType,
        dev: &Device,
    ) -> Result<Tensor>;

    /// The tensor of a name, in the shape that it has.
    fn get_unchecked(&self, name: &str, dtype: DType, dev: &Device) -> Result<Tensor>;

    /// True if there is a tensor of this name.
    fn contains_tensor(&self, name: &str) -> bool;
}

/// What is behind a builder, where the only hint is how to fill a new tensor.
pub trait SimpleBackend: Send + Sync {
    /// The tensor of a name, which has to have a shape.
    fn get(&self, s: Shape, name: &str, h: Init, dtype: DType, dev: &Device) -> Result<Tensor>;

    /// The tensor of a name, in the shape that it has.
    fn get_unchecked(&self, name: &str, dtype: DType, dev: &Device) -> Result<Tensor>;

    /// True if there is a tensor of this name.
    fn contains_tensor(&self, name: &str) -> bool;
}

impl<'a> Backend for Box<dyn SimpleBackend + 'a> {
    type Hints = Init;

    fn get(&self, s: Shape, name: &str, h: Init, dtype: DType, dev: &Device) -> Result<Tensor> {
        self.as_ref().get(s, name, h, dtype, dev)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, dev: &Device) -> Result<Tensor> {
        self.as_ref().get_unchecked(name, dtype, dev)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.as_ref().contains_tensor(name)
    }
}

/// A place in a tree of names, over a backend. Clones share the backend.
pub struct VarBuilderArgs<'a, B: Backend> {
    backend: Arc<B>,
    device: Device,
    path: Vec<String>,
    /// The dtype of the tensors that it gives.
    pub dtype: DType,
    lifetime: PhantomData<&'a B>,
}

/// A place in a tree of names, over any [`SimpleBackend`].
pub type VarBuilder<'a> = VarBuilderArgs<'a, Box<dyn SimpleBackend + 'a>>;

impl<B: Backend> Clone for VarBuilderArgs<'_, B> {
    fn clone(&self) -> Self {
        self.at(self.path.clone())
    }
}

impl<B: Backend> std::fmt::Debug for VarBuilderArgs<'_, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "VarBuilder({:?}, {}, {:?})",
            self.prefix(),
            self.dtype,
            self.device
        )
    }
}

impl<B: Backend> VarBuilderArgs<'_, B> {
    /// The root of a backend.
    pub fn new_with_args(backend: B, dtype: DType, dev: &Device) -> Self {
        Self {
            backend: Arc::new(backend),
            device: dev.clone(),
            path: Vec::new(),
            dtype,
            lifetime: PhantomData,
        }
    }

    fn at(&self, path: Vec<String>) -> Self {
        Self {
            backend: Arc::clone(&self.backend),
            device: self.device.clone(),
            path,
            dtype: self.dtype,
            lifetime: PhantomData,
        }
    }

    /// The place, as names with dots between them.
    pub fn prefix(&self) -> String {
        self.path.join(".")
    }

    /// The builder at the root.
    pub fn root(&self) -> Self {
        self.at(Vec::new())
    }

    /// The builder at another place, counted from the root.
    pub fn set_prefix(&self, prefix: impl ToString) -> Self {
        self.at(vec![prefix.to_string()])
    }

    /// The builder one name further down.
    pub fn push_prefix<S: ToString>(&self, s: S) -> Self {
        let mut path = self.path.clone();
        path.push(s.to_string());
        self.at(path)
    }

    /// [`push_prefix`](Self::push_prefix), shorter.
    pub fn pp<S: ToString>(&self, s: S) -> Self {
        self.push_prefix(s)
    }

    /// Where the tensors that it gives are.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The dtype of the tensors that it gives.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The same place, giving tensors of another dtype.
    pub fn to_dtype(&self, dtype: DType) -> Self {
        self.clone().set_dtype(dtype)
    }

    /// The same place, giving tensors on another device.
    pub fn set_device(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// The same place, giving tensors of another dtype.
    pub fn set_dtype(self, dtype: DType) -> Self {
        Self { dtype, ..self }
    }

    /// A name under this place, from the root on.
    fn full_name(&self, name: &str) -> String {
        match self.path.is_empty() {
            true => name.to_string(),
            false => format!("{}.{name}", self.prefix()),
        }
    }

    /// True if there is a tensor of this name under this place; names with others below do not
    /// count.
    pub fn contains_tensor(&self, tensor_name: &str) -> bool {
        self.backend.contains_tensor(&self.full_name(tensor_name))
    }

    /// A tensor of this shape. Errors if there is none of this name, or it has another shape.
    pub fn get<S: Into<Shape>>(&self, s: S, name: &str) -> Result<Tensor> {
        self.get_with_hints(s, name, B::Hints::default())
    }

    /// [`get`](Self::get) with something to say to the backend.
    pub fn get_with_hints<S: Into<Shape>>(
        &self,
        s: S,
        name: &str,
        hints: B::Hints,
    ) -> Result<Tensor> {
        self.get_with_hints_dtype(s, name, hints, self.dtype)
    }

    /// [`get_with_hints`](Self::get_with_hints) in another dtype.
    pub fn get_with_hints_dtype<S: Into<Shape>>(
        &self,
        s: S,
        name: &str,
        hints: B::Hints,
        dtype: DType,
    ) -> Result<Tensor> {
        self.backend
            .get(s.into(), &self.full_name(name), hints, dtype, &self.device)
    }

    /// A tensor in the shape that it has.
    pub fn get_unchecked(&self, name: &str) -> Result<Tensor> {
        self.get_unchecked_dtype(name, self.dtype)
    }

    /// [`get_unchecked`](Self::get_unchecked) in another dtype.
    pub fn get_unchecked_dtype(&self, name: &str, dtype: DType) -> Result<Tensor> {
        self.backend
            .get_unchecked(&self.full_name(name), dtype, &self.device)
    }
}

impl<'a> VarBuilder<'a> {
    /// The root of a backend of one's own.
    pub fn from_backend(
        backend: Box<dyn SimpleBackend + 'a>,
        dtype: DType,
        device: Device,
    ) -> Self {
        Self::new_with_args(backend, dtype, &device)
    }

    fn over(backend: impl SimpleBackend + 'a, dtype: DType, device: &Device) -> Self {
        Self::new_with_args(Box::new(backend), dtype, device)
    }

    /// Zeros under every name, in every shape.
    pub fn zeros(dtype: DType, dev: &Device) -> Self {
        Self::over(backends::Zeros, dtype, dev)
    }

    /// The tensors of a map.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use tallow::{DType, Device, Tensor};
    /// use tallow_nn::VarBuilder;
    /// let tensors = HashMap::from([("a.b".to_string(), Tensor::new(&[1f32, 2.], &Device::Cpu)?)]);
    /// let builder = VarBuilder::from_tensors(tensors, DType::F64, &Device::Cpu);
    /// assert_eq!(builder.pp("a").get(2, "b")?.to_vec1::<f64>()?, [1., 2.]);
    /// assert!(builder.get(3, "a.b").is_err() && builder.get(2, "b").is_err());
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn from_tensors(ts: HashMap<String, Tensor>, dtype: DType, dev: &Device) -> Self {
        Self::over(ts, dtype, dev)
    }

    /// The variables of a map. A new name gives a new variable, filled as the hint says.
    pub fn from_varmap(varmap: &VarMap, dtype: DType, dev: &Device) -> Self {
        Self::over(varmap.clone(), dtype, dev)
    }

    /// The tensors of some safetensors files, which are mapped: only what is asked for is read.
    pub fn from_mmaped_safetensors<P: AsRef<Path>>(
        paths: &[P],
        dtype: DType,
        dev: &Device,
    ) -> Result<Self> {
        Ok(Self::over(MmapedSafetensors::multi(paths)?, dtype, dev))
    }

    /// The tensors of a safetensors file that was read whole.
    pub fn from_buffered_safetensors(data: Vec<u8>, dtype: DType, dev: &Device) -> Result<Self> {
        Ok(Self::over(BufferedSafetensors::new(data)?, dtype, dev))
    }

    /// The tensors of a safetensors file that was read whole and belongs to someone else.
    pub fn from_slice_safetensors(data: &'a [u8], dtype: DType, dev: &Device) -> Result<Self> {
        Ok(Self::over(SliceSafetensors::new(data)?, dtype, dev))
    }

    /// The arrays of a numpy file (`.npz`).
    pub fn from_npz<P: AsRef<Path>>(p: P, dtype: DType, dev: &Device) -> Result<Self> {
        Ok(Self::over(NpzTensors::new(p)?, dtype, dev))
    }

    /// The tensors of a PyTorch file (`.pth`).
    pub fn from_pth<P: AsRef<Path>>(p: P, dtype: DType, dev: &Device) -> Result<Self> {
        Ok(Self::over(PthTensors::new(p, None)?, dtype, dev))
    }

    /// The tensors under one key of a PyTorch file's dictionary.
    pub fn from_pth_with_state<P: AsRef<Path>>(
        p: P,
        dtype: DType,
        state_key: &str,
        dev: &Device,
    ) -> Result<Self> {
        Ok(Self::over(PthTensors::new(p, Some(state_key))?, dtype, dev))
    }

    /// A builder that asks this one for the name that `f` makes of a name.
    ///
    /// ```
    /// use tallow::{DType, Device};
    /// use tallow_nn::{VarBuilder, VarMap};
    /// let map = VarMap::new();
    /// let builder = VarBuilder::from_varmap(&map, DType::F32, &Device::Cpu);
    /// let renamed = builder.rename_f(|name| name.replace("old", "new"));
    /// renamed.get(1, "old.weight")?;
    /// assert!(map.data().lock().unwrap().contains_key("new.weight"));
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn rename_f<F: Fn(&str) -> String + Sync + Send + 'static>(self, f: F) -> Self {
        let f: Box<dyn Fn(&str) -> String + Sync + Send + 'static> = Box::new(f);
        self.rename(f)
    }

    /// A builder that asks this one for the name that a renamer makes of a name.
    pub fn rename<R: Renamer + Send + Sync + 'a>(self, renamer: R) -> Self {
        let (dtype, device) = (self.dtype, self.device.clone());
        Self::over(Rename::new(self, renamer), dtype, &device)
    }
}

#[cfg(test)]
mod tests;
