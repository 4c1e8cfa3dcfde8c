//! Where each tensor of a GGUF file lies, and what is wrong with those that cannot be used.
//!
//! A GGUF file lists dims fastest first; [`TensorInfo::shape`] is row-major, as everywhere in
//! Tallow, so a weight of `out` rows of `in` elements is `[out, in]`. Blocks lie along a row:
//! `block_len` divides the last dim.
//!
//! Faults are kept as a few numbers, and turned into text when a tensor is asked for, so that a
//! file full of faults costs no more memory than a sound one.

use super::malformed;
use super::types::{BlockType, removed_name};
use crate::error::{Error, Quoted, Result};
use crate::name_index::NameIndex;

/// One tensor of a file: its data are the bytes from `byte_offset` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name, such as `blk.0.attn_q.weight`.
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

impl TensorInfo {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// ggml's name of the block type, such as `Q4_K`.
    pub fn type_name(&self) -> &'static str {
        BlockType::from_id(self.type_id).map_or("unknown", |block_type| block_type.name)
    }
}

/// A tensor as the header has it.
pub(super) struct RawTensor {
    pub(super) name: String,
    /// Fastest first.
    pub(super) dims: Vec<u64>,
    pub(super) type_id: u32,
    /// Where in the file the type id stands.
    pub(super) type_at: usize,
    /// From the beginning of the data.
    pub(super) offset: u64,
}

/// What keeps one tensor from being used.
#[derive(Debug, Clone, Copy)]
enum Fault {
    UnknownType {
        type_at: usize,
    },
    TooManyElements,
    PartialBlock {
        row_len: u64,
        block_type: &'static BlockType,
    },
    Misaligned {
        offset: u64,
        alignment: u64,
    },
    OutsideFile {
        start: u64,
        len: u64,
        file_len: u64,
    },
    Overlap {
        start: usize,
        other: usize,
    },
}

#[derive(Debug)]
struct Entry {
    /// Without a place (`byte_len` 0) if there is a fault.
    info: TensorInfo,
    fault: Option<Fault>,
}

/// All tensors of a file, in its order.
#[derive(Debug)]
pub(super) struct Tensors {
    entries: Vec<Entry>,
    index: NameIndex,
}

impl Tensors {
    /// Gives each tensor its place in a file of `file_len` bytes, with data from `data_offset`.
    pub(super) fn place(
        raw: Vec<RawTensor>,
        alignment: u64,
        data_offset: u64,
        file_len: u64,
    ) -> Result<Self> {
        let file = DataRegion {
            alignment,
            data_offset,
            file_len,
        };
        let mut entries: Vec<Entry> = raw.into_iter().map(|tensor| file.place(tensor)).collect();
        let index =
            NameIndex::build(entries.len(), |i| entries[i].info.name.as_str()).map_err(|twin| {
                malformed(format!(
                    "tensor {} is there twice",
                    Quoted(&entries[twin].info.name)
                ))
            })?;
        find_overlaps(&mut entries);
        Ok(Tensors { entries, index })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn name(&self, position: usize) -> &str {
        &self.entries[position].info.name
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.index.find(name, |i| self.name(i))
    }

    /// The tensor at `position`, or what is wrong with it.
    pub(super) fn get(&self, position: usize) -> Result<&TensorInfo> {
        let entry = &self.entries[position];
        match &entry.fault {
            None => Ok(&entry.info),
            Some(fault) => Err(Error::Tensor {
                format: "gguf",
                name: entry.info.name.clone(),
                problem: self.problem(&entry.info, fault),
            }),
        }
    }

    fn problem(&self, info: &TensorInfo, fault: &Fault) -> String {
        let TensorInfo { shape, type_id, .. } = info;
        match *fault {
            Fault::UnknownType { type_at } => match removed_name(*type_id) {
                Some(name) => format!(
                    "block type {type_id} ({name}) at byte {type_at:#x} was taken out of ggml; \
                     quantize the model again"
                ),
                None => format!("unknown block type {type_id} at byte {type_at:#x}"),
            },
            Fault::TooManyElements => {
                format!("shape {shape:?} has more elements than fit in memory")
            }
            Fault::PartialBlock {
                row_len,
                block_type: BlockType {
                    name, block_len, ..
                },
            } => {
                format!(
                    "rows of {row_len} elements do not divide into {name} blocks of {block_len}"
                )
            }
            Fault::Misaligned { offset, alignment } => {
                format!("data offset {offset:#x} is not a multiple of the alignment {alignment}")
            }
            Fault::OutsideFile {
                start,
                len,
                file_len,
            } => format!(
                "data outside the file: {len} bytes from byte {start:#x}; the file has {file_len} \
                 (is it cut short?)"
            ),
            Fault::Overlap { start, other } => format!(
                "data at byte {start:#x} overlaps tensor {}",
                Quoted(&self.entries[other].info.name)
            ),
        }
    }
}

/// The part of a file that tensor data can lie in.
struct DataRegion {
    alignment: u64,
    data_offset: u64,
    file_len: u64,
}

impl DataRegion {
    fn place(&self, raw: RawTensor) -> Entry {
        let placed = self.locate(&raw);
        // A dim that does not fit a usize (on a 32-bit system) is only ever shown, in a message.
        let shape = raw
            .dims
            .iter()
            .rev()
            .map(|&dim| usize::try_from(dim).unwrap_or(usize::MAX));
        let (byte_offset, byte_len) = placed.unwrap_or_default();
        let info = TensorInfo {
            name: raw.name,
            shape: shape.collect(),
            type_id: raw.type_id,
            byte_offset,
            byte_len,
        };
        Entry {
            info,
            fault: placed.err(),
        }
    }

    /// Byte offset and length in the file.
    fn locate(&self, raw: &RawTensor) -> Result<(usize, usize), Fault> {
        let block_type = BlockType::from_id(raw.type_id).ok_or(Fault::UnknownType {
            type_at: raw.type_at,
        })?;
        let len = byte_len(&raw.dims, block_type)?;
        if !raw.offset.is_multiple_of(self.alignment) {
            return Err(Fault::Misaligned {
                offset: raw.offset,
                alignment: self.alignment,
            });
        }
        let start = self.data_offset.saturating_add(raw.offset);
        let end = start.checked_add(len);
        if end.is_none_or(|end| end > self.file_len) {
            return Err(Fault::OutsideFile {
                start,
                len,
                file_len: self.file_len,
            });
        }
        // Both fit where the file is in memory, or the system has 64 bits.
        match (usize::try_from(start), usize::try_from(len)) {
            (Ok(start), Ok(len)) => Ok((start, len)),
            _ => Err(Fault::TooManyElements),
        }
    }
}

/// Bytes of a tensor with these dims (fastest first).
fn byte_len(dims: &[u64], block_type: &'static BlockType) -> Result<u64, Fault> {
    // Without the dims of 0, so that no order of multiplication overflows later on.
    let positive = dims.iter().filter(|&&dim| dim > 0);
    let product = positive
        .clone()
        .try_fold(1_u64, |product, &dim| product.checked_mul(dim))
        .filter(|&product| isize::try_from(product).is_ok())
        .ok_or(Fault::TooManyElements)?;
    let is_empty = positive.count() < dims.len();
    let elements = if is_empty { 0 } else { product };
    let row_len = dims.first().copied().unwrap_or(1);
    if !row_len.is_multiple_of(block_type.block_len as u64) {
        return Err(Fault::PartialBlock {
            row_len,
            block_type,
        });
    }
    (elements / block_type.block_len as u64)
        .checked_mul(block_type.block_bytes as u64)
        .ok_or(Fault::TooManyElements)
}

/// Marks each tensor whose data begin before those of an earlier one end.
fn find_overlaps(entries: &mut [Entry]) {
    let occupied = |entry: &Entry| entry.fault.is_none() && entry.info.byte_len > 0;
    let mut order: Vec<usize> = (0..entries.len())
        .filter(|&i| occupied(&entries[i]))
        .collect();
    order.sort_by_key(|&i| entries[i].info.byte_offset);
    let mut furthest: Option<(usize, usize)> = None;
    for position in order {
        let info = &mut entries[position].info;
        let start = info.byte_offset;
        match furthest {
            Some((end, other)) if start < end => {
                info.byte_len = 0;
                entries[position].fault = Some(Fault::Overlap { start, other });
            }
            _ => furthest = Some((start + info.byte_len, position)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(name: &str, dims: &[u64], type_id: u32, offset: u64) -> RawTensor {
        RawTensor {
            name: name.to_string(),
            dims: dims.to_vec(),
            type_id,
            type_at: 64,
            offset,
        }
    }

    fn message(tensors: &Tensors, name: &str) -> String {
        tensors
            .get(tensors.find(name).unwrap())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn dims_are_reversed_and_places_absolute() {
        let tensors = Tensors::place(
            vec![raw("w", &[64, 2], 2, 32), raw("s", &[], 0, 0)],
            32,
            96,
            300,
        )
        .unwrap();
        let info = tensors.get(0).unwrap();
        assert_eq!(
            (info.shape.as_slice(), info.byte_offset, info.byte_len),
            (&[2, 64][..], 128, 72)
        );
        assert_eq!((info.len(), info.type_name()), (128, "Q4_0"));
        let scalar = tensors.get(1).unwrap();
        assert_eq!(
            (scalar.len(), scalar.byte_offset, scalar.byte_len),
            (1, 96, 4)
        );
    }

    #[test]
    fn each_fault_names_the_tensor_and_leaves_the_others() {
        let tensors = Tensors::place(
            vec![
                raw("fine", &[4], 0, 0),
                raw("unknown", &[4], 42, 0),
                raw("removed", &[4], 31, 0),
                raw("huge", &[1 << 40, 1 << 40], 0, 0),
                raw("hidden", &[0, 1 << 63, 1 << 63], 0, 0),
                raw("bytes", &[u64::MAX / 4], 28, 0),
                raw("partial", &[33], 2, 0),
                raw("crooked", &[1], 0, 8),
                raw("beyond", &[64], 0, 32),
                raw("far", &[64], 0, u64::MAX - 31),
                raw("over", &[1], 0, 0),
                raw("empty", &[0, 5], 0, 0),
            ],
            32,
            96,
            200,
        )
        .unwrap();
        assert!(tensors.get(0).is_ok());
        assert!(tensors.get(11).unwrap().is_empty());
        for (name, words) in [
            (
                "unknown",
                "gguf: tensor \"unknown\": unknown block type 42 at byte 0x40",
            ),
            (
                "removed",
                "block type 31 (Q4_0_4_4) at byte 0x40 was taken out of ggml",
            ),
            (
                "huge",
                "shape [1099511627776, 1099511627776] has more elements than fit in memory",
            ),
            ("hidden", "has more elements than fit in memory"),
            ("bytes", "has more elements than fit in memory"),
            (
                "partial",
                "rows of 33 elements do not divide into Q4_0 blocks of 32",
            ),
            (
                "crooked",
                "data offset 0x8 is not a multiple of the alignment 32",
            ),
            (
                "beyond",
                "data outside the file: 256 bytes from byte 0x80; the file has 200",
            ),
            (
                "far",
                "data outside the file: 256 bytes from byte 0xffffffffffffffff",
            ),
            ("over", "data at byte 0x60 overlaps tensor \"fine\""),
        ] {
            let message = message(&tensors, name);
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn a_tensor_inside_another_overlaps_it() {
        let tensors = Tensors::place(
            vec![
                raw("tail", &[8], 0, 64),
                raw("long", &[32], 0, 0),
                raw("after", &[1], 0, 128),
            ],
            32,
            0,
            512,
        )
        .unwrap();
        assert!(message(&tensors, "tail").contains("overlaps tensor \"long\""));
        assert!(tensors.get(1).is_ok());
        assert!(tensors.get(2).is_ok());
    }
}
