//! Writes a safetensors file, whole or not at all.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use ::safetensors::Dtype;
use serde_json::{Map, Value, json};

use super::malformed;
use crate::atomic_file::AtomicFile;
use crate::error::{Error, Quoted, Result};

/// Data begin at a multiple of this many bytes.
const ALIGNMENT: usize = 8;

/// Writes tensors (name, dtype, row-major shape, little-endian data) to a file, which appears at
/// its path when all of it is on the disk. Wider dtypes come first, so that data are aligned, then
/// names decide.
///
/// # Errors
/// A name that comes twice, data that are not as many bytes as the shape takes, or the file
/// system's refusal.
pub fn write<'a, E: From<Error>>(
    path: impl AsRef<Path>,
    metadata: &BTreeMap<String, String>,
    tensors: &[(&str, Dtype, &[usize])],
    mut data: impl FnMut(usize) -> Result<std::borrow::Cow<'a, [u8]>, E>,
) -> Result<(), E> {
    let path = path.as_ref();
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(tensors[i].1.bitsize()), tensors[i].0));
    let (header, lengths) = header(metadata, tensors, &order)?;
    let fail = |action| move |source| Error::io("safetensors", action, path, source);
    let file = AtomicFile::create(path).map_err(fail("create"))?;
    let mut output = BufWriter::with_capacity(1 << 18, file);
    output.write_all(&header).map_err(fail("write"))?;
    for (&position, &length) in order.iter().zip(&lengths) {
        let bytes = data(position)?;
        if bytes.len() != length {
            let (name, got) = (Quoted(tensors[position].0), bytes.len());
            return Err(malformed(format!("tensor {name}: {got} bytes; want {length}")).into());
        }
        output.write_all(&bytes).map_err(fail("write"))?;
    }
    let file = output
        .into_inner()
        .map_err(|error| fail("write")(error.into_error()))?;
    file.finish().map_err(fail("finish"))?;
    Ok(())
}

/// The bytes before the data, and the length of each tensor's data in `order`.
fn header(
    metadata: &BTreeMap<String, String>,
    tensors: &[(&str, Dtype, &[usize])],
    order: &[usize],
) -> Result<(Vec<u8>, Vec<usize>)> {
    let mut entries = Map::new();
    if !metadata.is_empty() {
        entries.insert("__metadata__".to_string(), json!(metadata));
    }
    let (mut begin, mut lengths) = (0_usize, Vec::with_capacity(order.len()));
    for &position in order {
        let (name, dtype, shape) = tensors[position];
        let bits = shape
            .iter()
            .try_fold(dtype.bitsize(), |bits, &dim| bits.checked_mul(dim));
        let length = bits
            .filter(|bits| bits.is_multiple_of(8))
            .map(|bits| bits / 8);
        let end = length.and_then(|length| begin.checked_add(length));
        let (Some(length), Some(end)) = (length, end) else {
            let name = Quoted(name);
            return Err(malformed(format!(
                "tensor {name}: shape {shape:?} of {dtype} is too large, or no whole bytes"
            )));
        };
        let entry = json!({"dtype": dtype, "shape": shape, "data_offsets": [begin, end]});
        if entries.insert(name.to_string(), entry).is_some() {
            return Err(malformed(format!("tensor {} is there twice", Quoted(name))));
        }
        begin = end;
        lengths.push(length);
    }
    let mut text = Value::Object(entries).to_string().into_bytes();
    text.resize(text.len().next_multiple_of(ALIGNMENT), b' ');
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text);
    Ok((bytes, lengths))
}
