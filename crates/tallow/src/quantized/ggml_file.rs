//! Files of ggml before GGUF; see [`tallow_formats::ggml`].

use std::collections::HashMap;
use std::io::{Read, Seek};

use super::{GgmlDType, QTensor};
use crate::{Device, Error, Result, bail};
use tallow_formats::ggml::{File, HyperParameters, Magic};

/// The kind of file and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each variant is the kind of its name
pub enum VersionedMagic {
    GgmlUnversioned,
    GgmfV1,
    GgjtV1,
    GgjtV2,
    GgjtV3,
}

/// The model's sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HParams {
    /// Tokens of the vocabulary.
    pub n_vocab: u32,
    /// Width of the embedding.
    pub n_embd: u32,
    /// The width of the mlp is a multiple of this.
    pub n_mult: u32,
    /// Attention heads.
    pub n_head: u32,
    /// Layers.
    pub n_layer: u32,
    /// Dims of a head that are rotated.
    pub n_rot: u32,
    /// The type that most tensors have.
    pub ftype: u32,
}

/// The vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct Vocab {
    /// The bytes and the score of each token.
    pub token_score_pairs: Vec<(Vec<u8>, f32)>,
}

/// A file that was read.
#[derive(Debug)]
pub struct Content {
    /// The kind of file.
    pub magic: VersionedMagic,
    /// The model's sizes.
    pub hparams: HParams,
    /// The vocabulary.
    pub vocab: Vocab,
    /// The tensors.
    pub tensors: HashMap<String, QTensor>,
    /// Where the tensors are.
    pub device: Device,
}

impl Content {
    /// Reads a file from where the reader stands to its end.
    ///
    /// # Errors
    /// A file that is not whole, counts and sizes that the file is too short for, block types that
    /// tensors do not have. Memory is only taken for bytes that are there.
    pub fn read<R: Read + Seek>(reader: &mut R, device: &Device) -> Result<Self> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        let file = File::from_bytes(bytes)?;
        let tensors = file.tensors().map(|info| {
            let dtype = dtype(info.type_id)?;
            let bytes = file.shared(&info.name)?;
            let tensor = QTensor::from_shared(dtype, &info.shape, bytes)?;
            Ok((info.name.clone(), tensor.to_device(device)))
        });
        Ok(Self {
            magic: magic(file.magic()),
            hparams: hparams(file.hyper_parameters()),
            vocab: Vocab {
                token_score_pairs: file
                    .tokens()
                    .map(|(bytes, score)| (bytes.to_vec(), score))
                    .collect(),
            },
            tensors: tensors.collect::<Result<_>>()?,
            device: device.clone(),
        })
    }

    /// Takes a tensor out. Errors if there is none of this name.
    pub fn remove(&mut self, name: &str) -> Result<QTensor> {
        self.tensors
            .remove(name)
            .ok_or_else(|| Error::CannotFindTensor {
                path: name.to_string(),
            })
    }
}

/// A tensor of raw blocks; `dims` are row-major. Errors if there are too few bytes.
pub fn qtensor_from_ggml(
    ggml_dtype: GgmlDType,
    raw_data: &[u8],
    dims: Vec<usize>,
    device: &Device,
) -> Result<QTensor> {
    let len = super::tensor::byte_len(ggml_dtype, &dims.as_slice().into())?;
    let Some(blocks) = raw_data.get(..len) else {
        let got = raw_data.len();
        bail!("qtensor: {got} bytes do not fit shape {dims:?} of {ggml_dtype}; want {len}");
    };
    Ok(QTensor::from_bytes(ggml_dtype, dims, blocks.to_vec())?.to_device(device))
}

fn dtype(type_id: u32) -> Result<GgmlDType> {
    match GgmlDType::from_u32(type_id) {
        Some(dtype) => Ok(dtype),
        None => bail!("ggml: block type {type_id} cannot be multiplied"),
    }
}

fn magic(magic: Magic) -> VersionedMagic {
    match magic {
        Magic::Ggml => VersionedMagic::GgmlUnversioned,
        Magic::GgmfV1 => VersionedMagic::GgmfV1,
        Magic::GgjtV1 => VersionedMagic::GgjtV1,
        Magic::GgjtV2 => VersionedMagic::GgjtV2,
        Magic::GgjtV3 => VersionedMagic::GgjtV3,
    }
}

fn hparams(found: &HyperParameters) -> HParams {
    HParams {
        n_vocab: found.vocabulary_len,
        n_embd: found.embedding_len,
        n_mult: found.mlp_multiple,
        n_head: found.head_count,
        n_layer: found.layer_count,
        n_rot: found.rope_len,
        ftype: found.file_type,
    }
}
