//! The conformance harness: every operation against a naive f64 reference.
//!
//! An op folder's `cases.rs` gives [`Case`]s: operand shapes and values, how to run the operation,
//! and the reference over plain f64 [`Array`]s. [`conformance`] runs each case for every dtype that
//! it lists, in every [`Disguise`] of its operands (contiguous, transposed, narrowed with an
//! offset, broadcast, two apart), at every instruction-set level of the machine, on one thread and
//! on three. An operation in [`ops::ALL`](crate::ops::ALL) without a case, or with a dtype that no
//! case covers, is a failure too. [`gradients`] checks what the operations' gradients say.

mod array;
mod case;
mod disguise;
mod gradient;
mod run;

pub use array::Array;
pub use case::{Case, Input, Reference, Run, Tolerance, Values, elementwise_shapes};
pub use disguise::Disguise;
pub use gradient::gradients;
pub use run::{Report, conformance, uncovered};
