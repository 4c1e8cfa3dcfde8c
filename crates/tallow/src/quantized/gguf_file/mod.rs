//! GGUF files through a reader: the header as maps, tensors read one by one.
//!
//! [`tallow_formats::gguf`] parses the header and checks every count, offset and size against the
//! file's length; it also maps files, which is how to open a model without reading it.

mod value;
mod write;

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};

pub use value::{Value, ValueType};
pub use write::write;

use super::{GgmlDType, QTensor};
use crate::{Device, Error, Result, Shape, bail};
use tallow_formats::gguf::{self, Header};

/// Tensor data begin at multiples of this many bytes where the file names no other alignment.
pub const DEFAULT_ALIGNMENT: u64 = 32;

/// The version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionedMagic {
    /// Version 1: lengths of 32 bits.
    GgufV1,
    /// Version 2.
    GgufV2,
    /// Version 3.
    GgufV3,
}

/// What the header says of a tensor.
#[derive(Debug)]
pub struct TensorInfo {
    /// The block format.
    pub ggml_dtype: GgmlDType,
    /// The shape, row-major.
    pub shape: Shape,
    /// The first byte, counted from where tensor data begin.
    pub offset: u64,
}

impl TensorInfo {
    /// Reads the blocks. `tensor_data_offset` is where tensor data begin in the reader.
    ///
    /// # Errors
    /// The reader's refusal, or that it ends before the blocks do; memory is only taken for bytes
    /// that are there.
    pub fn read<R: Read + Seek>(
        &self,
        reader: &mut R,
        tensor_data_offset: u64,
        device: &Device,
    ) -> Result<QTensor> {
        let len = super::tensor::byte_len(self.ggml_dtype, &self.shape)?;
        let start = tensor_data_offset.checked_add(self.offset);
        let Some(start) = start else {
            bail!("gguf: offset {} passes 2^64", self.offset);
        };
        let end = reader.seek(SeekFrom::End(0))?;
        if len as u64 > end.saturating_sub(start) {
            bail!(
                "gguf: {len} bytes of {} {:?} from byte {start:#x} on; the file has {end}",
                self.ggml_dtype,
                self.shape
            );
        }
        reader.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; len];
        reader.read_exact(&mut bytes)?;
        Ok(QTensor::from_bytes(self.ggml_dtype, &self.shape, bytes)?.to_device(device))
    }
}

/// The header of a file.
///
/// ```
/// use tallow::{Device, Tensor, quantized::{GgmlDType, QTensor, gguf_file}};
/// let weight = Tensor::arange(0f32, 64f32, &Device::Cpu)?.reshape((2, 32))?;
/// let weight = QTensor::quantize(&weight, GgmlDType::F16)?;
/// let name = gguf_file::Value::String("tiny".to_string());
/// let mut file = std::io::Cursor::new(Vec::new());
/// gguf_file::write(&mut file, &[("general.name", &name)], &[("w", &weight)])?;
///
/// file.set_position(0);
/// let content = gguf_file::Content::read(&mut file)?;
/// assert_eq!(content.metadata["general.name"].to_string()?, "tiny");
/// let weight = content.tensor(&mut file, "w", &Device::Cpu)?;
/// assert_eq!(weight.dequantize(&Device::Cpu)?.to_vec2::<f32>()?[1][31], 63.0);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Debug)]
pub struct Content {
    /// The version.
    pub magic: VersionedMagic,
    /// Keys and values.
    pub metadata: HashMap<String, Value>,
    /// The tensors that can be read.
    pub tensor_infos: HashMap<String, TensorInfo>,
    /// Where tensor data begin in the reader.
    pub tensor_data_offset: u64,
    /// What is wrong with the tensors that cannot be read.
    unusable: HashMap<String, String>,
}

impl Content {
    /// Reads the header from where the reader stands. A tensor that cannot be used (an unknown
    /// block type, data past the end of the file) is no error here, but one of
    /// [`tensor`](Self::tensor).
    pub fn read<R: Read + Seek>(reader: &mut R) -> Result<Self> {
        let start = reader.stream_position()?;
        let header = Header::read(reader)?;
        let tensor_data_offset = start.saturating_add(header.data_offset());
        reader.seek(SeekFrom::Start(tensor_data_offset))?;
        let metadata = header.metadata().iter();
        let mut content = Self {
            magic: match header.version() {
                1 => VersionedMagic::GgufV1,
                2 => VersionedMagic::GgufV2,
                _ => VersionedMagic::GgufV3,
            },
            metadata: metadata
                .map(|(key, value)| (key.to_string(), Value::from(value)))
                .collect(),
            tensor_infos: HashMap::new(),
            tensor_data_offset,
            unusable: HashMap::new(),
        };
        for (name, tensor) in header.tensor_names().zip(header.tensors()) {
            let info = tensor.map_err(Error::from);
            match info.and_then(|info| tensor_info(&header, info)) {
                Ok(info) => {
                    content.tensor_infos.insert(name.to_string(), info);
                }
                Err(error) => {
                    content.unusable.insert(name.to_string(), error.to_string());
                }
            }
        }
        Ok(content)
    }

    /// Reads one tensor. Errors if there is none of this name, or if it cannot be used.
    pub fn tensor<R: Read + Seek>(
        &self,
        reader: &mut R,
        name: &str,
        device: &Device,
    ) -> Result<QTensor> {
        match (self.tensor_infos.get(name), self.unusable.get(name)) {
            (Some(info), _) => info.read(reader, self.tensor_data_offset, device),
            (None, Some(problem)) => Err(Error::Msg(problem.clone())),
            (None, None) => Err(Error::CannotFindTensor {
                path: name.to_string(),
            }),
        }
    }
}

fn tensor_info(header: &Header, info: &gguf::TensorInfo) -> Result<TensorInfo> {
    let Some(ggml_dtype) = GgmlDType::from_u32(info.type_id) else {
        let (name, kind) = (&info.name, info.type_name());
        bail!("gguf: tensor {name:?}: {kind} cannot be multiplied; no QTensor has this type");
    };
    Ok(TensorInfo {
        ggml_dtype,
        shape: Shape::from(&info.shape),
        offset: (info.byte_offset as u64).saturating_sub(header.data_offset()),
    })
}
