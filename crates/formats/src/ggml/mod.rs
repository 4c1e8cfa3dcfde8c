//! ggml's files before GGUF: `ggml`, `ggmf` and `ggjt`, of llama models only.
//!
//! ```text
//! magic u32   version u32 (not in ggml)   seven hyperparameters u32
//! vocabulary: for each token its length u32, its bytes, its score f32 (not in ggml)
//! tensors to the end: rank u32, name length u32, type u32, rank dims u32, name,
//!                     in ggjt zeros to a multiple of 32 from the file's beginning, data
//! ```
//!
//! Quantized blocks had another layout before version 3 of ggjt; such tensors are an error. Unlike
//! GGUF, the place of a tensor follows from those before it, so one that cannot be measured fails
//! the whole file.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::cursor::Cursor;
use crate::error::{Error, Quoted, Result};
use crate::gguf::BlockType;
use crate::name_index::NameIndex;
use crate::source::{SharedBytes, Source};

const FORMAT: &str = "ggml";
const ALIGNMENT: usize = 32;
/// ggml has at most 4 dims.
const MAX_RANK: usize = 4;

/// The kind of file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Magic {
    /// `ggml`, without a version and without scores.
    Ggml,
    /// `ggmf`, version 1.
    GgmfV1,
    /// `ggjt`, version 1.
    GgjtV1,
    /// `ggjt`, version 2.
    GgjtV2,
    /// `ggjt`, version 3: today's block formats.
    GgjtV3,
}

/// The hyperparameters of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyperParameters {
    /// Tokens of the vocabulary.
    pub vocabulary_len: u32,
    /// Width of the embedding.
    pub embedding_len: u32,
    /// The width of the mlp is a multiple of this.
    pub mlp_multiple: u32,
    /// Attention heads.
    pub head_count: u32,
    /// Layers.
    pub layer_count: u32,
    /// Dims of a head that are rotated.
    pub rope_len: u32,
    /// The type that most tensors have.
    pub file_type: u32,
}

/// One tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name.
    pub name: String,
    /// The shape, row-major.
    pub shape: Vec<usize>,
    /// The block type's id; [`BlockType::from_id`] knows it.
    pub type_id: u32,
    /// The first byte, from the beginning of the file.
    pub byte_offset: usize,
    /// The number of bytes.
    pub byte_len: usize,
}

/// An open file.
#[derive(Debug, Clone)]
pub struct File {
    source: Arc<Source>,
    magic: Magic,
    hyper_parameters: HyperParameters,
    /// Where each token's bytes stand, and its score.
    tokens: Vec<(Range<usize>, f32)>,
    tensors: Vec<TensorInfo>,
    index: NameIndex,
}

impl File {
    /// Maps the file at `path`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::map(FORMAT, path.as_ref())?)
    }

    /// Reads a file that is in memory already.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::from_source(Source::Owned(bytes))
    }

    fn from_source(source: Source) -> Result<Self> {
        let bytes = source.as_slice();
        let mut cursor = Cursor::new(FORMAT, bytes, bytes.len() as u64);
        cursor.set_wide_counts(false);
        let magic = magic(&mut cursor)?;
        let hyper_parameters = hyper_parameters(&mut cursor)?;
        let tokens = tokens(&mut cursor, magic, hyper_parameters.vocabulary_len)?;
        let mut tensors = Vec::new();
        while cursor.at() < bytes.len() {
            tensors.push(tensor(&mut cursor, magic)?);
        }
        let index = NameIndex::build(tensors.len(), |i: usize| tensors[i].name.as_str()).map_err(
            |twin| {
                cursor.malformed(format!(
                    "tensor {} is there twice",
                    Quoted(&tensors[twin].name)
                ))
            },
        )?;
        Ok(File {
            source: Arc::new(source),
            magic,
            hyper_parameters,
            tokens,
            tensors,
            index,
        })
    }

    /// The kind of file.
    pub fn magic(&self) -> Magic {
        self.magic
    }

    /// The model's hyperparameters.
    pub fn hyper_parameters(&self) -> &HyperParameters {
        &self.hyper_parameters
    }

    /// The bytes and the score of each token (0 where the file has none).
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = (&[u8], f32)> {
        let bytes = self.source.as_slice();
        self.tokens
            .iter()
            .map(|(range, score)| (&bytes[range.clone()], *score))
    }

    /// All tensors, in the order of the file.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = &TensorInfo> {
        self.tensors.iter()
    }

    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Result<&TensorInfo> {
        let position = self.index.find(name, |i| self.tensors[i].name.as_str());
        match position {
            Some(position) => Ok(&self.tensors[position]),
            None => Err(Error::MissingTensor {
                format: FORMAT,
                name: name.to_string(),
            }),
        }
    }

    /// The data of the tensor of this name, in a handle that keeps the file open.
    pub fn shared(&self, name: &str) -> Result<SharedBytes> {
        let info = self.tensor(name)?;
        let range = info.byte_offset..info.byte_offset + info.byte_len;
        Ok(SharedBytes::new(Arc::clone(&self.source), range))
    }
}

fn magic(cursor: &mut Cursor<'_>) -> Result<Magic> {
    let bytes: [u8; 4] = cursor.array(&"magic")?;
    // A u32 whose highest byte is the first letter.
    let kind: [u8; 4] = [bytes[3], bytes[2], bytes[1], bytes[0]];
    if &kind == b"ggml" {
        return Ok(Magic::Ggml);
    }
    if &bytes == b"GGUF" {
        return Err(cursor.malformed("this is a GGUF file; open it as one".to_string()));
    }
    if &kind != b"ggmf" && &kind != b"ggjt" {
        let shown = bytes.escape_ascii();
        return Err(cursor.malformed(format!("wrong magic \"{shown}\"; want lmgg, fmgg or tjgg")));
    }
    match (&kind, cursor.u32(&"version")?) {
        (b"ggmf", 1) => Ok(Magic::GgmfV1),
        (b"ggjt", 1) => Ok(Magic::GgjtV1),
        (b"ggjt", 2) => Ok(Magic::GgjtV2),
        (b"ggjt", 3) => Ok(Magic::GgjtV3),
        (_, version) => {
            let kind = kind.escape_ascii();
            Err(cursor.malformed(format!("unknown version {version} of {kind}")))
        }
    }
}

fn hyper_parameters(cursor: &mut Cursor<'_>) -> Result<HyperParameters> {
    let mut next = || cursor.u32(&"hyperparameters");
    Ok(HyperParameters {
        vocabulary_len: next()?,
        embedding_len: next()?,
        mlp_multiple: next()?,
        head_count: next()?,
        layer_count: next()?,
        rope_len: next()?,
        file_type: next()?,
    })
}

fn tokens(cursor: &mut Cursor<'_>, magic: Magic, count: u32) -> Result<Vec<(Range<usize>, f32)>> {
    let with_score = magic != Magic::Ggml;
    let least = if with_score { 8 } else { 4 };
    cursor.check_count(count.into(), cursor.at(), least, &"vocabulary length")?;
    let mut tokens = Vec::new();
    for position in 0..count {
        let what = format_args!("token {position}");
        let len = cursor.count(1, &what)?;
        let start = cursor.at();
        cursor.take(len, &what)?;
        let score = match with_score {
            true => f32::from_le_bytes(cursor.array(&what)?),
            false => 0.0,
        };
        tokens.push((start..start + len, score));
    }
    Ok(tokens)
}

fn tensor(cursor: &mut Cursor<'_>, magic: Magic) -> Result<TensorInfo> {
    let at = cursor.at();
    let what = format_args!("header of the tensor at byte {at:#x}");
    let rank = cursor.u32(&what)? as usize;
    let name_len = cursor.u32(&what)?;
    let type_at = cursor.at();
    let type_id = cursor.u32(&what)?;
    if rank > MAX_RANK {
        return Err(cursor.malformed(format!("{what}: {rank} dims; {MAX_RANK} at most")));
    }
    let mut dims = [0_u32; MAX_RANK];
    for dim in &mut dims[..rank] {
        *dim = cursor.u32(&what)?;
    }
    let name = cursor.take(name_len as usize, &what)?;
    let name = std::str::from_utf8(name)
        .map_err(|_| cursor.malformed(format!("{what}: the name is not UTF-8")))?
        .to_string();
    let fail = |problem: String| Error::Tensor {
        format: FORMAT,
        name: name.clone(),
        problem,
    };
    let Some(block_type) = BlockType::from_id(type_id) else {
        return Err(fail(format!(
            "unknown block type {type_id} at byte {type_at:#x}"
        )));
    };
    if block_type.block_len > 1 && magic != Magic::GgjtV3 {
        return Err(fail(format!(
            "{} blocks had another layout before version 3 of ggjt; this is {magic:?}",
            block_type.name
        )));
    }
    let shape: Vec<usize> = dims[..rank].iter().rev().map(|&dim| dim as usize).collect();
    let byte_len = block_type
        .bytes_of(&shape)
        .ok_or_else(|| fail(format!("shape {shape:?} is no whole blocks, or too large")))?;
    if matches!(magic, Magic::GgjtV1 | Magic::GgjtV2 | Magic::GgjtV3) {
        let padding = cursor.at().next_multiple_of(ALIGNMENT) - cursor.at();
        cursor.take(padding, &what)?;
    }
    let byte_offset = cursor.at();
    cursor.take(byte_len, &format_args!("data of tensor {}", Quoted(&name)))?;
    Ok(TensorInfo {
        name,
        shape,
        type_id,
        byte_offset,
        byte_len,
    })
}
