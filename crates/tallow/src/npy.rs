//! NumPy's files: npy (one array) and npz (several, by name).
//!
//! Arrays are read in either byte order and either element order; which dtype they become is
//! [`tallow_formats::npy`]'s element in its narrowest dtype: `int8` an i16, `uint16` a u32,
//! `uint64` an i64, `bool` a u8. Column-major arrays come out row-major.

use std::path::Path;

use crate::elements;
use crate::{DType, Device, Result, Shape, Tensor};
use tallow_formats::npy::{self, Array, Header, Npz, NpzWriter};

/// The arrays of an npz file, read one by one.
///
/// ```
/// use tallow::{Device, Tensor, npy::NpzTensors};
/// # let folder = std::env::temp_dir().join(format!("tallow-npz-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("weights.npz");
/// Tensor::write_npz(&[("bias", Tensor::new(&[1f32, 2.], &Device::Cpu)?)], &path)?;
/// let file = NpzTensors::new(&path)?;
/// assert_eq!(file.get("bias")?.unwrap().to_vec1::<f32>()?, [1., 2.]);
/// assert!(file.get("weight")?.is_none());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Debug)]
pub struct NpzTensors {
    file: Npz,
    names: Vec<String>,
}

impl NpzTensors {
    /// Opens a file and reads its directory.
    pub fn new<T: AsRef<Path>>(path: T) -> Result<Self> {
        let file = Npz::open(path)?;
        let names = file.names().map(String::from).collect();
        Ok(Self { file, names })
    }

    /// The names of the arrays, in the order of the file.
    pub fn names(&self) -> Vec<&String> {
        self.names.iter().collect()
    }

    /// Shape and dtype of an array, from its header. Errors if there is none of this name.
    pub fn get_shape_and_dtype(&self, name: &str) -> Result<(Shape, DType)> {
        let header = self.file.header(name)?;
        let dtype = elements::dtype_of(header.element);
        Ok((Shape::from(header.shape), dtype))
    }

    /// The array of this name; `None` if there is none.
    pub fn get(&self, name: &str) -> Result<Option<Tensor>> {
        match self.file.contains(name) {
            true => tensor(&self.file.array(name)?).map(Some),
            false => Ok(None),
        }
    }
}

fn tensor(array: &Array) -> Result<Tensor> {
    let Header {
        element,
        fortran_order,
        shape,
        ..
    } = array.header();
    let data = array.data();
    if !fortran_order {
        return elements::tensor(*element, &data, shape, &Device::Cpu);
    }
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    let axes: Vec<usize> = (0..shape.len()).rev().collect();
    elements::tensor(*element, &data, reversed, &Device::Cpu)?
        .permute(axes)?
        .contiguous()
}

/// Header and data of a file. What NumPy does not have is widened to f32.
fn encode(tensor: &Tensor) -> Result<(Vec<u8>, Vec<u8>)> {
    let tensor = match tensor.dtype() {
        DType::BF16 | DType::F8E4M3 => &tensor.to_dtype(DType::F32)?,
        _ => tensor,
    };
    let (element, data) = elements::bytes(tensor)?;
    Ok((npy::header(element, tensor.dims()), data))
}

impl Tensor {
    /// Reads an npy file into main memory.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// # let folder = std::env::temp_dir().join(format!("tallow-npy-doc-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("x.npy");
    /// let x = Tensor::new(&[[1f32, 2.], [3., 4.]], &Device::Cpu)?;
    /// x.t()?.write_npy(&path)?;
    /// assert_eq!(Tensor::read_npy(&path)?.to_vec2::<f32>()?, [[1., 3.], [2., 4.]]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), tallow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The file system's refusal, a broken file, a type of elements that tensors do not have
    /// (complex numbers, texts, records), a `uint64` of 2^63 or more.
    pub fn read_npy<T: AsRef<Path>>(path: T) -> Result<Self> {
        tensor(&Array::open(path)?)
    }

    /// Reads all arrays of an npz file, in the order of the file. [`NpzTensors`] reads them one by
    /// one. Errors as [`read_npy`](Self::read_npy).
    pub fn read_npz<T: AsRef<Path>>(path: T) -> Result<Vec<(String, Self)>> {
        let file = Npz::open(path)?;
        let read = |name: &str| Ok((name.to_string(), tensor(&file.array(name)?)?));
        file.names().map(read).collect()
    }

    /// Reads some arrays of an npz file, in the order of `names`. Errors as
    /// [`read_npy`](Self::read_npy), and if a name is missing.
    pub fn read_npz_by_name<T: AsRef<Path>>(path: T, names: &[&str]) -> Result<Vec<Self>> {
        let file = Npz::open(path)?;
        names
            .iter()
            .map(|name| tensor(&file.array(name)?))
            .collect()
    }

    /// Writes an npy file (version 1, row-major, little-endian), whole or not at all. bf16 and
    /// f8e4m3, which NumPy does not have, are written as f32.
    pub fn write_npy<T: AsRef<Path>>(&self, path: T) -> Result<()> {
        use std::io::Write;
        let (header, data) = encode(self)?;
        let mut file = tallow_formats::AtomicFile::create(path)?;
        file.write_all(&header)?;
        file.write_all(&data)?;
        Ok(file.finish()?)
    }

    /// Writes an npz file, whole or not at all; arrays as [`write_npy`](Self::write_npy) does.
    pub fn write_npz<S: AsRef<str>, T: AsRef<Tensor>, P: AsRef<Path>>(
        ts: &[(S, T)],
        path: P,
    ) -> Result<()> {
        let mut file = NpzWriter::create(path)?;
        for (name, tensor) in ts {
            let (header, data) = encode(tensor.as_ref())?;
            file.add(name.as_ref(), &header, &data)?;
        }
        Ok(file.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What NumPy wrote; `tallow-formats` has the program that made it.
    fn golden(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../formats/tests/golden")
            .join(name)
    }

    #[test]
    fn every_dtype_of_numpy_keeps_its_values() -> Result<()> {
        for file in ["stored.npz", "deflated.npz"] {
            let arrays = Tensor::read_npz(golden(file))?;
            assert_eq!(arrays.len(), 14);
            for (name, array) in &arrays[..12] {
                let values = array.to_dtype(DType::F64)?.to_vec2::<f64>()?;
                let last = |value| if name == "?" { 1.0 } else { value };
                let expected = [[0., 1., last(2.)], [last(3.), last(4.), last(5.)]];
                assert_eq!(values, expected, "{name}");
            }
            let file = NpzTensors::new(golden(file))?;
            for (name, dtype) in [
                ("?", DType::U8),
                ("i1", DType::I16),
                ("u2", DType::U32),
                ("u8", DType::I64),
                ("f2", DType::F16),
            ] {
                assert_eq!(
                    file.get_shape_and_dtype(name)?,
                    (Shape::from((2, 3)), dtype)
                );
            }
        }
        Ok(())
    }

    #[test]
    fn both_orders_come_out_row_major() -> Result<()> {
        let names = ["both", "big", "fortran"];
        for array in Tensor::read_npz_by_name(golden("order.npz"), &names)? {
            assert!(array.is_contiguous());
            let values = array.to_dtype(DType::F64)?.to_vec2::<f64>()?;
            assert_eq!(values, [[0., 1., 2.], [3., 4., 5.]]);
        }
        assert!(Tensor::read_npz_by_name(golden("order.npz"), &["none"]).is_err());
        Ok(())
    }

    #[test]
    fn every_dtype_is_written_and_read_back() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x.npy");
        for dtype in DType::COMPUTE {
            for shape in [&[][..], &[3], &[2, 0], &[2, 3, 4]] {
                let count = shape.iter().product::<usize>();
                let values = Tensor::arange(0f32, count as f32, &Device::Cpu)?;
                let values = values.reshape(shape)?.to_dtype(dtype)?;
                values.write_npy(&path)?;
                let back = Tensor::read_npy(&path)?;
                let read_as = match dtype {
                    DType::BF16 | DType::F8E4M3 => DType::F32,
                    other => other,
                };
                assert_eq!((back.dtype(), back.dims()), (read_as, shape), "{dtype}");
                let flat = |tensor: &Tensor| tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1();
                let (back, values): (Vec<f64>, Vec<f64>) = (flat(&back)?, flat(&values)?);
                assert_eq!(back, values, "{dtype}");
            }
        }
        Ok(())
    }

    #[test]
    fn a_u64_that_does_not_fit_is_an_error() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x.npy");
        let bytes = [
            npy::header(tallow_formats::Element::U64, &[1]),
            vec![255; 8],
        ]
        .concat();
        std::fs::write(&path, bytes)?;
        let error = Tensor::read_npy(&path).expect_err("2^64 - 1").to_string();
        assert!(error.contains("18446744073709551615"), "{error}");
        Ok(())
    }
}
