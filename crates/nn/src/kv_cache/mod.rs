//! Caches of the keys and values that attention has seen.
//!
//! - [`Cache`], [`KvCache`]: a buffer that grows, written in place;
//! - [`RotatingCache`], [`RotatingKvCache`]: the last so many positions, the oldest overwritten;
//! - [`ScatteredKvCache`]: the same for a batch whose examples stand at different positions;
//! - [`ConcatKvCache`]: a new tensor for each append;
//! - [`InterleavedKvCache`], [`RawInterleavedKvCache`]: keys and values side by side.
//!
//! A cache that is cloned and then appended to leaves its clone as it was. Tensors that were given
//! out earlier are views of the buffer: they see what is written later.

mod buffer;
mod concat;
mod growing;
mod interleaved;
mod rotating;
mod scattered;

pub use concat::ConcatKvCache;
pub use growing::{Cache, KvCache};
pub use interleaved::{InterleavedKvCache, RawInterleavedKvCache, rope_i_inplace};
pub use rotating::{RotatingCache, RotatingKvCache};
pub use scattered::{IndicesAndMask, ScatteredCacheBuilder, ScatteredKvCache};
