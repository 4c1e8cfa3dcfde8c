//! Writes GGUF version 3: the header first, then the data of one tensor after another.
//!
//! The header holds the place of every tensor, so names, shapes and types must be known before
//! the first byte of data: they are [`Contents`]. Data then stream through [`Writer::write`] in
//! pieces of any size, so that a model need not fit in memory to be written. The file appears at
//! its path, whole, when [`Writer::finish`] returns; see [`AtomicFile`].

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::decode::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, MAX_ARRAY_DEPTH, MAX_RANK};
use super::metadata::Metadata;
use super::types::BlockType;
use super::value::{Array, Strings, Value};
use crate::atomic_file::AtomicFile;
use crate::error::{Error, Quoted, Result};
use crate::name_index::NameIndex;

/// Rows of quantized weights are a few hundred bytes; this makes them a few system calls a MiB.
const BUFFER_BYTES: usize = 256 * 1024;

/// What a new file will hold: its metadata, and the name, shape and type of each tensor.
#[derive(Debug, Clone)]
pub struct Contents {
    metadata: Metadata,
    tensors: Vec<Planned>,
    index: NameIndex,
}

/// A tensor that is to be written.
#[derive(Debug, Clone)]
struct Planned {
    name: String,
    /// Row-major.
    shape: Vec<usize>,
    type_id: u32,
    byte_len: u64,
}

impl Contents {
    /// A file with this metadata and no tensors yet. The key `general.alignment`, if there is
    /// one, sets where tensor data may begin.
    pub fn new(metadata: Metadata) -> Self {
        Contents {
            metadata,
            tensors: Vec::new(),
            index: NameIndex::default(),
        }
    }

    /// Adds a tensor, row-major shape, after those that are there.
    ///
    /// # Errors
    /// A name that is there already, an unknown type, rows that do not divide into blocks, more
    /// than 8 dims, or a size that overflows.
    pub fn push_tensor(&mut self, name: &str, shape: &[usize], type_id: u32) -> Result<&mut Self> {
        let fail = |problem: String| tensor_error(name, problem);
        let block_type = BlockType::from_id(type_id)
            .ok_or_else(|| fail(format!("unknown block type {type_id}")))?;
        if shape.len() > MAX_RANK as usize {
            return Err(fail(format!(
                "shape {shape:?} has more than {MAX_RANK} dims"
            )));
        }
        let row_len = shape.last().copied().unwrap_or(1);
        let BlockType {
            name: type_name,
            block_len,
            block_bytes,
            ..
        } = *block_type;
        if !row_len.is_multiple_of(block_len) {
            return Err(fail(format!(
                "shape {shape:?}: rows of {row_len} elements do not divide into {type_name} \
                 blocks of {block_len}"
            )));
        }
        let elements = shape
            .iter()
            .try_fold(1_u64, |product, &dim| product.checked_mul(dim as u64));
        let byte_len = elements
            .and_then(|elements| (elements / block_len as u64).checked_mul(block_bytes as u64))
            .ok_or_else(|| fail(format!("shape {shape:?} overflows")))?;
        if !self.index.push(name, |i| self.tensors[i].name.as_str()) {
            return Err(fail("is there already".to_string()));
        }
        let (name, shape) = (name.to_string(), shape.to_vec());
        self.tensors.push(Planned {
            name,
            shape,
            type_id,
            byte_len,
        });
        Ok(self)
    }

    /// The encoded header, padded so that data can follow, and the alignment: each tensor's data
    /// are padded with zeros to a multiple of it.
    pub fn encode(&self) -> Result<(Vec<u8>, u64)> {
        let alignment = match self.metadata.find::<u32>(ALIGNMENT_KEY)? {
            Some(alignment) => u64::from(alignment),
            None => DEFAULT_ALIGNMENT,
        };
        if !alignment.is_power_of_two() {
            let problem = format!("{ALIGNMENT_KEY} is {alignment}; a power of two is needed");
            return Err(Error::Malformed {
                format: "gguf",
                problem,
            });
        }
        let mut out = b"GGUF".to_vec();
        out.extend(3_u32.to_le_bytes());
        put_len(&mut out, self.tensors.len());
        put_len(&mut out, self.metadata.len());
        for (key, value) in self.metadata.iter() {
            put_string(&mut out, key);
            put_value(&mut out, value).map_err(|problem| Error::Malformed {
                format: "gguf",
                problem: format!("value of key {}: {problem}", Quoted(key)),
            })?;
        }
        let mut offset = 0_u64;
        for tensor in &self.tensors {
            put_string(&mut out, &tensor.name);
            out.extend((tensor.shape.len() as u32).to_le_bytes());
            for &dim in tensor.shape.iter().rev() {
                put_len(&mut out, dim);
            }
            out.extend(tensor.type_id.to_le_bytes());
            out.extend(offset.to_le_bytes());
            offset = offset
                .checked_add(tensor.byte_len)
                .and_then(|end| end.checked_next_multiple_of(alignment))
                .ok_or_else(|| tensor_error(&tensor.name, "data offset overflows".to_string()))?;
        }
        out.resize(out.len().next_multiple_of(alignment as usize), 0);
        Ok((out, alignment))
    }
}

/// How far a [`Writer`] has come.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The tensor that was written last.
    pub tensor: &'a str,
    /// Bytes of tensor data written so far.
    pub written_bytes: u64,
    /// Bytes of tensor data that the file will have.
    pub total_bytes: u64,
}

type OnProgress<'p> = Box<dyn FnMut(Progress<'_>) + Send + 'p>;

/// A file that is being written. Dropped before [`finish`](Writer::finish), or after an error of
/// the file system, it leaves nothing behind; a file that stood at the path stays as it was.
pub struct Writer<'p> {
    output: BufWriter<AtomicFile>,
    tensors: Vec<Planned>,
    alignment: u64,
    /// The tensor whose data come next, and how many bytes of it are written.
    current: usize,
    current_bytes: u64,
    written_bytes: u64,
    total_bytes: u64,
    on_progress: Option<OnProgress<'p>>,
}

impl<'p> Writer<'p> {
    /// Begins a file that will stand at `path`, and writes its header.
    pub fn create(path: impl AsRef<Path>, contents: Contents) -> Result<Self> {
        let path = path.as_ref();
        let (header, alignment) = contents.encode()?;
        let fail = |source| Error::io("gguf", "create", path, source);
        let file = AtomicFile::create(path).map_err(fail)?;
        let total_bytes = contents.tensors.iter().map(|tensor| tensor.byte_len).sum();
        let mut writer = Writer {
            output: BufWriter::with_capacity(BUFFER_BYTES, file),
            tensors: contents.tensors,
            alignment,
            current: 0,
            current_bytes: 0,
            written_bytes: 0,
            total_bytes,
            on_progress: None,
        };
        writer.put(&header)?;
        writer.skip_complete()?;
        Ok(writer)
    }

    /// Calls `on_progress` after each [`write`](Writer::write).
    pub fn with_progress(mut self, on_progress: impl FnMut(Progress<'_>) + Send + 'p) -> Self {
        self.on_progress = Some(Box::new(on_progress));
        self
    }

    /// Writes the next piece of the data of tensor `name`, or all of it. Tensors come in the
    /// order in which [`Contents::push_tensor`] named them.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let Some(tensor) = self.tensors.get(self.current) else {
            return Err(tensor_error(
                name,
                "data after the last tensor was complete".to_string(),
            ));
        };
        if tensor.name != name {
            // A tensor without elements is complete from the start; writing nothing to it is fine.
            if bytes.is_empty() {
                return Ok(());
            }
            let next = Quoted(&tensor.name);
            return Err(tensor_error(
                name,
                format!("out of order: data of {next} come next"),
            ));
        }
        let left = tensor.byte_len - self.current_bytes;
        if bytes.len() as u64 > left {
            let (len, all) = (bytes.len(), tensor.byte_len);
            let problem = format!("{len} bytes are too many: {left} of its {all} are left");
            return Err(tensor_error(name, problem));
        }
        self.put(bytes)?;
        self.current_bytes += bytes.len() as u64;
        self.written_bytes += bytes.len() as u64;
        self.skip_complete()?;
        if let Some(on_progress) = &mut self.on_progress {
            let (written_bytes, total_bytes) = (self.written_bytes, self.total_bytes);
            on_progress(Progress {
                tensor: name,
                written_bytes,
                total_bytes,
            });
        }
        Ok(())
    }

    /// Brings the file to the disk and puts it in its place.
    ///
    /// # Errors
    /// A tensor whose data are not complete, or the file system's refusal.
    pub fn finish(mut self) -> Result<()> {
        if let Some(tensor) = self.tensors.get(self.current) {
            let (have, want) = (self.current_bytes, tensor.byte_len);
            let problem = format!("incomplete: {have} of its {want} bytes were written");
            return Err(tensor_error(&tensor.name, problem));
        }
        let flushed = self.output.flush();
        self.check(flushed)?;
        let path = self.output.get_ref().target().to_path_buf();
        match self.output.into_inner() {
            Ok(file) => file.finish(),
            Err(error) => Err(error.into_error()),
        }
        .map_err(|source| Error::io("gguf", "finish", &path, source))
    }

    /// Pads and passes each tensor that is complete.
    fn skip_complete(&mut self) -> Result<()> {
        while let Some(tensor) = self.tensors.get(self.current) {
            if self.current_bytes < tensor.byte_len {
                break;
            }
            let len = tensor.byte_len;
            let mut padding = len.next_multiple_of(self.alignment) - len;
            const ZEROS: [u8; 256] = [0; 256];
            while padding > 0 {
                let piece = padding.min(ZEROS.len() as u64);
                self.put(&ZEROS[..piece as usize])?;
                padding -= piece;
            }
            self.current += 1;
            self.current_bytes = 0;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.output.write_all(bytes);
        self.check(written)
    }

    /// Removes the unfinished file if the system refused a write, and says which file that was.
    fn check(&mut self, written: io::Result<()>) -> Result<()> {
        written.map_err(|source| {
            let file = self.output.get_mut();
            file.discard();
            Error::io("gguf", "write", file.target(), source)
        })
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Writer")
            .field("target", &self.output.get_ref().target())
            .field("written_bytes", &self.written_bytes)
            .field("total_bytes", &self.total_bytes)
            .finish_non_exhaustive()
    }
}

fn tensor_error(name: &str, problem: String) -> Error {
    Error::Tensor {
        format: "gguf",
        name: name.to_string(),
        problem,
    }
}

fn put_len(out: &mut Vec<u8>, len: usize) {
    out.extend((len as u64).to_le_bytes());
}

fn put_string(out: &mut Vec<u8>, string: &str) {
    put_len(out, string.len());
    out.extend(string.as_bytes());
}

/// Type id and value.
fn put_value(out: &mut Vec<u8>, value: &Value) -> Result<(), String> {
    let mut put = |type_id: u32, bytes: &[u8]| {
        out.extend(type_id.to_le_bytes());
        out.extend(bytes);
    };
    match value {
        Value::U8(value) => put(0, &value.to_le_bytes()),
        Value::I8(value) => put(1, &value.to_le_bytes()),
        Value::U16(value) => put(2, &value.to_le_bytes()),
        Value::I16(value) => put(3, &value.to_le_bytes()),
        Value::U32(value) => put(4, &value.to_le_bytes()),
        Value::I32(value) => put(5, &value.to_le_bytes()),
        Value::F32(value) => put(6, &value.to_le_bytes()),
        Value::Bool(value) => put(7, &[u8::from(*value)]),
        Value::String(value) => {
            put(8, &[]);
            put_string(out, value);
        }
        Value::Array(array) => {
            put(9, &[]);
            put_array(out, array, 1)?;
        }
        Value::U64(value) => put(10, &value.to_le_bytes()),
        Value::I64(value) => put(11, &value.to_le_bytes()),
        Value::F64(value) => put(12, &value.to_le_bytes()),
    }
    Ok(())
}

/// Type id of the items, their number, and the items.
fn put_array(out: &mut Vec<u8>, array: &Array, depth: usize) -> Result<(), String> {
    if depth > MAX_ARRAY_DEPTH {
        return Err(format!("arrays nested deeper than {MAX_ARRAY_DEPTH}"));
    }
    match array {
        Array::U8(items) => put_items(out, 0, items, |item| item.to_le_bytes()),
        Array::I8(items) => put_items(out, 1, items, |item| item.to_le_bytes()),
        Array::U16(items) => put_items(out, 2, items, |item| item.to_le_bytes()),
        Array::I16(items) => put_items(out, 3, items, |item| item.to_le_bytes()),
        Array::U32(items) => put_items(out, 4, items, |item| item.to_le_bytes()),
        Array::I32(items) => put_items(out, 5, items, |item| item.to_le_bytes()),
        Array::F32(items) => put_items(out, 6, items, |item| item.to_le_bytes()),
        Array::Bool(items) => put_items(out, 7, items, |item| [u8::from(item)]),
        Array::String(items) => put_strings(out, items),
        Array::Nested(items) => {
            out.extend(9_u32.to_le_bytes());
            put_len(out, items.len());
            for item in items {
                put_array(out, item, depth + 1)?;
            }
        }
        Array::U64(items) => put_items(out, 10, items, |item| item.to_le_bytes()),
        Array::I64(items) => put_items(out, 11, items, |item| item.to_le_bytes()),
        Array::F64(items) => put_items(out, 12, items, |item| item.to_le_bytes()),
    }
    Ok(())
}

fn put_items<T: Copy, const N: usize>(
    out: &mut Vec<u8>,
    type_id: u32,
    items: &[T],
    to_le_bytes: impl Fn(T) -> [u8; N],
) {
    out.extend(type_id.to_le_bytes());
    put_len(out, items.len());
    out.reserve(items.len() * N);
    for &item in items {
        out.extend(to_le_bytes(item));
    }
}

fn put_strings(out: &mut Vec<u8>, items: &Strings) {
    out.extend(8_u32.to_le_bytes());
    put_len(out, items.len());
    for item in items.iter() {
        put_string(out, item);
    }
}
