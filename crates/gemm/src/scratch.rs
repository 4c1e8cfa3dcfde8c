//! Buffers for packed operands and wide sums, kept by each thread from call to call.
//!
//! Memory that is given back to the system and taken again costs a page fault every 4 KiB, which
//! is slower than packing the page. So a thread keeps what it used last; the limits in `packed.rs`
//! bound how much that is.

use std::cell::Cell;

use bytemuck::{Pod, Zeroable};

/// One cache line; a whole vector of any level never crosses one.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// What a buffer is for: a thread may hold one of each at the same time.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// Packed left and right operands.
    Packed,
    /// One packed panel.
    Panel,
    /// Sums of a tile, or operands of a skinny product, that are wider than their stored type.
    Wide,
}

thread_local! {
    static BUFFERS: [Cell<Vec<Line>>; 3] =
        const { [const { Cell::new(Vec::new()) }; 3] };
}

/// Calls `f` with `len` elements whose content is left from earlier use, aligned to a cache line.
pub(crate) fn with_buffer<A: Pod, R>(
    purpose: Purpose,
    len: usize,
    f: impl FnOnce(&mut [A]) -> R,
) -> R {
    // Taken out, so that a call from within `f` gets another buffer rather than this one.
    let mut lines = BUFFERS.with(|buffers| buffers[purpose as usize].take());
    let needed = (len * size_of::<A>()).div_ceil(size_of::<Line>());
    if lines.len() < needed {
        // A fresh allocation: growing would copy what nobody wants.
        lines = Vec::new();
        lines.resize(needed, Line([0; 8]));
    }
    let result = f(&mut bytemuck::cast_slice_mut(&mut lines)[..len]);
    BUFFERS.with(|buffers| buffers[purpose as usize].set(lines));
    result
}
