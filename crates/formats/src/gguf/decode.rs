//! Bytes to header: everything in a GGUF file before the tensor data.
//!
//! ```text
//! magic "GGUF"   version u32   tensor count   key count
//! key count    × key string, type u32, value
//! tensor count × name string, rank u32, rank dims, type u32, data offset u64
//! zeros to a multiple of the alignment; then tensor data, each at its offset from here
//! ```
//!
//! Counts, string lengths and dims have 32 bits in version 1, and 64 in versions 2 and 3. Format:
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

use std::fmt;

use super::malformed;
use super::metadata::Metadata;
use super::tensor::{RawTensor, Tensors};
use super::value::{Array, Strings, Value};
use crate::cursor::{Cursor, What};
use crate::error::{Quoted, Result};

/// Alignment of tensor data where the file gives none.
pub(super) const DEFAULT_ALIGNMENT: u64 = 32;
/// The metadata key that gives another.
pub(super) const ALIGNMENT_KEY: &str = "general.alignment";
/// Arrays within arrays: no file in use has more than two, and each level is a level of
/// recursion here.
pub(super) const MAX_ARRAY_DEPTH: usize = 8;
/// ggml has at most 4 dims; the format allows for more one day.
pub(super) const MAX_RANK: u32 = 8;

const MAGIC: &[u8; 4] = b"GGUF";
/// Formats of ggml before GGUF, as their first four bytes stand in the file.
const OLD_MAGICS: [&[u8; 4]; 4] = [b"lmgg", b"fmgg", b"tjgg", b"algg"];

/// The parsed header of a file: all but the tensor data.
#[derive(Debug)]
pub struct Header {
    pub(super) version: u32,
    pub(super) alignment: u64,
    pub(super) metadata: Metadata,
    pub(super) tensors: Tensors,
    /// Where tensor data begins; past the end of the file if it has none.
    pub(super) data_offset: u64,
}

/// Parses the header of a file of which these are all bytes.
pub(super) fn decode(bytes: &[u8]) -> Result<Header> {
    decode_from(
        &mut Cursor::new("gguf", bytes, bytes.len() as u64),
        bytes.len() as u64,
    )
}

/// Parses a header through a cursor that is at the beginning of a file of `file_len` bytes.
pub(super) fn decode_from(cursor: &mut Cursor<'_>, file_len: u64) -> Result<Header> {
    let version = version(cursor)?;
    cursor.set_wide_counts(version > 1);
    let count_bytes = cursor.count_bytes();
    // A tensor has at least a name length, a rank, a type and an offset; a key a length, a type
    // and a value of a byte.
    let tensor_count = cursor.count(count_bytes + 4 + 4 + 8, &"tensor count")?;
    let key_count = cursor.count(count_bytes + 4 + 1, &"key count")?;

    let metadata = metadata(cursor, key_count)?;
    let alignment = alignment(&metadata)?;
    let mut raw = Vec::with_capacity(first_reserve(tensor_count));
    for position in 0..tensor_count {
        raw.push(tensor(cursor, position)?);
    }
    raw.shrink_to_fit();
    let data_offset = (cursor.at() as u64).next_multiple_of(alignment);
    let tensors = Tensors::place(raw, alignment, data_offset, file_len)?;
    Ok(Header {
        version,
        alignment,
        metadata,
        tensors,
        data_offset,
    })
}

/// The version, once the first bytes say that this is a GGUF file.
fn version(cursor: &mut Cursor<'_>) -> Result<u32> {
    let magic: [u8; 4] = cursor.array(&"magic")?;
    if &magic != MAGIC {
        let shown = magic.escape_ascii();
        return Err(malformed(if OLD_MAGICS.contains(&&magic) {
            format!("wrong magic \"{shown}\": this is ggml's format before GGUF; convert the file")
        } else {
            format!("wrong magic \"{shown}\": a GGUF file begins with \"GGUF\"")
        }));
    }
    match cursor.u32(&"version")? {
        version @ 1..=3 => Ok(version),
        version if (1..=3).contains(&version.swap_bytes()) => Err(malformed(format!(
            "this is a big-endian file (version {}); little-endian files can be read",
            version.swap_bytes()
        ))),
        version => Err(malformed(format!(
            "unknown version {version}; 1, 2 and 3 can be read"
        ))),
    }
}

fn metadata(cursor: &mut Cursor<'_>, key_count: usize) -> Result<Metadata> {
    let mut entries = Vec::with_capacity(first_reserve(key_count));
    for position in 0..key_count {
        let key = cursor.string(&format_args!("key {position}"))?;
        let type_id = cursor.u32(&Named("type of key", key))?;
        let value = value(cursor, type_id, &Named("value of key", key))?;
        entries.push((key.to_string(), value));
    }
    entries.shrink_to_fit();
    Metadata::from_entries(entries)
        .map_err(|key| malformed(format!("key {} is there twice", Quoted(&key))))
}

fn alignment(metadata: &Metadata) -> Result<u64> {
    let alignment = metadata
        .find::<u32>(ALIGNMENT_KEY)?
        .map_or(DEFAULT_ALIGNMENT, u64::from);
    if !alignment.is_power_of_two() {
        let problem = format!("{ALIGNMENT_KEY} is {alignment}; a power of two is needed");
        return Err(malformed(problem));
    }
    Ok(alignment)
}

fn tensor(cursor: &mut Cursor<'_>, position: usize) -> Result<RawTensor> {
    let name = cursor.string(&format_args!("name of tensor {position}"))?;
    let what = Named("header of tensor", name);
    let rank_at = cursor.at();
    let rank = cursor.u32(&what)?;
    if rank > MAX_RANK {
        return Err(malformed(format!(
            "tensor {}: {rank} dims at byte {rank_at:#x}; {MAX_RANK} at most",
            Quoted(name)
        )));
    }
    let mut dims = Vec::with_capacity(rank as usize);
    for _ in 0..rank {
        dims.push(cursor.size(&what)?);
    }
    let type_at = cursor.at();
    let type_id = cursor.u32(&what)?;
    let offset = cursor.u64(&what)?;
    Ok(RawTensor {
        name: name.to_string(),
        dims,
        type_id,
        type_at,
        offset,
    })
}

fn value(cursor: &mut Cursor<'_>, type_id: u32, what: What<'_>) -> Result<Value> {
    Ok(match type_id {
        0 => Value::U8(u8::from_le_bytes(cursor.array(what)?)),
        1 => Value::I8(i8::from_le_bytes(cursor.array(what)?)),
        2 => Value::U16(u16::from_le_bytes(cursor.array(what)?)),
        3 => Value::I16(i16::from_le_bytes(cursor.array(what)?)),
        4 => Value::U32(u32::from_le_bytes(cursor.array(what)?)),
        5 => Value::I32(i32::from_le_bytes(cursor.array(what)?)),
        6 => Value::F32(f32::from_le_bytes(cursor.array(what)?)),
        7 => {
            let at = cursor.at();
            let [byte] = cursor.array(what)?;
            Value::Bool(boolean(byte, at, what)?)
        }
        8 => Value::String(cursor.string(what)?.to_string()),
        9 => Value::Array(array(cursor, what, 1)?),
        10 => Value::U64(u64::from_le_bytes(cursor.array(what)?)),
        11 => Value::I64(i64::from_le_bytes(cursor.array(what)?)),
        12 => Value::F64(f64::from_le_bytes(cursor.array(what)?)),
        _ => return Err(unknown_type(type_id, cursor.at() - 4, what)),
    })
}

fn array(cursor: &mut Cursor<'_>, what: What<'_>, depth: usize) -> Result<Array> {
    let type_at = cursor.at();
    if depth > MAX_ARRAY_DEPTH {
        return Err(malformed(format!(
            "{what}: arrays nested deeper than {MAX_ARRAY_DEPTH} at byte {type_at:#x}"
        )));
    }
    let type_id = cursor.u32(what)?;
    Ok(match type_id {
        0 => Array::U8(numbers(cursor, what, u8::from_le_bytes)?),
        1 => Array::I8(numbers(cursor, what, i8::from_le_bytes)?),
        2 => Array::U16(numbers(cursor, what, u16::from_le_bytes)?),
        3 => Array::I16(numbers(cursor, what, i16::from_le_bytes)?),
        4 => Array::U32(numbers(cursor, what, u32::from_le_bytes)?),
        5 => Array::I32(numbers(cursor, what, i32::from_le_bytes)?),
        6 => Array::F32(numbers(cursor, what, f32::from_le_bytes)?),
        7 => Array::Bool(booleans(cursor, what)?),
        8 => Array::String(strings(cursor, what)?),
        9 => {
            let count = cursor.count(4 + cursor.count_bytes(), &ArrayLen(what))?;
            let mut items = Vec::with_capacity(first_reserve(count));
            for _ in 0..count {
                items.push(array(cursor, what, depth + 1)?);
            }
            items.shrink_to_fit();
            Array::Nested(items)
        }
        10 => Array::U64(numbers(cursor, what, u64::from_le_bytes)?),
        11 => Array::I64(numbers(cursor, what, i64::from_le_bytes)?),
        12 => Array::F64(numbers(cursor, what, f64::from_le_bytes)?),
        _ => return Err(unknown_type(type_id, type_at, what)),
    })
}

fn numbers<T, const N: usize>(
    cursor: &mut Cursor<'_>,
    what: What<'_>,
    from_le_bytes: fn([u8; N]) -> T,
) -> Result<Vec<T>> {
    let count = cursor.count(N, &ArrayLen(what))?;
    let (chunks, _) = cursor.take(count * N, what)?.as_chunks::<N>();
    Ok(chunks.iter().copied().map(from_le_bytes).collect())
}

fn booleans(cursor: &mut Cursor<'_>, what: What<'_>) -> Result<Vec<bool>> {
    let count = cursor.count(1, &ArrayLen(what))?;
    let at = cursor.at();
    let bytes = cursor.take(count, what)?;
    bytes
        .iter()
        .enumerate()
        .map(|(i, &byte)| boolean(byte, at + i, what))
        .collect()
}

fn strings(cursor: &mut Cursor<'_>, what: What<'_>) -> Result<Strings> {
    let count = cursor.count(cursor.count_bytes(), &ArrayLen(what))?;
    let mut strings = Strings::new();
    for position in 0..count {
        strings.push(cursor.string(&format_args!("item {position} of {what}"))?);
    }
    strings.shrink_to_fit();
    Ok(strings)
}

fn boolean(byte: u8, at: usize, what: What<'_>) -> Result<bool> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(malformed(format!(
            "{what}: bool is {byte} at byte {at:#x}; 0 or 1 is needed"
        ))),
    }
}

fn unknown_type(type_id: u32, at: usize, what: What<'_>) -> crate::Error {
    malformed(format!(
        "{what}: unknown value type {type_id} at byte {at:#x}; 0 to 12 are known"
    ))
}

/// What a field is, for messages: a role, and the name of the key or tensor that it belongs to.
struct Named<'a>(&'static str, &'a str);

impl fmt::Display for Named<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.0, Quoted(self.1))
    }
}

/// The length of an array, in a field that is described already.
struct ArrayLen<'a>(What<'a>);

impl fmt::Display for ArrayLen<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "array length in {}", self.0)
    }
}

/// How much to reserve for a count from the file: lists grow past this only as items are read.
fn first_reserve(count: usize) -> usize {
    const MAX_ITEMS: usize = 1024;
    count.min(MAX_ITEMS)
}
