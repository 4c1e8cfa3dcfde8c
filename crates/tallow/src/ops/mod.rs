//! The operations, one folder a family. [`ALL`] is the list that the conformance harness, the table
//! in the docs and the self-test go by. `README.md` beside this file says what an op folder holds.

pub mod affine;
pub mod arg_reduce;
pub mod attention;
pub mod binary;
pub mod cast;
pub mod compare;
pub mod composed;
pub mod concat;
pub mod copy;
pub mod fill;
pub mod index;
pub mod matmul;
pub mod norm;
mod qmatmul;
pub mod reduce;
pub mod rope;
pub mod select;
pub mod softmax;
mod tile_product;
pub mod unary;

pub use attention::{AttentionOptions, attention, attention_paged};
pub use norm::{layer_norm, rms_norm};
pub(crate) use qmatmul::qmatmul;
pub use rope::{rope, rope_i};
pub use softmax::{softmax, softmax_last_dim};

use crate::DType;
use crate::testing::Case;

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The name: the method's, the kernel's, the bench's.
    pub name: &'static str,
    /// The dtypes that it takes.
    pub dtypes: &'static [DType],
}

/// A family of operations: a folder.
#[derive(Debug)]
pub struct Family {
    /// The folder's name.
    pub name: &'static str,
    /// The operations.
    pub ops: &'static [OpInfo],
    /// Their cases.
    pub cases: fn() -> Vec<Case>,
}

/// Every family, a line each.
pub const ALL: &[&Family] = &[
    &affine::FAMILY,
    &arg_reduce::FAMILY,
    &attention::FAMILY,
    &binary::FAMILY,
    &cast::FAMILY,
    &compare::FAMILY,
    &composed::grid::FAMILY,
    &composed::pad::FAMILY,
    &composed::repeat::FAMILY,
    &composed::roll::FAMILY,
    &concat::FAMILY,
    &copy::FAMILY,
    &fill::FAMILY,
    &index::FAMILY,
    &matmul::FAMILY,
    &norm::FAMILY,
    &qmatmul::FAMILY,
    &reduce::FAMILY,
    &rope::FAMILY,
    &select::FAMILY,
    &softmax::FAMILY,
    &unary::FAMILY,
];
