//! Names of operations.

pub use tallow::op::CmpOp;
