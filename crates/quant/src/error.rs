//! What can be wrong with a call. A text names the function, the values and what would be right.

use crate::GgmlDType;
use thiserror::Error;

/// Why weights could not be packed, unpacked or multiplied.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuantError {
    /// A row does not fill whole blocks.
    #[error("{op}: {len} values are no whole blocks of {}; need a multiple of {}", .dtype.name(),
        .dtype.block_len())]
    PartialBlock {
        /// The function that was called.
        op: &'static str,
        /// The block format.
        dtype: GgmlDType,
        /// How many values a row (or the whole slice) has.
        len: usize,
    },
    /// A slice has the wrong length for the sizes that were given.
    #[error("{op}: {what} has {found} {unit}; need {expected}")]
    Length {
        /// The function that was called.
        op: &'static str,
        /// Which argument.
        what: &'static str,
        /// `bytes` or `values`.
        unit: &'static str,
        /// Its length.
        found: usize,
        /// The right length.
        expected: usize,
    },
    /// The format can be read and multiplied, but not made.
    #[error("{op}: values cannot be packed to {}; it can only be read", .dtype.name())]
    ReadOnly {
        /// The function that was called.
        op: &'static str,
        /// The block format.
        dtype: GgmlDType,
    },
    /// A product of sizes does not fit into memory's address range.
    #[error("{op}: sizes overflow: {sizes:?}; their product must fit into usize")]
    Overflow {
        /// The function that was called.
        op: &'static str,
        /// The sizes.
        sizes: [usize; 2],
    },
}

/// The length that a slice must have: `a · b`, or the error that says what overflowed.
pub(crate) fn product(op: &'static str, a: usize, b: usize) -> Result<usize, QuantError> {
    a.checked_mul(b)
        .ok_or(QuantError::Overflow { op, sizes: [a, b] })
}

/// Checks one slice's length.
pub(crate) fn check_len(
    op: &'static str,
    (what, unit): (&'static str, &'static str),
    found: usize,
    expected: usize,
) -> Result<(), QuantError> {
    if found == expected {
        return Ok(());
    }
    Err(QuantError::Length {
        op,
        what,
        unit,
        found,
        expected,
    })
}
