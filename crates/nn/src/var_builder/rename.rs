//! A backend that asks a builder for other names than it is asked for.

use super::{SimpleBackend, VarBuilder};
use crate::Init;
use std::borrow::Cow;
use tallow::{DType, Device, Result, Shape, Tensor};

/// What makes another name of a name.
pub trait Renamer {
    /// The name to ask the inner builder for.
    fn rename(&self, v: &str) -> Cow<'_, str>;
}

impl Renamer for Box<dyn Fn(&str) -> String + Sync + Send> {
    fn rename(&self, v: &str) -> Cow<'_, str> {
        Cow::Owned(self(v))
    }
}

/// A builder behind a renamer. Names are from the root of the outer builder on, and are looked up
/// under the place of the inner one.
pub struct Rename<'a, R: Renamer> {
    inner: VarBuilder<'a>,
    renamer: R,
}

impl<R: Renamer> std::fmt::Debug for Rename<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rename({:?})", self.inner)
    }
}

impl<'a, R: Renamer> Rename<'a, R> {
    /// A builder behind a renamer.
    pub fn new(inner: VarBuilder<'a>, renamer: R) -> Self {
        Self { inner, renamer }
    }

    fn on(&self, device: &Device) -> VarBuilder<'a> {
        self.inner.clone().set_device(device.clone())
    }
}

impl<R: Renamer + Sync + Send> SimpleBackend for Rename<'_, R> {
    fn get(&self, s: Shape, name: &str, h: Init, dtype: DType, dev: &Device) -> Result<Tensor> {
        let name = self.renamer.rename(name);
        self.on(dev).get_with_hints_dtype(s, &name, h, dtype)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, dev: &Device) -> Result<Tensor> {
        self.on(dev)
            .get_unchecked_dtype(&self.renamer.rename(name), dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.inner.contains_tensor(&self.renamer.rename(name))
    }
}
