//! safetensors, the file format of Hugging Face: a JSON header, then tensor data end to end.
//!
//! ```text
//! header length u64   header: {"name": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}}
//! tensor data, without holes or overlaps, to the last byte of the file
//! ```
//!
//! [`File`] is one such file, or the several that an index names (`model.safetensors.index.json`).
//! Dtypes are the `safetensors` crate's; the header is parsed here, because names that come twice
//! and sizes that add up to 2^64 must be refused, and because messages name the tensor. Every
//! check is made when a file is opened: the format leaves no doubt that is one tensor's own.
//!
//! Format: <https://github.com/huggingface/safetensors#format>. Read next: `header.rs`.

mod header;
mod index;
mod unique_map;
mod write;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use ::safetensors::Dtype;

use crate::error::{Error, Quoted, Result};
use crate::name_index::NameIndex;
use crate::source::{SharedBytes, Source};
use header::Header;

pub use write::write;

/// One tensor: its data are `byte_len` bytes of one of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name, such as `model.layers.0.self_attn.q_proj.weight`.
    pub name: String,
    /// The type of the elements.
    pub dtype: Dtype,
    /// The shape, row-major.
    pub shape: Vec<usize>,
    /// Which of the files holds it, from 0.
    pub shard: usize,
    /// The first byte, from the beginning of that file.
    pub byte_offset: usize,
    /// The number of bytes.
    pub byte_len: usize,
}

/// One open safetensors file, or several that make one model; clones share them.
///
/// ```
/// use tallow_formats::safetensors::File;
/// let header = r#"{"bias": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}}"#;
/// let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
/// bytes.extend(header.as_bytes());
/// bytes.extend([7, 8, 9]);
///
/// let file = File::from_bytes(bytes)?;
/// assert_eq!(file.tensor("bias")?.shape, [3]);
/// assert_eq!(file.bytes("bias")?, [7, 8, 9]);
/// # Ok::<(), tallow_formats::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct File {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shards: Vec<Arc<Source>>,
    metadata: BTreeMap<String, String>,
    /// By shard, then in the order of the data.
    tensors: Vec<TensorInfo>,
    index: NameIndex,
}

impl File {
    /// Maps the file at `path`; if it is an index (its name ends in `.json`), the files beside it
    /// that it names.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path.extension() == Some(OsStr::new("json")) {
            return Self::open_index(path);
        }
        let source = Source::map("safetensors", path)?;
        let header = Header::decode(source.as_slice())?;
        Self::from_shards(vec![(source, header)])
    }

    /// Reads a file that is in memory already.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        let header = Header::decode(&bytes)?;
        Self::from_shards(vec![(Source::Owned(bytes), header)])
    }

    /// Opens the files that an index names. Only tensors of the index are kept.
    fn open_index(path: &Path) -> Result<Self> {
        let source = Source::map("safetensors", path)?;
        let mut weight_map = index::decode(source.as_slice())?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut shards = Vec::with_capacity(weight_map.shard_names.len());
        for (position, shard_name) in weight_map.shard_names.iter().enumerate() {
            let source = Source::map("safetensors", &folder.join(shard_name))?;
            let mut header =
                Header::decode(source.as_slice()).map_err(|e| in_shard(e, shard_name))?;
            header.tensors.retain(|tensor| {
                let listed = weight_map.shard_of.get(&tensor.name) == Some(&position);
                if listed {
                    weight_map.shard_of.remove(&tensor.name);
                }
                listed
            });
            shards.push((source, header));
        }
        match weight_map.shard_of.into_iter().next() {
            None => Self::from_shards(shards),
            Some((name, shard)) => Err(Error::Tensor {
                format: "safetensors",
                name,
                problem: format!(
                    "not in {}, where the index has it",
                    Quoted(&weight_map.shard_names[shard])
                ),
            }),
        }
    }

    fn from_shards(decoded: Vec<(Source, Header)>) -> Result<Self> {
        let mut shards = Vec::with_capacity(decoded.len());
        let mut metadata = BTreeMap::new();
        let mut tensors = Vec::new();
        for (shard, (source, header)) in decoded.into_iter().enumerate() {
            shards.push(Arc::new(source));
            for (key, value) in header.metadata {
                metadata.entry(key).or_insert(value);
            }
            tensors.extend(
                header
                    .tensors
                    .into_iter()
                    .map(|tensor| TensorInfo { shard, ..tensor }),
            );
        }
        let index =
            NameIndex::build(tensors.len(), |i| tensors[i].name.as_str()).map_err(|twin| {
                malformed(format!(
                    "tensor {} is there twice",
                    Quoted(&tensors[twin].name)
                ))
            })?;
        Ok(File {
            inner: Arc::new(Inner {
                shards,
                metadata,
                tensors,
                index,
            }),
        })
    }

    /// The texts under `__metadata__`; where shards differ, the first one's.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.inner.metadata
    }

    /// How many files there are.
    pub fn shard_count(&self) -> usize {
        self.inner.shards.len()
    }

    /// All tensors, file after file, in the order of their data.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = &TensorInfo> {
        self.inner.tensors.iter()
    }

    /// True if there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Result<&TensorInfo> {
        match self.position(name) {
            Some(position) => Ok(&self.inner.tensors[position]),
            None => Err(Error::MissingTensor {
                format: "safetensors",
                name: name.to_string(),
            }),
        }
    }

    /// The data of the tensor of this name: little-endian elements, row-major.
    pub fn bytes(&self, name: &str) -> Result<&[u8]> {
        let info = self.tensor(name)?;
        let bytes = self.inner.shards[info.shard].as_slice();
        Ok(&bytes[info.byte_offset..info.byte_offset + info.byte_len])
    }

    /// As [`bytes`](File::bytes), in a handle that keeps the file open.
    pub fn shared(&self, name: &str) -> Result<SharedBytes> {
        let info = self.tensor(name)?;
        let range = info.byte_offset..info.byte_offset + info.byte_len;
        Ok(SharedBytes::new(
            Arc::clone(&self.inner.shards[info.shard]),
            range,
        ))
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.inner
            .index
            .find(name, |i| self.inner.tensors[i].name.as_str())
    }
}

/// The tensors of a file of which these are all bytes, in the order of their data.
pub fn tensors(bytes: &[u8]) -> Result<Vec<TensorInfo>> {
    Ok(Header::decode(bytes)?.tensors)
}

fn malformed(problem: String) -> Error {
    Error::Malformed {
        format: "safetensors",
        problem,
    }
}

/// Says in which file of several the problem is.
fn in_shard(error: Error, shard_name: &str) -> Error {
    match error {
        Error::Malformed { problem, .. } => malformed(format!("{}: {problem}", Quoted(shard_name))),
        Error::Tensor {
            format,
            name,
            problem,
        } => Error::Tensor {
            format,
            name,
            problem: format!("{}: {problem}", Quoted(shard_name)),
        },
        other => other,
    }
}
