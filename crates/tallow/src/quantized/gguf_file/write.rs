//! Writes a file, version 3.

use std::io::{Seek, Write};

use super::super::QTensor;
use super::value::{Value, encode};
use crate::Result;
use tallow_formats::gguf::{Contents, Metadata};

/// Writes keys and tensors, in the order in which they are given. The key `general.alignment`
/// sets where tensor data may begin. To write to a path, and the file whole or not at all, use
/// [`tallow_formats::gguf::Writer`].
///
/// # Errors
/// A key or a name that comes twice, an array whose items are not of one type, or the writer's
/// refusal.
pub fn write<W: Seek + Write>(
    w: &mut W,
    metadata: &[(&str, &Value)],
    tensors: &[(&str, &QTensor)],
) -> Result<()> {
    let mut keys = Metadata::new();
    for (key, value) in metadata {
        keys.insert(*key, encode(value)?)?;
    }
    let mut contents = Contents::new(keys);
    for (name, tensor) in tensors {
        contents.push_tensor(name, tensor.shape().dims(), tensor.dtype().to_u32())?;
    }
    let (header, alignment) = contents.encode()?;
    w.write_all(&header)?;
    for (_, tensor) in tensors {
        let data = tensor.data()?;
        w.write_all(&data)?;
        let padding = (data.len() as u64).next_multiple_of(alignment) - data.len() as u64;
        std::io::copy(&mut std::io::Read::take(std::io::repeat(0), padding), w)?;
    }
    Ok(())
}
