//! Packed matrix multiply for every float type, on any strides.
//!
//! `out[b] = lhs(b) · rhs(b)`, where `lhs(b)` is `[m, k]`, `rhs(b)` is `[k, n]` and `b` runs over a
//! batch: [`matmul`]. Operands are [`MatRef`]s, views that were checked when they were made; a
//! right side may also be [`Columns`], made while they are packed: [`matmul_columns`].
//!
//! ```text
//! matmul ─┬─► skinny   m or n at most 8: the large side is read once, where it lies
//!         ├─► direct   small, f32 or f64, rows contiguous: both sides are read where they lie
//!         └─► packed   both sides packed into panels, tiles of the output as tasks
//!                │
//!             kernels  generic over the level (tallow_simd::Simd) and the element type
//! ```
//!
//! Invariants:
//! - a sum is added up in an order that depends on the sizes and the level, never on the threads;
//! - f16, bf16 and f8e4m3 are widened to f32 when packed or loaded, and rounded once at the end;
//! - in steady state no memory is allocated: buffers stay with their threads.
//!
//! Not here: tensors, broadcasting of shapes, quantized blocks.
//!
//! Read on in `matmul.rs` (the choice), `packed.rs` (blocks and tiles), `kernels/micro.rs`.

mod columns;
mod direct;
mod element;
mod kernels;
mod mat;
mod matmul;
mod pack;
mod packed;
mod scratch;
mod skinny;
mod split;

pub use columns::Columns;
pub use element::{Accumulator, Element, GemmElement};
pub use mat::{MatError, MatRef};
pub use matmul::{matmul, matmul_columns};
