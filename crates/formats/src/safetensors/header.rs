//! The JSON header of one file, and the checks of its offsets.
//!
//! Data offsets count from the end of the header. Sorted, the tensors must follow one another
//! without hole or overlap and end with the file, and each must have the bytes that its shape and
//! dtype ask for; a file that passes cannot lead a reader out of it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use ::safetensors::Dtype;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use super::unique_map::UniqueMap;
use super::{TensorInfo, malformed};
use crate::error::{Error, Quoted, Result, printable};

/// The format's own limit on the length of a header.
pub(super) const MAX_HEADER_BYTES: usize = 100_000_000;
const LEN_BYTES: usize = 8;

/// What the header of one file says, checked against the length of the file.
pub(super) struct Header {
    pub(super) metadata: BTreeMap<String, String>,
    /// In the order of their data, as shard 0.
    pub(super) tensors: Vec<TensorInfo>,
}

impl Header {
    /// Parses and checks the header of a file of which these are all bytes.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let (json, data) = split(bytes)?;
        let data_offset = bytes.len() - data.len();
        let json: JsonHeader = serde_json::from_slice(json)
            .map_err(|error| malformed(format!("header: {}", printable(&error))))?;
        let mut entries = json.tensors;
        entries.sort_by_key(|(_, entry)| entry.data_offsets);
        let mut tensors = Vec::with_capacity(entries.len());
        let mut end = 0;
        for (name, entry) in entries {
            match entry.byte_len(end, data.len()) {
                Ok(byte_len) => {
                    let byte_offset = data_offset + end;
                    let Entry { dtype, shape, .. } = entry;
                    tensors.push(TensorInfo {
                        name,
                        dtype,
                        shape,
                        shard: 0,
                        byte_offset,
                        byte_len,
                    });
                    end += byte_len;
                }
                Err(problem) => {
                    return Err(Error::Tensor {
                        format: "safetensors",
                        name,
                        problem,
                    });
                }
            }
        }
        if end < data.len() {
            let rest = data.len() - end;
            let at = data_offset + end;
            return Err(malformed(format!(
                "{rest} bytes from byte {at:#x} on belong to no tensor"
            )));
        }
        Ok(Header {
            metadata: json.metadata,
            tensors,
        })
    }
}

/// The header's JSON text, and the data after it.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let Some((len_bytes, rest)) = bytes.split_first_chunk::<LEN_BYTES>() else {
        return Err(malformed(format!(
            "file ends early: the header's length takes {LEN_BYTES} bytes; the file has {}",
            bytes.len()
        )));
    };
    let len = u64::from_le_bytes(*len_bytes);
    if len > MAX_HEADER_BYTES as u64 {
        return Err(malformed(format!(
            "header of {len} bytes; {MAX_HEADER_BYTES} at most (is this a safetensors file?)"
        )));
    }
    rest.split_at_checked(len as usize).ok_or_else(|| {
        malformed(format!(
            "file ends early: a header of {len} bytes; {} are left",
            rest.len()
        ))
    })
}

/// One tensor in the header.
#[derive(Deserialize)]
struct Entry {
    #[serde(deserialize_with = "dtype")]
    dtype: Dtype,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl Entry {
    /// The tensor's bytes, if it begins at `expected` in data of `data_len` bytes.
    fn byte_len(&self, expected: usize, data_len: usize) -> Result<usize, String> {
        let Entry {
            dtype,
            shape,
            data_offsets: (begin, end),
        } = self;
        if end < begin {
            return Err(format!("data_offsets [{begin}, {end}] run backwards"));
        }
        if *end > data_len {
            return Err(format!(
                "data_offsets [{begin}, {end}] outside the file: it has {data_len} bytes of data \
                 (is it cut short?)"
            ));
        }
        if *begin < expected {
            return Err(format!(
                "data_offsets [{begin}, {end}] overlap the tensor before, which ends at {expected}"
            ));
        }
        if *begin > expected {
            return Err(format!(
                "data_offsets [{begin}, {end}] leave a hole: the tensor before ends at {expected}"
            ));
        }
        let bits = shape
            .iter()
            .try_fold(dtype.bitsize(), |bits, &dim| bits.checked_mul(dim));
        // A dim of 0 hides an overflow of the others, so the elements are looked at as well.
        let elements = shape
            .iter()
            .filter(|&&dim| dim > 0)
            .try_fold(1_usize, |n, &dim| n.checked_mul(dim));
        let (Some(bits), Some(_)) = (bits, elements) else {
            return Err(format!(
                "shape {shape:?} has more elements than fit in memory"
            ));
        };
        if !bits.is_multiple_of(8) {
            return Err(format!(
                "shape {shape:?} of {dtype} does not fill whole bytes"
            ));
        }
        let byte_len = end - begin;
        if bits / 8 != byte_len {
            let wanted = bits / 8;
            return Err(format!(
                "data_offsets [{begin}, {end}] are {byte_len} bytes; shape {shape:?} of {dtype} \
                 takes {wanted}"
            ));
        }
        Ok(byte_len)
    }
}

fn dtype<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Dtype, D::Error> {
    let name = Cow::<'_, str>::deserialize(deserializer)?;
    Dtype::deserialize(StrDeserializer::<de::value::Error>::new(&name))
        .map_err(|_| de::Error::custom(format!("unknown dtype {}", Quoted(&name))))
}

/// The header as it stands, names and metadata keys each once.
#[derive(Default)]
struct JsonHeader {
    metadata: BTreeMap<String, String>,
    tensors: Vec<(String, Entry)>,
}

impl<'de> Deserialize<'de> for JsonHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = JsonHeader;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<JsonHeader, A::Error> {
        let mut header = JsonHeader::default();
        let mut has_metadata = false;
        while let Some(name) = access.next_key::<String>()? {
            if name == "__metadata__" {
                if has_metadata {
                    return Err(de::Error::custom("__metadata__ is there twice"));
                }
                has_metadata = true;
                let UniqueMap(metadata) = access.next_value().map_err(|e| named(&name, &e))?;
                header.metadata = metadata;
            } else {
                let entry = access.next_value().map_err(|error| named(&name, &error))?;
                header.tensors.push((name, entry));
            }
        }
        Ok(header)
    }
}

fn named<E: de::Error>(name: &str, error: &E) -> E {
    E::custom(format!("{}: {error}", Quoted(name)))
}
