//! Memory in whole cache lines: a vector load of 64 bytes then never touches two of them.

use bytemuck::{Pod, Zeroable};

/// A cache line.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Growable memory that starts on a cache line.
#[derive(Default)]
pub(crate) struct Lines {
    lines: Vec<Line>,
}

impl Lines {
    /// Zeros.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            lines: vec![Line::zeroed(); bytes.div_ceil(64)],
        }
    }

    /// At least `bytes` long, and at most a line longer; contents are kept or 0.
    pub(crate) fn resize(&mut self, bytes: usize) {
        self.lines.resize(bytes.div_ceil(64), Line::zeroed());
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.lines)
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }

    pub(crate) fn floats(&self) -> &[f32] {
        bytemuck::cast_slice(&self.lines)
    }

    pub(crate) fn floats_mut(&mut self) -> &mut [f32] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_starts_on_a_line_and_is_long_enough() {
        for bytes in [1, 63, 64, 65, 1000] {
            let lines = Lines::new(bytes);
            assert_eq!(lines.bytes().as_ptr().addr() % 64, 0);
            assert!((bytes..bytes + 64).contains(&lines.bytes().len()));
        }
    }
}
