//! safetensors: files of named tensors, mapped, buffered or as a slice.
//!
//! The types of the `safetensors` crate stand in the interface; headers are parsed by
//! [`tallow_formats::safetensors`], which refuses names that come twice and sizes that overflow.
//! Mapping a file is safe code here: the one `unsafe` is in `tallow-formats`, with its terms.
//!
//! dtypes that tensors do not have become the narrowest that holds their values: `I8` an i16, `U16`
//! a u32, `U64` an i64, `F8_E5M2` an f16, `BOOL` a u8.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::elements;
use crate::{DType, Device, Error, Result, Tensor};
use ::safetensors::tensor::{Dtype, SafeTensors, TensorView};
use tallow_formats::safetensors::{self as format, File, TensorInfo};
use tallow_formats::{Element, SharedBytes};

impl From<DType> for Dtype {
    fn from(dtype: DType) -> Self {
        match dtype {
            DType::U8 => Self::U8,
            DType::U32 => Self::U32,
            DType::I16 => Self::I16,
            DType::I32 => Self::I32,
            DType::I64 => Self::I64,
            DType::BF16 => Self::BF16,
            DType::F16 => Self::F16,
            DType::F32 => Self::F32,
            DType::F64 => Self::F64,
            DType::F8E4M3 => Self::F8_E4M3,
            DType::F6E2M3 => Self::F6_E2M3,
            DType::F6E3M2 => Self::F6_E3M2,
            DType::F4 => Self::F4,
            DType::F8E8M0 => Self::F8_E8M0,
        }
    }
}

impl TryFrom<Dtype> for DType {
    type Error = Error;

    /// The dtype that holds the values of a safetensors dtype.
    fn try_from(dtype: Dtype) -> Result<Self> {
        match Element::from_safetensors(dtype) {
            Some(element) => Ok(elements::dtype_of(element)),
            None => Err(Error::UnsupportedSafeTensorDtype(dtype)),
        }
    }
}

/// What a tensor can be made of.
pub trait Load {
    /// The tensor, on a device.
    fn load(&self, device: &Device) -> Result<Tensor>;
}

impl Load for TensorView<'_> {
    fn load(&self, device: &Device) -> Result<Tensor> {
        load_tensor(self.dtype(), self.shape(), self.data(), device)
    }
}

fn load_tensor(dtype: Dtype, shape: &[usize], data: &[u8], device: &Device) -> Result<Tensor> {
    match Element::from_safetensors(dtype) {
        Some(element) => elements::tensor(element, data, shape, device),
        None => Err(Error::UnsupportedSafeTensorDtype(dtype)),
    }
}

fn view<'a>(info: &TensorInfo, data: &'a [u8]) -> Result<TensorView<'a>> {
    let view = TensorView::new(info.dtype, info.shape.clone(), data);
    view.map_err(Error::SafeTensor)
}

fn missing(name: &str) -> Error {
    Error::CannotFindTensor {
        path: name.to_string(),
    }
}

impl Tensor {
    /// Writes this tensor, under a name, to a file of its own.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// # let path = format!("tallow-doc-{}.safetensors", std::process::id());
    /// # let path = std::env::temp_dir().join(path);
    /// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
    /// x.save_safetensors("x", &path)?;
    /// let all = tallow::safetensors::load(&path, &Device::Cpu)?;
    /// assert_eq!(all["x"].to_vec1::<f32>()?, [1., 2.]);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn save_safetensors<P: AsRef<Path>>(&self, name: &str, filename: P) -> Result<()> {
        save_all(&[(name, self)], filename.as_ref())
    }
}

/// Writes tensors to a file, whole or not at all. Errors if a dtype is one that is stored only, or
/// if the file system refuses.
pub fn save<K: AsRef<str> + Ord + std::fmt::Display, P: AsRef<Path>>(
    tensors: &HashMap<K, Tensor>,
    filename: P,
) -> Result<()> {
    let tensors: Vec<(&str, &Tensor)> = tensors
        .iter()
        .map(|(name, tensor)| (name.as_ref(), tensor))
        .collect();
    save_all(&tensors, filename.as_ref())
}

fn save_all(tensors: &[(&str, &Tensor)], path: &Path) -> Result<()> {
    let entries: Vec<(&str, Dtype, &[usize])> = tensors
        .iter()
        .map(|(name, tensor)| (*name, tensor.dtype().into(), tensor.dims()))
        .collect();
    format::write(path, &BTreeMap::new(), &entries, |position| {
        elements::bytes(tensors[position].1).map(|(_, bytes)| Cow::Owned(bytes))
    })
}

/// All tensors of a file, by name.
pub fn load<P: AsRef<Path>>(filename: P, device: &Device) -> Result<HashMap<String, Tensor>> {
    let file = File::open(filename)?;
    file.tensors()
        .map(|info| {
            let data = file.bytes(&info.name)?;
            let tensor = load_tensor(info.dtype, &info.shape, data, device)?;
            Ok((info.name.clone(), tensor))
        })
        .collect()
}

/// All tensors of a file that is in memory, by name.
pub fn load_buffer(data: &[u8], device: &Device) -> Result<HashMap<String, Tensor>> {
    let read = |info: TensorInfo| {
        let tensor = load_tensor(info.dtype, &info.shape, part(data, &info), device)?;
        Ok((info.name, tensor))
    };
    format::tensors(data)?.into_iter().map(read).collect()
}

/// The data of a tensor; the header was checked against these bytes.
fn part<'a>(bytes: &'a [u8], info: &TensorInfo) -> &'a [u8] {
    &bytes[info.byte_offset..info.byte_offset + info.byte_len]
}

/// A mapped file, its header not yet read.
#[derive(Debug)]
pub struct MmapedFile {
    bytes: SharedBytes,
}

impl MmapedFile {
    /// Maps a file.
    pub fn new<P: AsRef<Path>>(p: P) -> Result<Self> {
        let bytes = SharedBytes::open(p)?;
        Ok(Self { bytes })
    }

    /// Reads the header.
    pub fn deserialize(&self) -> Result<SafeTensors<'_>> {
        format::tensors(&self.bytes)?;
        SafeTensors::deserialize(&self.bytes).map_err(Error::SafeTensor)
    }
}

/// One or several mapped files.
///
/// ```
/// use tallow::{Device, Tensor, safetensors::MmapedSafetensors};
/// # let path = format!("tallow-mmap-{}.safetensors", std::process::id());
/// # let path = std::env::temp_dir().join(path);
/// Tensor::new(&[1f32, 2.], &Device::Cpu)?.save_safetensors("x", &path)?;
/// let file = MmapedSafetensors::new(&path)?;
/// assert_eq!(file.load("x", &Device::Cpu)?.to_vec1::<f32>()?, [1., 2.]);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Debug)]
pub struct MmapedSafetensors {
    files: Vec<File>,
    /// The file of each name: the last that has it.
    routing: HashMap<String, usize>,
}

impl MmapedSafetensors {
    /// Maps a file and reads its header.
    pub fn new<P: AsRef<Path>>(p: P) -> Result<Self> {
        Self::multi(&[p])
    }

    /// Maps several files and reads their headers. Of tensors with the same name, the last file's
    /// is taken.
    pub fn multi<P: AsRef<Path>>(paths: &[P]) -> Result<Self> {
        let files: Vec<File> = paths
            .iter()
            .map(|path| File::open(path).map_err(|error| Error::from(error).with_path(path)))
            .collect::<Result<_>>()?;
        let named = files.iter().enumerate().flat_map(|(position, file)| {
            file.tensors()
                .map(move |info| (info.name.clone(), position))
        });
        let routing = named.collect();
        Ok(Self { files, routing })
    }

    fn file(&self, name: &str) -> Result<&File> {
        let position = self.routing.get(name).ok_or_else(|| missing(name))?;
        Ok(&self.files[*position])
    }

    /// The tensor of this name, copied to a device.
    pub fn load(&self, name: &str, dev: &Device) -> Result<Tensor> {
        self.get(name)?.load(dev)
    }

    /// All tensors, file after file, as views of the files.
    pub fn tensors(&self) -> Vec<(String, TensorView<'_>)> {
        self.files.iter().flat_map(views).collect()
    }

    /// The tensor of this name, as a view of its file.
    pub fn get(&self, name: &str) -> Result<TensorView<'_>> {
        let file = self.file(name)?;
        view(file.tensor(name)?, file.bytes(name)?)
    }
}

fn views(file: &File) -> Vec<(String, TensorView<'_>)> {
    file.tensors()
        .filter_map(|info| {
            let view = view(info, file.bytes(&info.name).ok()?).ok()?;
            Some((info.name.clone(), view))
        })
        .collect()
}

/// A file in a slice.
#[derive(Debug)]
pub struct SliceSafetensors<'a> {
    bytes: &'a [u8],
    tensors: BTreeMap<String, TensorInfo>,
}

impl<'a> SliceSafetensors<'a> {
    /// Reads the header.
    pub fn new(buffer: &'a [u8]) -> Result<Self> {
        let tensors = format::tensors(buffer)?;
        let named = tensors.into_iter().map(|info| (info.name.clone(), info));
        Ok(Self {
            bytes: buffer,
            tensors: named.collect(),
        })
    }

    /// The tensor of this name, copied to a device.
    pub fn load(&self, name: &str, dev: &Device) -> Result<Tensor> {
        self.get(name)?.load(dev)
    }

    /// All tensors, as views of the slice.
    pub fn tensors(&self) -> Vec<(String, TensorView<'_>)> {
        let named = self.tensors.iter().filter_map(|(name, info)| {
            let view = view(info, part(self.bytes, info)).ok()?;
            Some((name.clone(), view))
        });
        named.collect()
    }

    /// The tensor of this name, as a view of the slice.
    pub fn get(&self, name: &str) -> Result<TensorView<'_>> {
        let info = self.tensors.get(name).ok_or_else(|| missing(name))?;
        view(info, part(self.bytes, info))
    }
}

/// A file in memory of its own.
#[derive(Debug)]
pub struct BufferedSafetensors {
    file: File,
}

impl BufferedSafetensors {
    /// Reads the header.
    pub fn new(buffer: Vec<u8>) -> Result<Self> {
        let file = File::from_bytes(buffer)?;
        Ok(Self { file })
    }

    /// The tensor of this name, copied to a device.
    pub fn load(&self, name: &str, dev: &Device) -> Result<Tensor> {
        self.get(name)?.load(dev)
    }

    /// All tensors, as views of the buffer.
    pub fn tensors(&self) -> Vec<(String, TensorView<'_>)> {
        views(&self.file)
    }

    /// The tensor of this name, as a view of the buffer.
    pub fn get(&self, name: &str) -> Result<TensorView<'_>> {
        let info = self.file.tensor(name).map_err(|_| missing(name))?;
        view(info, self.file.bytes(name)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(tensors: &[(&str, Tensor)]) -> Result<(tempfile::TempDir, std::path::PathBuf)> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x.safetensors");
        let tensors: HashMap<&str, Tensor> = tensors.iter().cloned().collect();
        save(&tensors, &path)?;
        Ok((folder, path))
    }

    #[test]
    fn every_reader_gives_what_was_saved() -> Result<()> {
        let cpu = &Device::Cpu;
        for dtype in DType::COMPUTE {
            let x = Tensor::arange(0f32, 6f32, cpu)?
                .reshape((2, 3))?
                .to_dtype(dtype)?;
            let tensors = [
                ("x", x.t()?),
                ("none", x.narrow(0, 0, 0)?),
                ("one", x.get(1)?),
            ];
            let (_folder, path) = file_of(&tensors)?;
            let bytes = std::fs::read(&path)?;
            let mapped = MmapedSafetensors::new(&path)?;
            let buffered = BufferedSafetensors::new(bytes.clone())?;
            let slice = SliceSafetensors::new(&bytes)?;
            let file = MmapedFile::new(&path)?;
            assert_eq!(file.deserialize()?.len(), 3);
            let flat = |tensor: &Tensor| tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1();
            for (name, tensor) in &tensors {
                let expected: Vec<f64> = flat(tensor)?;
                for found in [
                    mapped.load(name, cpu)?,
                    buffered.load(name, cpu)?,
                    slice.load(name, cpu)?,
                    load(&path, cpu)?[*name].clone(),
                    load_buffer(&bytes, cpu)?[*name].clone(),
                ] {
                    assert_eq!((found.dtype(), found.dims()), (dtype, tensor.dims()));
                    let found: Vec<f64> = flat(&found)?;
                    assert_eq!(found, expected, "{dtype} {name}");
                }
            }
            assert_eq!(mapped.tensors().len(), 3);
            assert!(matches!(
                mapped.get("y"),
                Err(Error::CannotFindTensor { .. })
            ));
            assert!(slice.get("y").is_err() && buffered.get("y").is_err());
        }
        Ok(())
    }

    #[test]
    fn the_last_file_of_a_name_wins() -> Result<()> {
        let cpu = &Device::Cpu;
        let (x, y) = (Tensor::new(1f32, cpu)?, Tensor::new(2f32, cpu)?);
        let (_a, first) = file_of(&[("x", x), ("y", y)])?;
        let (_b, second) = file_of(&[("x", Tensor::new(3f32, cpu)?)])?;
        let files = MmapedSafetensors::multi(&[first, second])?;
        assert_eq!(files.load("x", cpu)?.to_scalar::<f32>()?, 3.0);
        assert_eq!(files.load("y", cpu)?.to_scalar::<f32>()?, 2.0);
        Ok(())
    }

    #[test]
    fn narrow_dtypes_are_widened_without_loss() -> Result<()> {
        for (dtype, data, expected) in [
            (Dtype::I8, vec![0xff, 2], [-1., 2.]),
            (Dtype::U16, vec![0xff, 0xff, 1, 0], [65535., 1.]),
            (Dtype::BOOL, vec![1, 0], [1., 0.]),
            (Dtype::F8_E5M2, vec![0x3c, 0xc0], [1., -2.]),
            (Dtype::F8_E4M3, vec![0x38, 0xc0], [1., -2.]),
        ] {
            let view = TensorView::new(dtype, vec![2], &data)?;
            let values = view.load(&Device::Cpu)?.to_dtype(DType::F64)?;
            assert_eq!(values.to_vec1::<f64>()?, expected, "{dtype}");
        }
        let view = TensorView::new(Dtype::C64, vec![1], &[0; 8])?;
        assert!(matches!(
            view.load(&Device::Cpu),
            Err(Error::UnsupportedSafeTensorDtype(Dtype::C64))
        ));
        Ok(())
    }
}
