//! Rows of the result in order; each is read from its mirror row, backwards where the last
//! dimension is one of those reversed.

use crate::WithDType;
use crate::cpu::View;
use crate::cpu::map::Cost;

pub(super) fn flip<T: WithDType>(x: View<'_, T>, flipped: &[usize], out: &mut [T]) {
    let Some([(len, stride)]) = x.last::<1>() else {
        out.copy_from_slice(&x.data[..out.len()]);
        return;
    };
    let (outer, backwards) = (x.dims.len() - 1, flipped.contains(&(x.dims.len() - 1)));
    let start = |row: usize| {
        let (mut rest, mut offset) = (row, 0);
        for dim in (0..outer).rev() {
            let at = rest % x.dims[dim];
            rest /= x.dims[dim];
            let mirrored = x.dims[dim] - 1 - at;
            offset += x.strides[dim] * if flipped.contains(&dim) { mirrored } else { at };
        }
        offset
    };
    let rows = tallow_threads::chunk_len(out.len() / len, (Cost::Light.min_chunk() / len).max(1));
    tallow_threads::parallel_chunks_mut(out, rows * len, |chunk, part| {
        for (dst, row) in part.chunks_exact_mut(len).zip(chunk * rows..) {
            let src = &x.data[start(row)..][..(len - 1) * stride + 1];
            match (stride, backwards) {
                (1, false) => dst.copy_from_slice(src),
                (1, true) => {
                    for (slot, value) in dst.iter_mut().zip(src.iter().rev()) {
                        *slot = *value;
                    }
                }
                _ => {
                    for (at, slot) in dst.iter_mut().enumerate() {
                        let from = if backwards { len - 1 - at } else { at };
                        *slot = src[from * stride];
                    }
                }
            }
        }
    });
}
