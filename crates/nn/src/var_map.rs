//! Variables by name: what a model trains, saved and loaded as safetensors.

use crate::Init;
use crate::var_builder::SimpleBackend;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tallow::safetensors::{self, MmapedSafetensors};
use tallow::{DType, Device, Error, Result, Shape, Tensor, Var};

type Variables = HashMap<String, Var>;

/// Variables by name. Clones share them.
///
/// ```
/// use tallow::{DType, Device};
/// use tallow_nn::{VarBuilder, VarMap};
/// let variables = VarMap::new();
/// let builder = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
/// builder.pp("layer").get(3, "bias")?;
/// assert_eq!(variables.all_vars().len(), 1);
/// assert!(variables.data().lock().unwrap().contains_key("layer.bias"));
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct VarMap {
    data: Arc<Mutex<Variables>>,
}

impl VarMap {
    /// A map without variables.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Variables> {
        // No entry is ever half written, so a panic elsewhere leaves the map whole.
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All variables, in the order of their names.
    pub fn all_vars(&self) -> Vec<Var> {
        let variables = self.lock();
        let mut named: Vec<(&String, &Var)> = variables.iter().collect();
        named.sort_by_key(|(name, _)| *name);
        named.into_iter().map(|(_, var)| var.clone()).collect()
    }

    /// Writes all variables into a safetensors file.
    pub fn save<P: AsRef<Path>>(&self, path: P) -> Result<()> {
        let variables = self.lock();
        let detached = |(name, var): (&String, &Var)| (name.clone(), var.as_detached_tensor());
        let tensors: HashMap<String, Tensor> = variables.iter().map(detached).collect();
        safetensors::save(&tensors, path)
    }

    /// Sets every variable to the values that a safetensors file has under its name. Errors if the
    /// file lacks one, or has it in another shape; what the file has beyond the map is left out.
    pub fn load<P: AsRef<Path>>(&mut self, path: P) -> Result<()> {
        let path = path.as_ref();
        let file = MmapedSafetensors::new(path)?;
        for (name, var) in self.lock().iter() {
            let set = || var.set(&file.load(name, var.device())?.to_dtype(var.dtype())?);
            set().map_err(|error| error.context(format!("load: {name}")).with_path(path))?;
        }
        Ok(())
    }

    /// Sets a variable to a tensor's values. Errors if there is no such variable, or its shape or
    /// dtype differs.
    pub fn set_one<K: AsRef<str>, V: AsRef<Tensor>>(&mut self, name: K, value: V) -> Result<()> {
        let name = name.as_ref();
        let variables = self.lock();
        let Some(var) = variables.get(name) else {
            let path = name.to_string();
            return Err(Error::CannotFindTensor { path });
        };
        var.set(value.as_ref())
            .map_err(|error| error.context(format!("set {name}")))
    }

    /// [`set_one`](Self::set_one) for each of some names. After an error those before it are set.
    pub fn set<I, K, V>(&mut self, mut iter: I) -> Result<()>
    where
        I: Iterator<Item = (K, V)>,
        K: AsRef<str>,
        V: AsRef<Tensor>,
    {
        iter.try_for_each(|(name, value)| self.set_one(name, value))
    }

    /// The variable of a name, as a tensor; a new one if there is none. Errors if it has another
    /// shape.
    pub fn get<S: Into<Shape>>(
        &self,
        shape: S,
        path: &str,
        init: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let shape = shape.into();
        let mut variables = self.lock();
        if let Some(var) = variables.get(path) {
            check_shape(path, &shape, var)?;
            return Ok(var.as_tensor().clone());
        }
        let var = init.var(shape, dtype, device)?;
        let tensor = var.as_tensor().clone();
        variables.insert(path.to_string(), var);
        Ok(tensor)
    }

    /// The variables themselves.
    pub fn data(&self) -> &Mutex<HashMap<String, Var>> {
        &self.data
    }
}

/// Errors unless a tensor has the shape that was asked for under its name.
pub(crate) fn check_shape(name: &str, expected: &Shape, tensor: &Tensor) -> Result<()> {
    if tensor.shape() == expected {
        return Ok(());
    }
    Err(Error::UnexpectedShape {
        msg: format!("tensor {name:?}"),
        expected: expected.clone(),
        got: tensor.shape().clone(),
    })
}

impl SimpleBackend for VarMap {
    fn get(&self, s: Shape, name: &str, h: Init, dtype: DType, dev: &Device) -> Result<Tensor> {
        VarMap::get(self, s, name, h, dtype, dev)
    }

    /// The variable, if there is one: without a shape none can be made.
    fn get_unchecked(&self, name: &str, _dtype: DType, _dev: &Device) -> Result<Tensor> {
        let found = self.lock().get(name).map(|var| var.as_tensor().clone());
        found.ok_or_else(|| Error::CannotFindTensor {
            path: name.to_string(),
        })
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.lock().contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{VarBuilder, init};

    fn cpu() -> &'static Device {
        &Device::Cpu
    }

    #[test]
    fn a_name_is_one_variable() -> Result<()> {
        let map = VarMap::new();
        let a = map.get(2, "a", init::ONE, DType::F32, cpu())?;
        let again = map.clone().get(2, "a", init::ZERO, DType::F32, cpu())?;
        assert_eq!(again.to_vec1::<f32>()?, [1., 1.]);
        map.all_vars()[0].set(&Tensor::new(&[5f32, 6.], cpu())?)?;
        assert_eq!(a.to_vec1::<f32>()?, [5., 6.]);
        let error = map.get(3, "a", init::ONE, DType::F32, cpu()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tensor \"a\": unexpected shape: [2]; expected [3]"
        );
        Ok(())
    }

    #[test]
    fn values_are_set_by_name() -> Result<()> {
        let mut map = VarMap::new();
        map.get(2, "a", init::ONE, DType::F32, cpu())?;
        map.get((), "b", init::ONE, DType::F32, cpu())?;
        let (a, b) = (Tensor::new(&[3f32, 4.], cpu())?, Tensor::new(7f32, cpu())?);
        map.set([("a", &a), ("b", &b)].into_iter())?;
        assert_eq!(map.all_vars()[0].to_vec1::<f32>()?, [3., 4.]);
        assert_eq!(map.all_vars()[1].to_scalar::<f32>()?, 7.);
        assert!(
            matches!(map.set_one("c", &a), Err(Error::CannotFindTensor { path }) if path == "c")
        );
        assert!(map.set_one("a", &b).is_err());
        assert!(map.set_one("b", Tensor::new(7f64, cpu())?).is_err());
        Ok(())
    }

    #[test]
    fn files_hold_all_variables() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("model.safetensors");
        let saved = VarMap::new();
        for (name, dtype) in [
            ("x.f32", DType::F32),
            ("x.bf16", DType::BF16),
            ("y", DType::F64),
        ] {
            saved.get((2, 3), name, Init::Const(2.5), dtype, cpu())?;
        }
        saved.save(&path)?;
        let mut loaded = VarMap::new();
        let x = loaded.get((2, 3), "x.bf16", init::ZERO, DType::BF16, cpu())?;
        loaded.get((2, 3), "y", init::ZERO, DType::F32, cpu())?;
        loaded.load(&path)?;
        for var in loaded.all_vars() {
            assert_eq!(var.to_dtype(DType::F32)?.to_vec2::<f32>()?, [[2.5; 3]; 2]);
        }
        assert_eq!(x.to_dtype(DType::F32)?.to_vec2::<f32>()?, [[2.5; 3]; 2]);
        loaded.get((2, 3), "z", init::ZERO, DType::F32, cpu())?;
        let error = loaded.load(&path).unwrap_err().to_string();
        assert!(
            error.contains('z') && error.contains("model.safetensors"),
            "{error}"
        );
        let mut other = VarMap::new();
        other.get(6, "y", init::ZERO, DType::F64, cpu())?;
        assert!(other.load(&path).is_err() && other.load(folder.path().join("none")).is_err());
        Ok(())
    }

    #[test]
    fn a_builder_over_a_map_makes_what_it_is_asked_for() -> Result<()> {
        let map = VarMap::new();
        let vb = VarBuilder::from_varmap(&map, DType::F32, cpu());
        assert!(!vb.contains_tensor("a") && vb.get_unchecked("a").is_err());
        vb.pp("layer").get_with_hints(2, "a", init::ONE)?;
        assert!(vb.contains_tensor("layer.a") && !vb.contains_tensor("layer"));
        assert_eq!(vb.get_unchecked("layer.a")?.to_vec1::<f32>()?, [1., 1.]);
        assert!(vb.get(3, "layer.a").is_err());
        assert!(map.data().lock().unwrap()["layer.a"].is_variable());
        Ok(())
    }
}
