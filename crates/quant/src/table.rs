//! The one table of formats: a line for each, and everything else is looked up here.
//!
//! A line is `Variant = GGUF type id, "NAME", what it is made of`. `floats` are blocks of one
//! element; `blocks` names the struct whose folder has the rest.

use crate::float::FloatFormat;
use crate::format::{BlockFormat, Format};
use crate::formats::{
    iq1_m::Iq1M, iq1_s::Iq1S, iq2_s::Iq2S, iq2_xs::Iq2Xs, iq2_xxs::Iq2Xxs, iq3_s::Iq3S,
    iq3_xxs::Iq3Xxs, iq4_nl::Iq4Nl, iq4_xs::Iq4Xs, mxfp4::Mxfp4, q2_k::Q2K, q3_k::Q3K, q4_0::Q4_0,
    q4_1::Q4_1, q4_k::Q4K, q5_0::Q5_0, q5_1::Q5_1, q5_k::Q5K, q6_k::Q6K, q8_0::Q8_0, q8_1::Q8_1,
    q8_k::Q8K, tq1_0::Tq1_0, tq2_0::Tq2_0,
};

/// What a line of the table refers to.
pub(crate) enum Kind {
    /// Blocks of one element.
    Float(FloatFormat),
    /// Blocks of codes.
    Blocks(&'static dyn Format),
}

macro_rules! table {
    ($($(#[$doc:meta])* $variant:ident = $id:literal, $name:literal, $kind:expr;)*) => {
        /// A type of tensor data in GGUF files, by the format page's names.
        ///
        /// `f32`, `f16` and `bf16` are blocks of one element.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(non_camel_case_types)] // the names that the GGUF specification gives them
        pub enum GgmlDType {
            $($(#[$doc])* $variant,)*
        }

        impl GgmlDType {
            /// Every type, by GGUF id.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The type with this GGUF id; `None` for those that are not implemented.
            pub fn from_u32(id: u32) -> Option<Self> {
                match id {
                    $($id => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The GGUF id.
            pub fn to_u32(self) -> u32 {
                match self {
                    $(Self::$variant => $id,)*
                }
            }

            /// The name in the GGUF specification, `Q4_K` for example.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            pub(crate) fn kind(self) -> Kind {
                match self {
                    $(Self::$variant => $kind,)*
                }
            }
        }
    };
}

/// The table's entry for a block struct.
macro_rules! blocks {
    ($block:ty) => {
        Kind::Blocks(const { &BlockFormat::<$block>::NEW })
    };
}

table! {
    /// 32-bit floats.
    F32 = 0, "F32", Kind::Float(FloatFormat::F32);
    /// IEEE half floats.
    F16 = 1, "F16", Kind::Float(FloatFormat::F16);
    /// 4-bit codes, a scale for 32.
    Q4_0 = 2, "Q4_0", blocks!(Q4_0);
    /// 4-bit codes, a scale and a minimum for 32.
    Q4_1 = 3, "Q4_1", blocks!(Q4_1);
    /// 5-bit codes, a scale for 32.
    Q5_0 = 6, "Q5_0", blocks!(Q5_0);
    /// 5-bit codes, a scale and a minimum for 32.
    Q5_1 = 7, "Q5_1", blocks!(Q5_1);
    /// 8-bit codes, a scale for 32.
    Q8_0 = 8, "Q8_0", blocks!(Q8_0);
    /// 8-bit codes, a scale and a sum for 32.
    Q8_1 = 9, "Q8_1", blocks!(Q8_1);
    /// 2-bit codes, scale and minimum of 4 bits for 16.
    Q2K = 10, "Q2_K", blocks!(Q2K);
    /// 3-bit codes, a scale of 6 bits for 16.
    Q3K = 11, "Q3_K", blocks!(Q3K);
    /// 4-bit codes, scale and minimum of 6 bits for 32.
    Q4K = 12, "Q4_K", blocks!(Q4K);
    /// 5-bit codes, scale and minimum of 6 bits for 32.
    Q5K = 13, "Q5_K", blocks!(Q5K);
    /// 6-bit codes, a scale of 8 bits for 16.
    Q6K = 14, "Q6_K", blocks!(Q6K);
    /// 8-bit codes, a scale for 256.
    Q8K = 15, "Q8_K", blocks!(Q8K);
    /// Rows of a codebook, a scale of 4 bits for 32.
    IQ2XXS = 16, "IQ2_XXS", blocks!(Iq2Xxs);
    /// Rows of a codebook, a scale of 4 bits for 16.
    IQ2XS = 17, "IQ2_XS", blocks!(Iq2Xs);
    /// Rows of a codebook, a scale of 4 bits for 32.
    IQ3XXS = 18, "IQ3_XXS", blocks!(Iq3Xxs);
    /// Rows of a codebook, a scale of 3 bits for 32.
    IQ1S = 19, "IQ1_S", blocks!(Iq1S);
    /// 4-bit codes into a table, a scale for 32.
    IQ4NL = 20, "IQ4_NL", blocks!(Iq4Nl);
    /// Rows of a codebook, a scale of 4 bits for 32.
    IQ3S = 21, "IQ3_S", blocks!(Iq3S);
    /// Rows of a codebook, a scale of 4 bits for 16.
    IQ2S = 22, "IQ2_S", blocks!(Iq2S);
    /// 4-bit codes into a table, a scale of 6 bits for 32.
    IQ4XS = 23, "IQ4_XS", blocks!(Iq4Xs);
    /// Rows of a codebook, a scale of 3 bits for 16.
    IQ1M = 29, "IQ1_M", blocks!(Iq1M);
    /// Brain floats.
    BF16 = 30, "BF16", Kind::Float(FloatFormat::Bf16);
    /// −1, 0 or 1, five in a byte, a scale for 256.
    TQ1_0 = 34, "TQ1_0", blocks!(Tq1_0);
    /// −1, 0 or 1 in 2 bits, a scale for 256.
    TQ2_0 = 35, "TQ2_0", blocks!(Tq2_0);
    /// 4-bit floats, a power of two for 32.
    MXFP4 = 39, "MXFP4", blocks!(Mxfp4);
}

impl GgmlDType {
    /// Elements in a block: 1, 32 or 256.
    pub fn block_len(self) -> usize {
        match self.kind() {
            Kind::Float(_) => 1,
            Kind::Blocks(format) => format.block_len(),
        }
    }

    /// Bytes in a block.
    pub fn block_bytes(self) -> usize {
        match self.kind() {
            Kind::Float(format) => format.element_bytes(),
            Kind::Blocks(format) => format.block_bytes(),
        }
    }

    /// [`block_len`](Self::block_len) by another name.
    pub fn block_size(&self) -> usize {
        self.block_len()
    }

    /// [`block_bytes`](Self::block_bytes) by another name.
    pub fn type_size(&self) -> usize {
        self.block_bytes()
    }

    /// Whether values can be packed to this type; the others can only be read and multiplied.
    pub fn packs(self) -> bool {
        match self.kind() {
            Kind::Float(_) => true,
            Kind::Blocks(format) => format.packs(),
        }
    }

    /// Bytes of a row of `len` elements; `None` where they are no whole blocks, or overflow.
    pub fn row_bytes(self, len: usize) -> Option<usize> {
        if !len.is_multiple_of(self.block_len()) {
            return None;
        }
        (len / self.block_len()).checked_mul(self.block_bytes())
    }
}

impl std::fmt::Display for GgmlDType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_sizes_follow_the_specification() {
        let sizes: Vec<_> = GgmlDType::ALL
            .iter()
            .map(|dtype| {
                (
                    dtype.to_u32(),
                    dtype.name(),
                    dtype.block_len(),
                    dtype.block_bytes(),
                )
            })
            .collect();
        let expected = [
            (0, "F32", 1, 4),
            (1, "F16", 1, 2),
            (2, "Q4_0", 32, 18),
            (3, "Q4_1", 32, 20),
            (6, "Q5_0", 32, 22),
            (7, "Q5_1", 32, 24),
            (8, "Q8_0", 32, 34),
            (9, "Q8_1", 32, 36),
            (10, "Q2_K", 256, 84),
            (11, "Q3_K", 256, 110),
            (12, "Q4_K", 256, 144),
            (13, "Q5_K", 256, 176),
            (14, "Q6_K", 256, 210),
            (15, "Q8_K", 256, 292),
            (16, "IQ2_XXS", 256, 66),
            (17, "IQ2_XS", 256, 74),
            (18, "IQ3_XXS", 256, 98),
            (19, "IQ1_S", 256, 50),
            (20, "IQ4_NL", 32, 18),
            (21, "IQ3_S", 256, 110),
            (22, "IQ2_S", 256, 82),
            (23, "IQ4_XS", 256, 136),
            (29, "IQ1_M", 256, 56),
            (30, "BF16", 1, 2),
            (34, "TQ1_0", 256, 54),
            (35, "TQ2_0", 256, 66),
            (39, "MXFP4", 32, 17),
        ];
        assert_eq!(sizes, expected);
    }

    #[test]
    fn from_u32_inverts_to_u32() {
        for &dtype in GgmlDType::ALL {
            assert_eq!(GgmlDType::from_u32(dtype.to_u32()), Some(dtype));
        }
        assert_eq!(GgmlDType::from_u32(41), None);
    }
}
