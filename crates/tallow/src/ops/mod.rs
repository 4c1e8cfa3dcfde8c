//! The operations, one folder a family. [`ALL`] is the list that the conformance harness, the table
//! in the docs and the self-test go by. `README.md` beside this file says what an op folder holds.

pub mod adamw;
pub mod affine;
pub mod arg_reduce;
pub mod attention;
pub mod binary;
pub mod cast;
pub mod compare;
pub mod composed;
pub mod concat;
pub mod conv;
pub mod copy;
pub mod cumsum;
pub mod fill;
pub mod flip;
pub mod index;
pub mod matmul;
pub mod norm;
pub mod pool;
mod qmatmul;
pub mod random;
pub mod reduce;
pub mod resize;
pub mod rope;
pub mod scatter;
pub mod select;
pub mod softmax;
pub mod sort;
mod tile_product;
pub mod unary;

pub use adamw::{AdamwStep, Stepped, adamw_step};
pub use attention::{AttentionOptions, attention, attention_paged};
pub use norm::{layer_norm, rms_norm};
pub(crate) use qmatmul::{qmatmul, qmatmul_joined, qmatmul_of_experts};
pub use rope::{rope, rope_i};
pub use softmax::{softmax, softmax_last_dim};

use crate::DType;
use crate::testing::{Case, Draw};

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
    /// A random case of one of them.
    pub draw: fn(&mut Draw) -> Case,
}

/// Every family, a line each.
pub const ALL: &[&Family] = &[
    &adamw::FAMILY,
    &affine::FAMILY,
    &arg_reduce::FAMILY,
    &attention::FAMILY,
    &binary::FAMILY,
    &cast::FAMILY,
    &compare::FAMILY,
    &composed::grid::FAMILY,
    &composed::log_sum_exp::FAMILY,
    &composed::pad::FAMILY,
    &composed::products::FAMILY,
    &composed::repeat::FAMILY,
    &composed::roll::FAMILY,
    &composed::round_to::FAMILY,
    &composed::unfold::FAMILY,
    &composed::variance::FAMILY,
    &concat::FAMILY,
    &conv::FAMILY,
    &copy::FAMILY,
    &cumsum::FAMILY,
    &fill::FAMILY,
    &flip::FAMILY,
    &index::FAMILY,
    &matmul::FAMILY,
    &norm::FAMILY,
    &pool::FAMILY,
    &qmatmul::FAMILY,
    &random::FAMILY,
    &reduce::FAMILY,
    &resize::FAMILY,
    &rope::FAMILY,
    &scatter::FAMILY,
    &select::FAMILY,
    &softmax::FAMILY,
    &sort::FAMILY,
    &unary::FAMILY,
];
