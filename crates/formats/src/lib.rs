//! Model file formats: bytes in, named slices out.
//!
//! A model file is a header (names, types, shapes, settings) and a long run of tensor data. The
//! readers here map the file, parse and check its header once, and then hand out slices of the
//! mapping, so that opening a model of any size costs only its header:
//!
//! ```text
//! path ─► source (mapped or owned bytes) ─► header, checked ─► bytes(name) -> &[u8]
//!                                                          └─► shared(name) -> SharedBytes
//! ```
//!
//! Files come from strangers. Invariants: no input makes a reader panic; every count is compared
//! with the bytes that are left before anything is allocated for it, so memory stays within a
//! small multiple of the header; arithmetic on sizes and offsets is checked; names taken from a
//! file are escaped and shortened in messages. What concerns a single tensor (an unknown type,
//! data past the end of the file) fails that tensor alone, when it is asked for.
//!
//! This crate knows nothing of tensors and decodes no block: types are ids and byte sizes.
//!
//! Read next: [`gguf`] and [`safetensors`], then [`npy`] and [`pth`], which are zip archives
//! (`archive.rs`); `mmap.rs` holds the crate's only `unsafe`.

mod archive;
mod atomic_file;
mod cursor;
mod element;
mod error;
pub mod ggml;
pub mod gguf;
pub mod imatrix;
mod mmap;
mod name_index;
pub mod npy;
pub mod pickle;
pub mod pth;
pub mod safetensors;
mod source;

pub use atomic_file::AtomicFile;
pub use element::Element;
pub use error::{Error, Result};
pub use source::SharedBytes;
