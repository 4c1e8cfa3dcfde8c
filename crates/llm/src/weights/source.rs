//! Tensors by the name that the file gives them.

use tallow::quantized::{GgmlDType, QTensor};
use tallow_formats::{SharedBytes, gguf, safetensors};

use crate::error::{Error, Result};

/// A model file.
#[derive(Clone, Debug)]
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

    /// How many bytes the tensors take.
    pub(crate) fn byte_len(&self) -> u64 {
        let lengths: Vec<usize> = match self {
            Self::Gguf(file) => file.tensors().flatten().map(|info| info.byte_len).collect(),
            Self::Safetensors(file) => file.tensors().map(|info| info.byte_len).collect(),
        };
        lengths.iter().map(|&bytes| bytes as u64).sum()
    }

    /// The tensors whose names start with a prefix: the rest of the name, type and shape of each,
    /// sorted. Equal lists are layers that ask for the same kernels. What cannot be read is left
    /// out: who asks for it is told.
    pub(crate) fn kinds_below(&self, prefix: &str) -> Vec<String> {
        let kind = |name: &str, dtype: &dyn std::fmt::Debug, shape: &[usize]| {
            let rest = name.strip_prefix(prefix)?;
            Some(format!("{rest} {dtype:?} {shape:?}"))
        };
        let mut kinds = Vec::new();
        match self {
            Self::Gguf(file) => {
                let all = file.tensors().flatten();
                kinds.extend(all.filter_map(|info| kind(&info.name, &info.type_id, &info.shape)));
            }
            Self::Safetensors(file) => {
                let all = file.tensors();
                kinds.extend(all.filter_map(|info| kind(&info.name, &info.dtype, &info.shape)));
            }
        }
        kinds.sort();
        kinds
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
