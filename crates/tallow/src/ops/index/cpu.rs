//! Indexes are checked and widened once; then slices are copied as runs, elements one by one.

use crate::cpu::integer::Integer;
use crate::cpu::map::Cost;
use crate::cpu::walk::Walk;
use crate::cpu::{CpuView, View};
use crate::{DType, Error, Result, WithDType};

/// Stands for padding among checked indexes.
const PADDING: usize = usize::MAX;

/// The indexes in row-major order, each inside a dimension of `size`, or padding.
pub(super) fn ids(view: CpuView<'_>, size: usize, op: &'static str) -> Result<Vec<usize>> {
    let dtype = view.dtype();
    crate::with_dtype!(dtype, op, T in [U8: u8, U32: u32, I16: i16, I32: i32, I64: i64] => {
        let view = view.typed::<T>()?;
        let check = |offset: usize| {
            let id = view.data[offset].widen();
            let padding = match dtype {
                DType::U32 => id == i64::from(u32::MAX),
                DType::I64 => id == i64::MAX,
                _ => false,
            };
            match usize::try_from(id) {
                _ if padding => Ok(PADDING),
                Ok(index) if index < size => Ok(index),
                // A negative index shows as the number that it would be counted as.
                _ => Err(Error::InvalidIndex { op, index: id as usize, size }),
            }
        };
        view.offsets().map(check).collect()
    })
}

pub(super) fn index_select<T: WithDType>(
    source: View<'_, T>,
    ids: &[usize],
    dim: usize,
    out: &mut [T],
) {
    let (inner_dims, inner_strides) = (&source.dims[dim + 1..], &source.strides[dim + 1..]);
    let inner_len: usize = inner_dims.iter().product();
    let walk = Walk::new(inner_dims, [inner_strides]);
    let [run_stride] = walk.inner_strides();
    let outer: Vec<usize> = source.leading(source.dims.len() - dim).offsets().collect();
    let rows_min = (Cost::Light.min_chunk() / inner_len).max(1);
    let rows = tallow_threads::chunk_len(out.len() / inner_len, rows_min);
    tallow_threads::parallel_chunks_mut(out, rows * inner_len, |chunk, part| {
        for (at, dst) in part.chunks_exact_mut(inner_len).enumerate() {
            let row = chunk * rows + at;
            let id = ids[row % ids.len()];
            if id == PADDING {
                dst.fill(T::default());
                continue;
            }
            let from = outer[row / ids.len()] + id * source.strides[dim];
            walk.for_each_run(0..inner_len, |[offset], span| {
                let (from, dst) = (from + offset, &mut dst[span]);
                if run_stride == 1 {
                    dst.copy_from_slice(&source.data[from..][..dst.len()]);
                } else {
                    for (at, slot) in dst.iter_mut().enumerate() {
                        *slot = source.data[from + at * run_stride];
                    }
                }
            });
        }
    });
}

pub(super) fn gather<T: WithDType>(
    source: View<'_, T>,
    ids: &[usize],
    dims: &[usize],
    dim: usize,
    out: &mut [T],
) {
    // Where an element would be read if its index were 0.
    let mut strides = source.strides.to_vec();
    strides[dim] = 0;
    let walk = Walk::new(dims, [&strides]);
    let [run_stride] = walk.inner_strides();
    crate::cpu::map::for_each_chunk(out, Cost::Light, &|range, part| {
        let ids = &ids[range.clone()];
        walk.for_each_run(range, |[offset], span| {
            for (at, (slot, &id)) in part[span.clone()].iter_mut().zip(&ids[span]).enumerate() {
                *slot = match id {
                    PADDING => T::default(),
                    id => source.data[offset + at * run_stride + id * source.strides[dim]],
                };
            }
        });
    });
}
