//! The block types of ggml: id, name, elements in a block, bytes of a block.
//!
//! Ids and sizes are those of ggml's `enum ggml_type` and its `block_*` structs; this table is
//! all that the crate knows of a type, enough to say how many bytes a tensor has. What the bits
//! of a block mean is `tallow-quant`'s business.

/// A block type: `block_len` elements of a row are stored in `block_bytes` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockType {
    /// The id in the file.
    pub id: u32,
    /// ggml's name, such as `Q4_K`.
    pub name: &'static str,
    /// Elements in a block; the length of a row is a multiple of it.
    pub block_len: usize,
    /// Bytes of a block.
    pub block_bytes: usize,
}

impl BlockType {
    /// The type with this id, if it is known.
    pub fn from_id(id: u32) -> Option<&'static BlockType> {
        TABLE.iter().find(|entry| entry.id == id)
    }

    /// The type with this name (`Q4_0`, `F16`; capitals or not), if it is known.
    pub fn from_name(name: &str) -> Option<&'static BlockType> {
        TABLE
            .iter()
            .find(|entry| entry.name.eq_ignore_ascii_case(name))
    }

    /// Bytes of a tensor of this shape (row-major); `None` if its rows are no whole blocks, or the
    /// size overflows.
    pub fn bytes_of(&self, shape: &[usize]) -> Option<usize> {
        let row_len = shape.last().copied().unwrap_or(1);
        if !row_len.is_multiple_of(self.block_len) {
            return None;
        }
        // A dim of 0 hides an overflow of the others, so those are looked at as well.
        let positive = shape.iter().filter(|&&dim| dim > 0);
        let elements = positive
            .clone()
            .try_fold(1_usize, |product, &dim| product.checked_mul(dim))?;
        let bytes = (elements / self.block_len)
            .checked_mul(self.block_bytes)
            .filter(|&bytes| isize::try_from(bytes).is_ok())?;
        Some(if positive.count() < shape.len() {
            0
        } else {
            bytes
        })
    }

    /// All known types, by id.
    pub fn all() -> &'static [BlockType] {
        TABLE
    }
}

/// The name of a type that once had this id and was taken out of the format.
pub(super) fn removed_name(id: u32) -> Option<&'static str> {
    REMOVED
        .iter()
        .find(|entry| entry.0 == id)
        .map(|entry| entry.1)
}

const fn entry(id: u32, name: &'static str, block_len: usize, block_bytes: usize) -> BlockType {
    BlockType {
        id,
        name,
        block_len,
        block_bytes,
    }
}

const TABLE: &[BlockType] = &[
    entry(0, "F32", 1, 4),
    entry(1, "F16", 1, 2),
    entry(2, "Q4_0", 32, 2 + 16),
    entry(3, "Q4_1", 32, 4 + 16),
    entry(6, "Q5_0", 32, 2 + 4 + 16),
    entry(7, "Q5_1", 32, 4 + 4 + 16),
    entry(8, "Q8_0", 32, 2 + 32),
    entry(9, "Q8_1", 32, 4 + 32),
    entry(10, "Q2_K", 256, 16 + 64 + 4),
    entry(11, "Q3_K", 256, 32 + 64 + 12 + 2),
    entry(12, "Q4_K", 256, 4 + 12 + 128),
    entry(13, "Q5_K", 256, 4 + 12 + 32 + 128),
    entry(14, "Q6_K", 256, 128 + 64 + 16 + 2),
    entry(15, "Q8_K", 256, 4 + 256 + 32),
    entry(16, "IQ2_XXS", 256, 2 + 64),
    entry(17, "IQ2_XS", 256, 2 + 64 + 8),
    entry(18, "IQ3_XXS", 256, 2 + 64 + 32),
    entry(19, "IQ1_S", 256, 2 + 32 + 16),
    entry(20, "IQ4_NL", 32, 2 + 16),
    entry(21, "IQ3_S", 256, 2 + 64 + 8 + 32 + 4),
    entry(22, "IQ2_S", 256, 2 + 64 + 8 + 8),
    entry(23, "IQ4_XS", 256, 2 + 2 + 4 + 128),
    entry(24, "I8", 1, 1),
    entry(25, "I16", 1, 2),
    entry(26, "I32", 1, 4),
    entry(27, "I64", 1, 8),
    entry(28, "F64", 1, 8),
    entry(29, "IQ1_M", 256, 32 + 16 + 8),
    entry(30, "BF16", 1, 2),
    entry(34, "TQ1_0", 256, 48 + 4 + 2),
    entry(35, "TQ2_0", 256, 64 + 2),
    entry(39, "MXFP4", 32, 1 + 16),
    entry(40, "NVFP4", 64, 4 + 32),
];

const REMOVED: &[(u32, &str)] = &[
    (4, "Q4_2"),
    (5, "Q4_3"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (33, "Q4_0_8_8"),
    (36, "IQ4_NL_4_4"),
    (37, "IQ4_NL_4_8"),
    (38, "IQ4_NL_8_8"),
];

#[cfg(test)]
mod tests {
    use super::{BlockType, REMOVED, TABLE};

    #[test]
    fn ids_and_names_are_unique_and_in_order() {
        assert!(TABLE.windows(2).all(|pair| pair[0].id < pair[1].id));
        for entry in TABLE {
            assert_eq!(BlockType::from_id(entry.id), Some(entry));
            assert_eq!(
                BlockType::from_name(&entry.name.to_lowercase()),
                Some(entry)
            );
            assert!(REMOVED.iter().all(|removed| removed.0 != entry.id));
        }
    }

    /// Bits per weight as llama.cpp's documentation prints them.
    #[test]
    fn bits_per_weight_are_the_published_ones() {
        for (name, bits) in [
            ("Q4_0", 4.5),
            ("Q8_0", 8.5),
            ("Q2_K", 2.625),
            ("Q3_K", 3.4375),
            ("Q4_K", 4.5),
            ("Q5_K", 5.5),
            ("Q6_K", 6.5625),
            ("IQ2_XXS", 2.0625),
            ("IQ1_M", 1.75),
            ("IQ4_XS", 4.25),
            ("TQ1_0", 1.6875),
            ("MXFP4", 4.25),
        ] {
            let entry = BlockType::from_name(name).unwrap();
            assert_eq!(
                (entry.block_bytes * 8) as f64 / entry.block_len as f64,
                bits,
                "{name}"
            );
        }
    }
}
