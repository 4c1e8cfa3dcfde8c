//! Importance matrices: how much each column of a weight matters, measured on a text.
//!
//! ```text
//! entry count i32
//! for each entry: name length i32, name, calls i32, value count i32, sums of squares f32
//! calls of the last chunk i32, name of the text (both may be missing)
//! ```
//!
//! Newer files are GGUF, with two tensors for a weight: `NAME.in_sum2` and `NAME.counts`. Values
//! are the sums divided by the calls; weights of several matrices have one after the other.

use std::path::Path;

use crate::cursor::Cursor;
use crate::error::{Error, Quoted, Result};
use crate::gguf;
use crate::source::{SharedBytes, Source};

const FORMAT: &str = "imatrix";
/// Block type of 32-bit floats.
const F32: u32 = 0;

/// Reads the file at `path`: the name of each weight, and a value for each of its columns.
pub fn open(path: impl AsRef<Path>) -> Result<Vec<(String, Vec<f32>)>> {
    let source = Source::map(FORMAT, path.as_ref())?;
    let len = source.as_slice().len();
    from_shared(SharedBytes::new(source.into(), 0..len))
}

/// Reads a file that is in memory already.
///
/// ```
/// let mut file = 1_i32.to_le_bytes().to_vec();
/// file.extend(1_i32.to_le_bytes());
/// file.extend(b"w");
/// file.extend([2_i32, 1].map(i32::to_le_bytes).concat());
/// file.extend(3_f32.to_le_bytes());
/// let entries = tallow_formats::imatrix::from_bytes(file)?;
/// assert_eq!(entries, [("w".to_string(), vec![1.5])]);
/// # Ok::<(), tallow_formats::Error>(())
/// ```
pub fn from_bytes(bytes: Vec<u8>) -> Result<Vec<(String, Vec<f32>)>> {
    from_shared(SharedBytes::owned(bytes))
}

fn from_shared(bytes: SharedBytes) -> Result<Vec<(String, Vec<f32>)>> {
    if bytes.starts_with(b"GGUF") {
        return from_gguf(&gguf::File::from_bytes(bytes.to_vec())?);
    }
    let mut cursor = Cursor::new(FORMAT, &bytes, bytes.len() as u64);
    cursor.set_wide_counts(false);
    // An entry has at least a name length, calls and a count.
    let count = cursor.count(12, &"entry count")?;
    let mut entries = Vec::new();
    for position in 0..count {
        let name = cursor.string(&format_args!("name of entry {position}"))?;
        let what = format!("entry {}", Quoted(name));
        let calls = i32::from_le_bytes(cursor.array(&what)?);
        let len = cursor.count(size_of::<f32>(), &what)?;
        let sums = cursor.take(len * size_of::<f32>(), &what)?;
        entries.push((name.to_string(), means(sums, calls as f32)));
    }
    Ok(entries)
}

/// Sums over calls; sums as they are where nothing was counted.
fn means(sums: &[u8], calls: f32) -> Vec<f32> {
    let calls = if calls > 0.0 { calls } else { 1.0 };
    let (sums, _) = sums.as_chunks::<4>();
    sums.iter()
        .map(|&sum| f32::from_le_bytes(sum) / calls)
        .collect()
}

fn from_gguf(file: &gguf::File) -> Result<Vec<(String, Vec<f32>)>> {
    let mut entries = Vec::new();
    for full_name in file.tensor_names() {
        let Some(name) = full_name.strip_suffix(".in_sum2") else {
            continue;
        };
        let counts_name = format!("{name}.counts");
        let (sums, counts) = (floats(file, full_name)?, floats(file, &counts_name)?);
        let (counts, _) = counts.as_chunks::<4>();
        let columns = sums.len().checked_div(counts.len()).unwrap_or(0);
        if counts.is_empty() || columns * counts.len() != sums.len() {
            return Err(Error::Tensor {
                format: FORMAT,
                name: full_name.to_string(),
                problem: format!("{} sums for {} counts", sums.len() / 4, counts.len()),
            });
        }
        let matrices = sums.chunks(columns.max(1)).zip(counts);
        let values = matrices.flat_map(|(sums, &count)| {
            // A matrix that was never used has no say: all columns matter alike.
            match f32::from_le_bytes(count) {
                count if count > 0.0 => means(sums, count),
                _ => vec![1.0; sums.len() / 4],
            }
        });
        entries.push((name.to_string(), values.collect()));
    }
    Ok(entries)
}

fn floats<'a>(file: &'a gguf::File, name: &str) -> Result<&'a [u8]> {
    let info = file.tensor(name)?;
    match info.type_id {
        F32 => file.bytes(name),
        _ => Err(Error::Tensor {
            format: FORMAT,
            name: name.to_string(),
            problem: format!("is {}; want F32", info.type_name()),
        }),
    }
}
