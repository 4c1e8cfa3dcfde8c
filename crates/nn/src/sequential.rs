//! Layers one after the other.

use tallow::{Module, Result, Tensor};

/// A chain of layers, each fed with what the one before it gives.
pub struct Sequential {
    layers: Vec<Box<dyn Module>>,
}

impl std::fmt::Debug for Sequential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sequential({} layers)", self.layers.len())
    }
}

/// A chain without layers; it gives back its input.
///
/// ```
/// use tallow::{Device, Tensor};
/// use tallow_nn::{Activation, Linear, Module, seq};
/// let weight = Tensor::new(&[[1f32, -1.]], &Device::Cpu)?;
/// let model = seq().add(Linear::new(weight, None)).add(Activation::Relu);
/// let y = model.forward(&Tensor::new(&[[2f32, 5.], [5., 2.]], &Device::Cpu)?)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[0.], [3.]]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn seq() -> Sequential {
    Sequential { layers: Vec::new() }
}

impl Sequential {
    /// The number of layers.
    pub fn len(&self) -> i64 {
        self.layers.len() as i64
    }

    /// True if there are no layers.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// With one more layer at the end.
    #[allow(clippy::should_implement_trait)] // the interface's name
    pub fn add<M: Module + 'static>(mut self, layer: M) -> Self {
        self.layers.push(Box::new(layer));
        self
    }

    /// With a closure as one more layer at the end.
    pub fn add_fn<F>(self, f: F) -> Self
    where
        F: Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    {
        self.add(crate::func(f))
    }

    /// The output of every layer, in their order.
    pub fn forward_all(&self, xs: &Tensor) -> Result<Vec<Tensor>> {
        let mut outputs: Vec<Tensor> = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            outputs.push(layer.forward(outputs.last().unwrap_or(xs))?);
        }
        Ok(outputs)
    }
}

impl Module for Sequential {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let mut layers = self.layers.iter();
        layers.try_fold(xs.clone(), |x, layer| layer.forward(&x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallow::Device;

    #[test]
    fn layers_run_in_the_order_in_which_they_were_added() -> Result<()> {
        let model = seq()
            .add_fn(|x| x.affine(2.0, 0.0))
            .add_fn(|x| x.affine(1.0, 1.0));
        let x = Tensor::new(3f32, &Device::Cpu)?;
        assert_eq!(model.forward(&x)?.to_scalar::<f32>()?, 7.0);
        let all = model.forward_all(&x)?;
        assert_eq!(all[0].to_scalar::<f32>()?, 6.0);
        assert_eq!(all[1].to_scalar::<f32>()?, 7.0);
        assert_eq!((model.len(), model.is_empty()), (2, false));
        assert_eq!(seq().forward(&x)?.to_scalar::<f32>()?, 3.0);
        assert!(seq().is_empty() && seq().forward_all(&x)?.is_empty());
        Ok(())
    }
}
