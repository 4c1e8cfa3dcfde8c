//! Indexes are checked once, and widened unless they are u32 in a row; then slices are copied as
//! runs, elements one by one.

use crate::cpu::bits::{bits, bits_mut, with_bits};
use crate::cpu::integer::Integer;
use crate::cpu::map::{Cost, for_each_chunk};
use crate::cpu::walk::Walk;
use crate::cpu::{CpuView, View, copy, recycle};
use crate::{CpuStorage, DType, Error, Result, WithDType};
use std::sync::atomic::{AtomicBool, Ordering};
use tallow_simd::{Kernel, Simd};

/// Checked indexes in row-major order.
pub(in crate::ops) enum Ids<'a> {
    /// Where they are: they are u32 and lie one after another.
    InPlace(&'a [u32]),
    /// Widened.
    Widened(Widened),
}

/// Indexes in a buffer of their own.
pub(in crate::ops) struct Widened(Vec<i64>);

impl std::ops::Deref for Widened {
    type Target = [i64];
    fn deref(&self) -> &[i64] {
        &self.0
    }
}

impl Drop for Widened {
    fn drop(&mut self) {
        recycle::give(std::mem::take(&mut self.0));
    }
}

/// Runs a block with `$slice` bound to the indexes, `&[u32]` or `&[i64]`.
macro_rules! with_ids {
    ($ids:expr, $slice:ident => $body:expr) => {
        match &$ids {
            $crate::ops::index::cpu::Ids::InPlace($slice) => {
                let $slice: &[u32] = $slice;
                $body
            }
            $crate::ops::index::cpu::Ids::Widened($slice) => {
                let $slice: &[i64] = $slice;
                $body
            }
        }
    };
}
pub(in crate::ops) use with_ids;

/// An index as a place; padding is none that a dimension has.
pub(in crate::ops) trait Id: Copy + PartialEq + Sync {
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
    const PADDING: Self = -1;
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

/// Reads indexes into a dimension of `size`. The first one outside is the error.
pub(in crate::ops) fn ids<'a>(view: CpuView<'a>, size: usize, op: &'static str) -> Result<Ids<'a>> {
    if let (DType::U32, Ok(bound)) = (view.dtype(), u32::try_from(size))
        && let Some(data) = view.typed::<u32>()?.contiguous()
        && all_inside(data, bound)
    {
        return Ok(Ids::InPlace(data));
    }
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

/// The greatest index plus one, where padding counts as 0.
struct Reach<'a>(&'a [u32]);

impl Kernel for Reach<'_> {
    type Output = u32;
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> u32 {
        let after = self.0.iter().map(|id| id.wrapping_add(1));
        after.fold(0, u32::max)
    }
}

/// If every index is below `size`, or padding.
fn all_inside(data: &[u32], size: u32) -> bool {
    let outside = AtomicBool::new(false);
    let check = |part: &[u32]| {
        if tallow_simd::dispatch(Reach(part)) > size {
            outside.store(true, Ordering::Relaxed);
        }
    };
    match data.len() <= Cost::Light.min_chunk() {
        true => check(data),
        false => {
            let parts: Vec<&[u32]> = data
                .chunks(tallow_threads::chunk_len(
                    data.len(),
                    Cost::Light.min_chunk(),
                ))
                .collect();
            tallow_threads::parallel_for(parts.len(), |at| check(parts[at]));
        }
    }
    !outside.into_inner()
}

fn check<T: Integer>(
    data: &[T],
    size: usize,
    padding: i64,
    op: &'static str,
) -> Result<Ids<'static>> {
    let fits = |id: i64| id == padding || usize::try_from(id).is_ok_and(|id| id < size);
    let mut out = recycle::take::<i64>(data.len());
    let outside = AtomicBool::new(false);
    for_each_chunk(&mut out, Cost::Light, &|range, dst| {
        let mut wrong = false;
        for (slot, id) in dst.iter_mut().zip(&data[range]) {
            let id = id.widen();
            wrong |= !fits(id);
            *slot = if id == padding { i64::PADDING } else { id };
        }
        if wrong {
            outside.store(true, Ordering::Relaxed);
        }
    });
    if outside.load(Ordering::Relaxed) {
        let first = data.iter().map(|id| id.widen()).find(|&id| !fits(id));
        // A negative index shows as the number that it would be counted as.
        let index = first.unwrap_or(i64::PADDING) as usize;
        return Err(Error::InvalidIndex { op, index, size });
    }
    Ok(Ids::Widened(Widened(out)))
}

pub(super) fn index_select(
    source: CpuView<'_>,
    indexes: CpuView<'_>,
    dim: usize,
    out: &mut CpuStorage,
) -> Result<()> {
    const OP: &str = "index_select";
    let ids = ids(indexes, source.dims()[dim], OP)?;
    with_bits!(source.dtype(), B => {
        let (source, out) = (bits::<B>(source, OP)?, bits_mut(out, OP)?);
        with_ids!(ids, ids => select(source, ids, dim, out));
    });
    Ok(())
}

fn select<B: WithDType, I: Id>(source: View<'_, B>, ids: &[I], dim: usize, out: &mut [B]) {
    let (inner_dims, inner_strides) = (&source.dims[dim + 1..], &source.strides[dim + 1..]);
    let inner_len: usize = inner_dims.iter().product();
    let walk = Walk::new(inner_dims, [inner_strides]);
    let ([run_stride], one_run) = (walk.inner_strides(), walk.dims.len() == 1);
    let outer: Vec<usize> = source.leading(source.dims.len() - dim).offsets().collect();
    let copy_run = |from: usize, dst: &mut [B]| match (dst.len(), run_stride) {
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
            if id == I::PADDING {
                dst.fill(B::default());
            } else {
                let from = outer[block] + id.place() * source.strides[dim];
                match one_run {
                    true => copy_run(from, dst),
                    false => walk.for_each_run(0..inner_len, |[offset], span| {
                        copy_run(from + offset, &mut dst[span]);
                    }),
                }
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
        let (source, out) = (bits::<B>(source, OP)?, bits_mut(out, OP)?);
        with_ids!(ids, ids => places.gather(source, ids, out));
    });
    Ok(())
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
