//! Tensors by the name that the file gives them.

use tallow::quantized::{GgmlDType, QTensor};
use tallow_formats::{SharedBytes, gguf, safetensors};

use crate::error::{Error, Result};

/// A model file.
#[derive(Debug)]
pub(crate) enum Source {
    Gguf(gguf::File),
    Safetensors(safetensors::File),
}

impl Source {
    pub(crate) fn contains(&self, name: &str) -> bool {
        match self {
            Self::Gguf(file) => file.contains(name),
            Self::Safetensors(file) => file.contains(name),
        }
    }

    /// The tensor of that name, its data left in the file.
    pub(crate) fn tensor(&self, name: &str) -> Result<QTensor> {
        let unknown = |found: &str| {
            Error::Model(format!(
                "tensor {name:?} is of type {found}, which is unknown"
            ))
        };
        let (dtype, shape, bytes): (GgmlDType, Vec<usize>, SharedBytes) = match self {
            Self::Gguf(file) => {
                let info = file.tensor(name)?;
                let dtype =
                    GgmlDType::from_u32(info.type_id).ok_or_else(|| unknown(info.type_name()))?;
                (dtype, info.shape.clone(), file.shared(name)?)
            }
            Self::Safetensors(file) => {
                let info = file.tensor(name)?;
                let dtype = match format!("{:?}", info.dtype).as_str() {
                    "F32" => GgmlDType::F32,
                    "F16" => GgmlDType::F16,
                    "BF16" => GgmlDType::BF16,
                    other => return Err(unknown(other)),
                };
                (dtype, info.shape.clone(), file.shared(name)?)
            }
        };
        Ok(QTensor::from_shared(dtype, shape, bytes)?)
    }
}
