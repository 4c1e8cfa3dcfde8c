//! Packing: copying an operand into panels, widened, in the order in which the kernel reads it.
//!
//! A panel is `width` lines (rows of the left side, columns of the right side) interleaved: for
//! each step of k, one element of every line.
//!
//! ```text
//! lines a, b, c; steps 0, 1, …      panel: a0 b0 c0 a1 b1 c1 a2 b2 c2 …
//! ```
//!
//! Lines beyond the operand's edge are zeros, so that kernels read whole vectors.

use tallow_simd::{MAX_F32_LANES, Simd};

use crate::element::{Accumulator, Element};

/// Lines of an operand: element `step` of line `line` lies at `line · line_stride + step ·
/// step_stride` of `data`.
#[derive(Clone, Copy)]
pub(crate) struct Lines<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) line_stride: usize,
    pub(crate) step_stride: usize,
    /// Lines that exist, at most the panel's width.
    pub(crate) lines: usize,
}

/// Fills `panel`, `width` elements a step, with the first `panel.len() / width` steps of `src`.
pub(crate) fn pack<S: Simd, T: Element>(
    simd: S,
    src: Lines<'_, T>,
    width: usize,
    panel: &mut [T::Acc],
) {
    if src.lines < width {
        panel.fill(T::Acc::default());
    }
    simd.vectorize(
        #[inline(always)]
        || {
            if src.line_stride == 1 {
                copy_steps(simd, src, width, panel);
            } else if src.step_stride == 1 {
                interleave(simd, src, width, panel);
            } else {
                gather(src, width, panel);
            }
        },
    );
}

/// Lines lie side by side: each step is a short contiguous copy.
#[inline(always)]
fn copy_steps<S: Simd, T: Element>(simd: S, src: Lines<'_, T>, width: usize, panel: &mut [T::Acc]) {
    let lanes = <T::Acc as Accumulator>::lanes::<S>();
    for (step, group) in panel.chunks_exact_mut(width).enumerate() {
        let from = &src.data[step * src.step_stride..][..src.lines];
        let group = &mut group[..src.lines];
        let mut from = from.chunks_exact(lanes);
        let mut group = group.chunks_exact_mut(lanes);
        for (from, to) in from.by_ref().zip(group.by_ref()) {
            T::Acc::store(simd, T::load(simd, from), to);
        }
        let rest = group.into_remainder();
        if !rest.is_empty() {
            T::Acc::store_partial(simd, T::load_partial(simd, from.remainder()), rest);
        }
    }
}

/// Steps of a line lie side by side: a transposition, block by block of lanes × lanes elements.
#[inline(always)]
fn interleave<S: Simd, T: Element>(simd: S, src: Lines<'_, T>, width: usize, panel: &mut [T::Acc]) {
    let lanes = <T::Acc as Accumulator>::lanes::<S>();
    let mut block = [T::Acc::default(); MAX_F32_LANES * MAX_F32_LANES];
    let block = &mut block[..lanes * lanes];
    for first_step in (0..panel.len() / width).step_by(lanes) {
        let panel = &mut panel[first_step * width..];
        let steps = lanes.min(panel.len() / width);
        for first_line in (0..src.lines).step_by(lanes).rev() {
            for (line, row) in block.chunks_exact_mut(lanes).enumerate() {
                let line = first_line + line;
                if line >= src.lines {
                    row.fill(T::Acc::default());
                    continue;
                }
                let from = &src.data[line * src.line_stride + first_step..][..steps];
                let vector = if steps == lanes {
                    T::load(simd, from)
                } else {
                    T::load_partial(simd, from)
                };
                T::Acc::store(simd, vector, row);
            }
            T::Acc::transpose(simd, block);
            for (step, lines) in block.chunks_exact(lanes).take(steps).enumerate() {
                let to = &mut panel[step * width + first_line..];
                // Where there is room a whole vector: what it writes beyond this step's lines is
                // written again by the next step, as the last lines come first.
                if to.len() >= lanes {
                    T::Acc::store(simd, T::Acc::load(simd, lines), to);
                    continue;
                }
                let count = lanes.min(width - first_line).min(to.len());
                to[..count].copy_from_slice(&lines[..count]);
            }
        }
    }
}

/// Any strides.
#[inline(always)]
fn gather<T: Element>(src: Lines<'_, T>, width: usize, panel: &mut [T::Acc]) {
    for (step, group) in panel.chunks_exact_mut(width).enumerate() {
        for (line, value) in group[..src.lines].iter_mut().enumerate() {
            *value = src.data[line * src.line_stride + step * src.step_stride].widen();
        }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use tallow_simd::{Kernel, dispatch_at, supported_levels};

    use super::*;

    /// Packs `lines × steps` numbers with the given strides and compares with the definition.
    #[derive(Clone, Copy)]
    struct Check {
        lines: usize,
        width: usize,
        steps: usize,
        strides: (usize, usize),
    }

    impl Check {
        fn of<S: Simd, T: Element>(self, simd: S, from: fn(u16) -> T, to: fn(T::Acc) -> f64) {
            let Self {
                lines,
                width,
                steps,
                strides: (line_stride, step_stride),
            } = self;
            let len = (lines - 1) * line_stride + steps * step_stride;
            let data: Vec<T> = (0..len).map(|i| from((i % 1000) as u16)).collect();
            let mut panel = vec![T::Acc::default(); steps * width];
            let src = Lines {
                data: &data,
                line_stride,
                step_stride,
                lines,
            };
            pack(simd, src, width, &mut panel);
            for (i, value) in panel.iter().enumerate() {
                let (step, line) = (i / width, i % width);
                let index = line * line_stride + step * step_stride;
                let expected = if line < lines {
                    (index % 1000) as f64
                } else {
                    0.0
                };
                assert_eq!(
                    to(*value),
                    expected,
                    "line {line} of {lines}, step {step} of {steps}"
                );
            }
        }
    }

    impl Kernel for Check {
        type Output = ();
        fn run<S: Simd>(self, simd: S) {
            self.of(simd, f32::from, f64::from);
            self.of(simd, f64::from, |x| x);
            self.of(simd, |x| f16::from_f32(f32::from(x)), f64::from);
        }
    }

    #[test]
    fn panels_hold_the_lines_interleaved_and_zeros_beyond_them() {
        for level in supported_levels() {
            for (lines, width) in [
                (1, 1),
                (3, 3),
                (6, 6),
                (13, 13),
                (14, 14),
                (5, 16),
                (31, 32),
            ] {
                for steps in [1, 3, 15, 16, 17, 40] {
                    for strides in [
                        (1, lines),
                        (1, lines + 3),
                        (steps, 1),
                        (steps + 2, 1),
                        (3, 100),
                    ] {
                        dispatch_at(
                            level,
                            Check {
                                lines,
                                width,
                                steps,
                                strides,
                            },
                        )
                        .unwrap();
                    }
                }
            }
        }
    }
}
