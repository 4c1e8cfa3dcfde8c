//! The conformance harness: every operation against a naive f64 reference.
//!
//! An op folder's `cases.rs` gives [`Case`]s: operand shapes and values, how to run the operation,
//! and the reference over plain f64 [`Array`]s. [`conformance`] runs each case for every dtype that
//! it lists, in every [`Disguise`] of its operands (contiguous, transposed, narrowed with an
//! offset, broadcast, two apart), at every instruction-set level of the machine, on one thread and
//! on three. An operation in [`ops::ALL`](crate::ops::ALL) without a case, or with a dtype that no
//! case covers, is a failure too. [`gradients`] checks what the operations' gradients say.
//!
//! [`fuzz`] takes random cases instead, which an op folder's `draw` makes of a [`Draw`], in random
//! [`View`]s, through the same judge; a case that fails is made as small as it stays failing.

mod array;
mod case;
mod device;
mod disguise;
mod draw;
mod fuzz;
mod gradient;
mod run;
mod shrink;
mod view;

pub use array::{Array, sum};
pub use case::{Case, Input, Reference, Run, Tolerance, Values, elementwise_shapes};
pub use device::{DeviceReport, device_conformance, device_sample, family_conformance};
pub use disguise::Disguise;
pub use draw::Draw;
pub use fuzz::{Fuzzed, fuzz};
pub use gradient::gradients;
pub use run::{Report, conformance, uncovered};
pub use shrink::smallest;
pub use view::View;
