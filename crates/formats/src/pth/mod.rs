//! pth, what `torch.save` writes: a zip archive with a pickle and the bytes of each storage.
//!
//! ```text
//! archive/data.pkl      a dictionary: name -> _rebuild_tensor_v2(storage, offset, shape, strides)
//! archive/data/0, …     the elements of storage "0"
//! archive/byteorder     "little" or "big"; not in older files
//! ```
//!
//! A tensor is a strided view of a storage, and several may share one. No code of the pickle runs;
//! see [`pickle`](crate::pickle). What is wrong with one tensor fails that tensor alone. Files of
//! PyTorch before 1.6, which are no zip archives, are an error.

mod rebuild;

use std::borrow::Cow;
use std::path::Path;

use crate::archive::Archive;
use crate::element::Element;
use crate::error::{Error, Quoted, Result};
use crate::name_index::NameIndex;
use crate::pickle::{Id, Pickle};

/// One tensor: a strided view of a storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name: its key in the dictionary.
    pub name: String,
    /// The type of the elements.
    pub element: Element,
    /// The shape.
    pub shape: Vec<usize>,
    /// The distance between neighbours of each dim, in elements.
    pub strides: Vec<usize>,
    /// Where the first element lies in the storage, in elements.
    pub offset: usize,
    /// The entry of the archive that holds the storage.
    pub storage: String,
    /// Elements of the storage.
    pub storage_len: usize,
}

impl TensorInfo {
    /// How many elements of the storage lie between the first and the last element of the tensor,
    /// both counted; 0 if it is empty. `None` if that overflows.
    fn span(&self) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let steps = self.shape.iter().zip(&self.strides);
        steps
            .into_iter()
            .try_fold(1_usize, |span, (&dim, &stride)| {
                span.checked_add((dim - 1).checked_mul(stride)?)
            })
    }
}

/// An open pth file.
#[derive(Debug, Clone)]
pub struct File {
    archive: Archive,
    big_endian: bool,
    tensors: Vec<TensorInfo>,
    /// Tensors that cannot be used, and why.
    unusable: Vec<(String, String)>,
    index: NameIndex,
}

impl File {
    /// Maps the file at `path`. Tensors are those of the dictionary under `key`, or, without one,
    /// of the dictionary that the file is.
    pub fn open(path: impl AsRef<Path>, key: Option<&str>) -> Result<Self> {
        Self::from_archive(Archive::open("pth", path.as_ref())?, key)
    }

    /// Reads a file that is in memory already.
    pub fn from_bytes(bytes: Vec<u8>, key: Option<&str>) -> Result<Self> {
        Self::from_archive(Archive::from_bytes("pth", bytes)?, key)
    }

    fn from_archive(archive: Archive, key: Option<&str>) -> Result<Self> {
        const PICKLE: &str = "data.pkl";
        let entry = archive
            .names()
            .find(|name| name.rsplit('/').next() == Some(PICKLE))
            .ok_or_else(|| malformed(format!("the archive has no {PICKLE}")))?
            .to_string();
        let folder = &entry[..entry.len() - PICKLE.len()];
        let big_endian = byte_order(&archive, &format!("{folder}byteorder"))?;
        let bytes = archive.bytes(&entry)?;
        let pickle = Pickle::read(&bytes)?;
        let mut file = File {
            big_endian,
            tensors: Vec::new(),
            unusable: Vec::new(),
            index: NameIndex::default(),
            archive,
        };
        for &(name, value) in dictionary(&pickle, key)? {
            let Some(name) = pickle.text(name) else {
                continue;
            };
            match rebuild::tensor(&pickle, value, name, folder) {
                None => {}
                Some(Ok(info)) => match file.check(&info) {
                    Ok(()) => file.tensors.push(info),
                    Err(problem) => file.unusable.push((info.name, problem)),
                },
                Some(Err(problem)) => file.unusable.push((name.to_string(), problem)),
            }
        }
        let tensors = &file.tensors;
        file.index =
            NameIndex::build(tensors.len(), |i| tensors[i].name.as_str()).map_err(|twin| {
                malformed(format!(
                    "tensor {} is there twice",
                    Quoted(&tensors[twin].name)
                ))
            })?;
        Ok(file)
    }

    /// That the tensor lies in its storage, and the storage in the archive.
    fn check(&self, info: &TensorInfo) -> Result<(), String> {
        let TensorInfo {
            shape,
            strides,
            offset,
            storage_len,
            ..
        } = info;
        if shape.len() != strides.len() {
            return Err(format!(
                "shape {shape:?} and strides {strides:?} differ in length"
            ));
        }
        if info.element.bytes_of(shape).is_none() {
            return Err(format!("shape {shape:?} is larger than memory"));
        }
        let end = info.span().and_then(|span| span.checked_add(*offset));
        if end.is_none_or(|end| end > *storage_len) {
            return Err(format!(
                "shape {shape:?} with strides {strides:?} from element {offset} on passes the \
                 {storage_len} of its storage"
            ));
        }
        let wanted = (*storage_len as u64).checked_mul(info.element.byte_len() as u64);
        let found = self.archive.byte_len(&info.storage);
        match (wanted, found) {
            (Some(wanted), Some(found)) if wanted <= found => Ok(()),
            (_, Some(found)) => Err(format!(
                "storage {} has {found} bytes; {storage_len} {} are declared",
                Quoted(&info.storage),
                info.element
            )),
            (_, None) => Err(format!(
                "the archive has no storage {}",
                Quoted(&info.storage)
            )),
        }
    }

    /// All tensors that can be used, in the order of the file.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = &TensorInfo> {
        self.tensors.iter()
    }

    /// Names of the tensors that cannot be used; [`File::tensor`] says what is wrong.
    pub fn unusable(&self) -> impl ExactSizeIterator<Item = &str> {
        self.unusable.iter().map(|(name, _)| name.as_str())
    }

    /// The tensor of this name; an error says what is wrong with it, or that there is none.
    pub fn tensor(&self, name: &str) -> Result<&TensorInfo> {
        if let Some(position) = self.index.find(name, |i| self.tensors[i].name.as_str()) {
            return Ok(&self.tensors[position]);
        }
        let name = name.to_string();
        Err(match self.unusable.iter().find(|entry| entry.0 == name) {
            Some((_, problem)) => Error::Tensor {
                format: "pth",
                name,
                problem: problem.clone(),
            },
            None => Error::MissingTensor {
                format: "pth",
                name,
            },
        })
    }

    /// Calls `read` with the part of the storage that the tensor spans, from its first element to
    /// its last, lowest byte first; strides count from there.
    pub fn with_span<R>(
        &self,
        name: &str,
        read: impl FnOnce(&TensorInfo, &[u8]) -> R,
    ) -> Result<R> {
        let info = self.tensor(name)?;
        let bytes = self.archive.bytes(&info.storage)?;
        let size = info.element.byte_len();
        let span = info.span().unwrap_or(0);
        // Checked when the file was opened: offset, span and size stay within the entry.
        let part = bytes.get(info.offset * size..(info.offset + span) * size);
        let Some(part) = part.or((span == 0).then_some(&[])) else {
            return Err(malformed(format!(
                "storage {} is cut short",
                Quoted(&info.storage)
            )));
        };
        let elements: Cow<'_, [u8]> = info.element.little_endian(part, self.big_endian);
        Ok(read(info, &elements))
    }
}

/// True if the file was written on a big-endian machine.
fn byte_order(archive: &Archive, entry: &str) -> Result<bool> {
    if !archive.contains(entry) {
        return Ok(false);
    }
    match &*archive.first_bytes(entry, 16)? {
        b"little" => Ok(false),
        b"big" => Ok(true),
        other => {
            let shown = other.escape_ascii();
            Err(malformed(format!(
                "byteorder is \"{shown}\"; want little or big"
            )))
        }
    }
}

/// The entries of the dictionary that has the tensors.
fn dictionary<'p>(pickle: &'p Pickle<'_>, key: Option<&str>) -> Result<&'p [(Id, Id)]> {
    let entries = |id| {
        pickle
            .entries(id)
            .ok_or_else(|| malformed("the pickle is no dictionary of tensors".to_string()))
    };
    let root = entries(pickle.root())?;
    let Some(key) = key else {
        return Ok(root);
    };
    match root
        .iter()
        .find(|(found, _)| pickle.text(*found) == Some(key))
    {
        Some((_, value)) => entries(*value),
        None => Err(malformed(format!(
            "no key {} in the dictionary",
            Quoted(key)
        ))),
    }
}

fn malformed(problem: String) -> Error {
    Error::Malformed {
        format: "pth",
        problem,
    }
}
