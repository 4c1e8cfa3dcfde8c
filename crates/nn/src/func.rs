//! Layers made of closures.

use std::sync::Arc;
use tallow::{Module, ModuleT, Result, Tensor};

type Closure<'a> = dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'a;
type ClosureT<'a> = dyn Fn(&Tensor, bool) -> Result<Tensor> + Send + Sync + 'a;

/// A layer that is a closure. Clones share it.
#[derive(Clone)]
pub struct Func<'a>(Arc<Closure<'a>>);

impl std::fmt::Debug for Func<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Func")
    }
}

impl<'a> Func<'a> {
    /// A layer of a closure.
    pub fn new<F>(f: F) -> Self
    where
        F: Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'a,
    {
        Self(Arc::new(f))
    }
}

impl Module for Func<'_> {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        (self.0)(xs)
    }
}

/// A layer of a closure.
///
/// ```
/// use tallow::{Device, Tensor};
/// use tallow_nn::{Module, func};
/// let double = func(|x| x.affine(2.0, 0.0));
/// let y = double.forward(&Tensor::new(&[1f32, 2.], &Device::Cpu)?)?;
/// assert_eq!(y.to_vec1::<f32>()?, [2., 4.]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn func<'a, F>(f: F) -> Func<'a>
where
    F: Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'a,
{
    Func::new(f)
}

/// A layer that is a closure which is also told whether the layer is being trained.
#[derive(Clone)]
pub struct FuncT<'a>(Arc<ClosureT<'a>>);

impl std::fmt::Debug for FuncT<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FuncT")
    }
}

impl<'a> FuncT<'a> {
    /// A layer of a closure.
    pub fn new<F>(f: F) -> Self
    where
        F: Fn(&Tensor, bool) -> Result<Tensor> + Send + Sync + 'a,
    {
        Self(Arc::new(f))
    }
}

impl ModuleT for FuncT<'_> {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        (self.0)(xs, train)
    }
}

/// A layer of a closure that is also told whether the layer is being trained.
pub fn func_t<'a, F>(f: F) -> FuncT<'a>
where
    F: Fn(&Tensor, bool) -> Result<Tensor> + Send + Sync + 'a,
{
    FuncT::new(f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallow::Device;

    #[test]
    fn a_closure_hears_whether_it_is_trained() -> Result<()> {
        let offset = 3.0;
        let layer = func_t(move |x, train| x.affine(1.0, if train { offset } else { 0.0 }));
        let x = Tensor::new(1f32, &Device::Cpu)?;
        assert_eq!(layer.forward_t(&x, true)?.to_scalar::<f32>()?, 4.0);
        assert_eq!(layer.clone().forward_t(&x, false)?.to_scalar::<f32>()?, 1.0);
        assert_eq!(
            format!("{layer:?} {:?}", func(|x| Ok(x.clone()))),
            "FuncT Func"
        );
        Ok(())
    }
}
