//! Indexes are checked and widened once; then slices are copied as runs, elements one by one.

use crate::cpu::bits::{bits, bits_mut, with_bits};
use crate::cpu::integer::Integer;
use crate::cpu::map::{Cost, for_each_chunk};
use crate::cpu::walk::Walk;
use crate::cpu::{CpuView, View, copy, recycle};
use crate::{CpuStorage, DType, Error, Result, WithDType};
use std::sync::atomic::{AtomicBool, Ordering};

/// Stands for padding among checked indexes.
pub(in crate::ops) const PADDING: i64 = -1;

/// Indexes in row-major order, each inside the dimension, or [`PADDING`].
pub(in crate::ops) struct Ids(Vec<i64>);

impl std::ops::Deref for Ids {
    type Target = [i64];
    fn deref(&self) -> &[i64] {
        &self.0
    }
}

impl Drop for Ids {
    fn drop(&mut self) {
        recycle::give(std::mem::take(&mut self.0));
    }
}

/// Reads indexes into a dimension of `size`. The first one outside is the error.
pub(in crate::ops) fn ids(view: CpuView<'_>, size: usize, op: &'static str) -> Result<Ids> {
    // No i16, i32 or u8 is the greatest i64.
    let padding = match view.dtype() {
        DType::U32 => i64::from(u32::MAX),
        _ => i64::MAX,
    };
    crate::with_dtype!(view.dtype(), op, T in [U8: u8, U32: u32, I16: i16, I32: i32, I64: i64] => {
        let view = view.typed::<T>()?;
        if let Some(data) = view.contiguous() {
            return check(data, size, padding, op);
        }
        let mut packed = recycle::take::<T>(view.count());
        copy::copy(view, &mut packed);
        let checked = check(&packed, size, padding, op);
        recycle::give(packed);
        checked
    })
}

fn check<T: Integer>(data: &[T], size: usize, padding: i64, op: &'static str) -> Result<Ids> {
    let fits = |id: i64| id == padding || usize::try_from(id).is_ok_and(|id| id < size);
    let mut out = recycle::take::<i64>(data.len());
    let outside = AtomicBool::new(false);
    for_each_chunk(&mut out, Cost::Light, &|range, dst| {
        let mut wrong = false;
        for (slot, id) in dst.iter_mut().zip(&data[range]) {
            let id = id.widen();
            wrong |= !fits(id);
            *slot = if id == padding { PADDING } else { id };
        }
        if wrong {
            outside.store(true, Ordering::Relaxed);
        }
    });
    if outside.load(Ordering::Relaxed) {
        let first = data.iter().map(|id| id.widen()).find(|&id| !fits(id));
        // A negative index shows as the number that it would be counted as.
        let index = first.unwrap_or(PADDING) as usize;
        return Err(Error::InvalidIndex { op, index, size });
    }
    Ok(Ids(out))
}

pub(super) fn index_select<T: WithDType>(
    source: View<'_, T>,
    ids: &[i64],
    dim: usize,
    out: &mut [T],
) {
    let (inner_dims, inner_strides) = (&source.dims[dim + 1..], &source.strides[dim + 1..]);
    let inner_len: usize = inner_dims.iter().product();
    let walk = Walk::new(inner_dims, [inner_strides]);
    let ([run_stride], one_run) = (walk.inner_strides(), walk.dims.len() == 1);
    let outer: Vec<usize> = source.leading(source.dims.len() - dim).offsets().collect();
    let copy_run = |from: usize, dst: &mut [T]| match (dst.len(), run_stride) {
        (1, _) => dst[0] = source.data[from],
        (len, 1) => dst.copy_from_slice(&source.data[from..][..len]),
        _ => {
            for (at, slot) in dst.iter_mut().enumerate() {
                *slot = source.data[from + at * run_stride];
            }
        }
    };
    let rows_min = (Cost::Light.min_chunk() / inner_len).max(1);
    let rows = tallow_threads::chunk_len(out.len() / inner_len, rows_min);
    tallow_threads::parallel_chunks_mut(out, rows * inner_len, |chunk, part| {
        let first = chunk * rows;
        let (mut block, mut place) = (first / ids.len(), first % ids.len());
        for dst in part.chunks_exact_mut(inner_len) {
            let id = ids[place];
            let from = outer[block] + id.max(0) as usize * source.strides[dim];
            match id {
                PADDING => dst.fill(T::default()),
                _ if one_run => copy_run(from, dst),
                _ => walk.for_each_run(0..inner_len, |[offset], span| {
                    copy_run(from + offset, &mut dst[span]);
                }),
            }
            place += 1;
            if place == ids.len() {
                (block, place) = (block + 1, 0);
            }
        }
    });
}

/// Ids of u32 that lie one after another are read where they are, and checked on the way: a pass
/// over them less. Others are widened first.
pub(super) fn gather(
    source: CpuView<'_>,
    indexes: CpuView<'_>,
    dim: usize,
    out: &mut CpuStorage,
) -> Result<()> {
    const OP: &str = "gather";
    let size = source.dims()[dim];
    let places = Places {
        dims: indexes.dims(),
        dim,
        size,
    };
    let direct = match indexes.dtype() {
        DType::U32 if u32::try_from(size).is_ok() => indexes.typed::<u32>()?.contiguous(),
        _ => None,
    };
    if let Some(direct) = direct {
        let fits = with_bits!(source.dtype(), B => {
            places.gather::<B, u32>(bits(source, OP)?, direct, bits_mut(out, OP)?)
        });
        if fits {
            return Ok(());
        }
    }
    // Tells the first id that is outside, where there is one.
    let ids = ids(indexes, size, OP)?;
    with_bits!(source.dtype(), B => {
        places.gather::<B, i64>(bits(source, OP)?, &ids, bits_mut(out, OP)?);
    });
    Ok(())
}

/// An index as a place, and the one that stands for padding.
trait Id: Copy + PartialEq + Sync {
    const PADDING: Self;
    fn place(self) -> usize;
}

impl Id for u32 {
    const PADDING: Self = u32::MAX;
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

impl Id for i64 {
    const PADDING: Self = PADDING;
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

/// The shape of the ids, and the dimension that they are indexes of.
struct Places<'a> {
    dims: &'a [usize],
    dim: usize,
    size: usize,
}

impl Places<'_> {
    /// False if an index is outside; elements of such, and of padding, are 0.
    fn gather<B: WithDType, I: Id>(&self, source: View<'_, B>, ids: &[I], out: &mut [B]) -> bool {
        // Where an element would be read if its index were 0.
        let mut strides = source.strides.to_vec();
        strides[self.dim] = 0;
        let walk = Walk::new(self.dims, [&strides]);
        let ([run_stride], id_stride) = (walk.inner_strides(), source.strides[self.dim]);
        let outside = AtomicBool::new(false);
        for_each_chunk(out, Cost::Light, &|range, part| {
            let (ids, mut wrong) = (&ids[range.clone()], false);
            walk.for_each_run(range, |[offset], span| {
                for (at, (slot, &id)) in part[span.clone()].iter_mut().zip(&ids[span]).enumerate() {
                    let place = id.place();
                    *slot = match place < self.size {
                        true => source.data[offset + at * run_stride + place * id_stride],
                        false => {
                            wrong |= id != I::PADDING;
                            B::default()
                        }
                    };
                }
            });
            if wrong {
                outside.store(true, Ordering::Relaxed);
            }
        });
        !outside.load(Ordering::Relaxed)
    }
}
