//! PyTorch's files: what `torch.save` writes of a dictionary of tensors.
//!
//! A pth file is a zip archive with a pickle. The pickle is read as data, and no code of it runs.
//! Tensors are strided views in the file and come out row-major, but for views that repeat
//! elements (`expand`), which stay such views.

use std::collections::HashMap;
use std::path::Path;

use crate::elements;
use crate::{DType, Layout, Result, Shape, Tensor};
use tallow_formats::pth::{self, File};

/// What a file says of a tensor.
#[derive(Clone, Debug)]
pub struct TensorInfo {
    /// The name: its key in the dictionary.
    pub name: String,
    /// The dtype of the tensor once it is read.
    pub dtype: DType,
    /// Shape, strides and offset in the storage.
    pub layout: Layout,
    /// The entry of the archive that holds the storage.
    pub path: String,
    /// Elements of the storage.
    pub storage_size: usize,
}

impl From<&pth::TensorInfo> for TensorInfo {
    fn from(info: &pth::TensorInfo) -> Self {
        let shape = Shape::from(info.shape.clone());
        Self {
            name: info.name.clone(),
            dtype: elements::dtype_of(info.element),
            layout: Layout::new(shape, info.strides.clone(), info.offset),
            path: info.storage.clone(),
            storage_size: info.storage_len,
        }
    }
}

/// The tensors of a pth file, read one by one.
///
/// ```no_run
/// use tallow::pickle::PthTensors;
/// let file = PthTensors::new("model.pth", Some("state_dict"))?;
/// let weight = file.get("fc.weight")?;
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Debug)]
pub struct PthTensors {
    file: File,
    infos: HashMap<String, TensorInfo>,
}

impl PthTensors {
    /// Opens a file and reads its dictionary, or the one under `key` in it.
    pub fn new<P: AsRef<Path>>(path: P, key: Option<&str>) -> Result<Self> {
        let file = File::open(path, key)?;
        let infos = file
            .tensors()
            .map(|info| (info.name.clone(), info.into()))
            .collect();
        Ok(Self { file, infos })
    }

    /// What the file says of each tensor that can be read, by name.
    pub fn tensor_infos(&self) -> &HashMap<String, TensorInfo> {
        &self.infos
    }

    /// The tensor of this name; `None` if there is none. Errors if it cannot be read.
    pub fn get(&self, name: &str) -> Result<Option<Tensor>> {
        match self.file.tensor(name) {
            Ok(_) => tensor(&self.file, name).map(Some),
            Err(tallow_formats::Error::MissingTensor { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn tensor(file: &File, name: &str) -> Result<Tensor> {
    file.with_span(name, |info, span| {
        let shape = Shape::from(info.shape.clone());
        let layout = Layout::new(shape, info.strides.clone(), 0);
        elements::strided(info.element, span, layout)
    })?
}

/// Reads what a file says of its tensors, or of those of the dictionary under `key`. `verbose` is
/// there for compatibility: nothing is printed.
///
/// # Errors
/// The file system's refusal, a broken file, or a tensor that cannot be read.
pub fn read_pth_tensor_info<P: AsRef<Path>>(
    file: P,
    verbose: bool,
    key: Option<&str>,
) -> Result<Vec<TensorInfo>> {
    let _ = verbose;
    let file = File::open(file, key)?;
    check_all(&file)?;
    Ok(file.tensors().map(TensorInfo::from).collect())
}

/// Reads all tensors of a file.
///
/// # Errors
/// The file system's refusal, a broken file, or a tensor that cannot be read (a dtype that tensors
/// do not have, a view past the end of its storage); [`PthTensors`] reads the others.
pub fn read_all<P: AsRef<Path>>(path: P) -> Result<Vec<(String, Tensor)>> {
    read_all_with_key(path, None)
}

/// As [`read_all`], of the dictionary under `key` in the one that the file is.
pub fn read_all_with_key<P: AsRef<Path>>(
    path: P,
    key: Option<&str>,
) -> Result<Vec<(String, Tensor)>> {
    let file = File::open(path, key)?;
    check_all(&file)?;
    let read = |info: &pth::TensorInfo| Ok((info.name.clone(), tensor(&file, &info.name)?));
    file.tensors().map(read).collect()
}

/// An error if a tensor cannot be used: the first one's.
fn check_all(file: &File) -> Result<()> {
    for name in file.unusable() {
        file.tensor(name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What PyTorch wrote; `tallow-formats` has the program that made it.
    fn golden(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../formats/tests/golden")
            .join(name)
    }

    #[test]
    fn views_come_out_right() -> Result<()> {
        let file = PthTensors::new(golden("state.pth"), None)?;
        let get = |name: &str| Ok::<_, crate::Error>(file.get(name)?.expect(name));
        let whole = get("whole")?;
        assert_eq!(whole.to_vec2::<f32>()?[2], [8., 9., 10., 11.]);
        assert_eq!(
            get("transposed")?.to_vec2::<f32>()?,
            whole.t()?.to_vec2::<f32>()?
        );
        assert_eq!(
            get("columns")?.to_vec2::<f32>()?,
            [[1., 2.], [5., 6.], [9., 10.]]
        );
        assert_eq!(get("last_row")?.to_vec1::<f32>()?, [8., 9., 10., 11.]);
        assert_eq!(get("scalar")?.to_scalar::<i64>()?, 3);
        assert_eq!(get("empty")?.dims(), [0, 3]);
        // A million elements over one: a view still, which takes no memory.
        let expanded = get("expanded")?;
        assert_eq!(
            (expanded.dims(), expanded.stride()),
            (&[1000, 1000][..], &[0, 0][..])
        );
        assert!(file.get("none")?.is_none());
        assert!(file.get("complex").is_err() && read_all(golden("state.pth")).is_err());
        let info = &file.tensor_infos()["columns"];
        assert_eq!(
            (info.layout.stride(), info.layout.start_offset()),
            (&[4, 1][..], 1)
        );
        Ok(())
    }

    #[test]
    fn every_dtype_keeps_its_values() -> Result<()> {
        let file = PthTensors::new(golden("state.pth"), None)?;
        for name in [
            "bool",
            "uint8",
            "int8",
            "int16",
            "int32",
            "float16",
            "bfloat16",
            "float64",
            "uint16",
            "uint32",
            "uint64",
            "float8_e4m3fn",
            "float8_e5m2",
        ] {
            let tensor = file.get(name)?.expect(name);
            assert_eq!(tensor.dtype(), file.tensor_infos()[name].dtype);
            let values = tensor.to_dtype(DType::F64)?.to_vec1::<f64>()?;
            assert_eq!(values[..2], [0., 1.], "{name}");
        }
        Ok(())
    }

    #[test]
    fn a_key_picks_a_dictionary_within() -> Result<()> {
        let tensors = read_all_with_key(golden("nested.pth"), Some("model"))?;
        assert_eq!(
            (tensors[0].0.as_str(), tensors[0].1.dims()),
            ("w", &[2, 4][..])
        );
        let infos = read_pth_tensor_info(golden("nested.pth"), false, Some("model"))?;
        assert_eq!((infos[0].storage_size, infos[0].dtype), (12, DType::F32));
        Ok(())
    }
}
