//! Each element of the source, in row-major order, is put where its index says.
//!
//! Threads share the target, never a place in it: they take blocks of the dimensions in front of
//! the indexed one; where there is only one block, columns of it; and where that does not go, each
//! takes a range of the indexed dimension, reads all indexes and keeps to its own.

use crate::cpu::bits::{bits, bits_mut, with_bits};
use crate::cpu::map::{Cost, for_each_chunk};
use crate::cpu::vector::{VectorFloat, map_vector};
use crate::cpu::walk::Walk;
use crate::cpu::{CpuView, View, recycle};
use crate::ops::index::cpu::Id;
use crate::{CpuStorage, DType, Layout, Result, WithDType};
use std::ops::Range;
use tallow_simd::{Kernel, Simd};

/// Checked indexes of a shape, into one dimension of the target.
#[derive(Clone, Copy)]
pub(super) struct Places<'a, I> {
    pub(super) ids: &'a [I],
    pub(super) dims: &'a [usize],
    pub(super) dim: usize,
}

/// Addition as the dtype has it: integers wrap.
trait Plus: WithDType {
    fn plus(self, rhs: Self) -> Self;
}

macro_rules! plus {
    ($($ty:ty: $add:expr),+) => {
        $(impl Plus for $ty {
            #[inline(always)]
            fn plus(self, rhs: Self) -> Self {
                $add(self, rhs)
            }
        })+
    };
}
plus!(
    f32: |a, b| a + b,
    f64: |a, b| a + b,
    u8: u8::wrapping_add,
    u32: u32::wrapping_add,
    i16: i16::wrapping_add,
    i32: i32::wrapping_add,
    i64: i64::wrapping_add
);

pub(super) fn copy(from: CpuView<'_>, out: &mut CpuStorage) -> Result<()> {
    crate::with_dtype!(from.dtype(), "scatter", T in all => {
        crate::cpu::copy::copy(from.typed::<T>()?, out.as_mut_slice()?);
        Ok(())
    })
}

pub(super) fn scatter<I: Id>(
    target: &mut CpuStorage,
    layout: &Layout,
    places: Places<'_, I>,
    source: CpuView<'_>,
) -> Result<()> {
    const OP: &str = "scatter";
    with_bits!(source.dtype(), B => {
        let data = &mut bits_mut::<B>(target, OP)?[layout.start_offset()..layout.span_end()];
        put_all(data, layout, places, bits::<B>(source, OP)?, |slot, value| *slot = value);
    });
    Ok(())
}

pub(super) fn scatter_add<I: Id>(
    target: &mut CpuStorage,
    layout: &Layout,
    places: Places<'_, I>,
    source: CpuView<'_>,
) -> Result<()> {
    match source.dtype() {
        DType::F16 | DType::BF16 | DType::F8E4M3 => {}
        dtype => {
            return crate::with_dtype!(dtype, "scatter_add", T in [
                F32: f32, F64: f64, U8: u8, U32: u32, I16: i16, I32: i32, I64: i64,
            ] => {
                let span = layout.start_offset()..layout.span_end();
                let data = &mut target.as_mut_slice::<T>()?[span];
                let source = source.typed::<T>()?;
                put_all(data, layout, places, source, |slot: &mut T, value| {
                    *slot = slot.plus(value);
                });
                Ok(())
            });
        }
    }
    crate::with_dtype!(source.dtype(), "scatter_add", T in [
        F16: crate::f16, BF16: crate::bf16, F8E4M3: crate::F8E4M3,
    ] => {
        let data = &mut target.as_mut_slice::<T>()?[layout.start_offset()..layout.span_end()];
        let source = source.typed::<T>()?;
        in_f32(data, layout, |wide| {
            let layout = Layout::contiguous(layout.shape());
            put_all(wide, &layout, places, source, |slot, value: T| *slot += value.widen());
        });
        Ok(())
    })
}

/// Lets `change` see the target's elements as f32, row-major, and writes them back rounded.
fn in_f32<T: VectorFloat>(data: &mut [T], layout: &Layout, change: impl FnOnce(&mut [f32])) {
    let count = layout.shape().elem_count();
    let mut wide = recycle::take::<f32>(count);
    if layout.is_contiguous() {
        convert(data, &mut wide);
        change(&mut wide);
        convert(&wide, data);
    } else {
        let walk = Walk::new(layout.dims(), [layout.stride()]);
        let [stride] = walk.inner_strides();
        walk.for_each_run(0..count, |[offset], span| {
            for (at, slot) in wide[span].iter_mut().enumerate() {
                *slot = data[offset + at * stride].widen();
            }
        });
        change(&mut wide);
        walk.for_each_run(0..count, |[offset], span| {
            for (at, value) in wide[span].iter().enumerate() {
                data[offset + at * stride] = T::narrow(*value);
            }
        });
    }
    recycle::give(wide);
}

/// Widens or rounds each element; both slices have the same length.
fn convert<A: VectorFloat, O: VectorFloat>(src: &[A], dst: &mut [O]) {
    for_each_chunk(dst, Cost::Light, &|range, dst| {
        let src = &src[range];
        tallow_simd::dispatch(Convert { src, dst });
    });
}

struct Convert<'a, A, O> {
    src: &'a [A],
    dst: &'a mut [O],
}

impl<A: VectorFloat, O: VectorFloat> Kernel for Convert<'_, A, O> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        map_vector(
            simd,
            self.src,
            self.dst,
            #[inline(always)]
            |x| x,
        );
    }
}

/// Calls `put` for each element of the source with the slot that its index names.
fn put_all<A: WithDType, T: WithDType, I: Id>(
    target: &mut [A],
    layout: &Layout,
    places: Places<'_, I>,
    source: View<'_, T>,
    put: impl Fn(&mut A, T) + Sync,
) {
    let Places { ids, dims, dim } = places;
    if ids.is_empty() {
        return;
    }
    // Where an element would go if its index were 0.
    let mut strides = layout.stride().to_vec();
    strides[dim] = 0;
    let own_strides = crate::Shape::from(dims).stride_contiguous();
    if let Some(columns) = Columns::new(layout, places, source) {
        return columns.run(target, put);
    }
    let scatter = Scatter {
        walk: Walk::new(dims, [&own_strides, source.strides, &strides]),
        ids,
        source: source.data,
        step: layout.stride()[dim],
        put,
    };
    let (size, all) = (layout.dims()[dim], 0..ids.len());
    let whole_blocks = layout.is_contiguous() && dims[..dim] == layout.dims()[..dim];
    if !whole_blocks || ids.len() <= Cost::Light.min_chunk() {
        return scatter.run(all, target, 0, 0..size);
    }
    let blocks: usize = dims[..dim].iter().product();
    let (block_len, block_ids) = (target.len() / blocks, ids.len() / blocks);
    if blocks > 1 {
        let chunk = tallow_threads::chunk_len(blocks, (Cost::Light.min_chunk() / block_ids).max(1));
        tallow_threads::parallel_chunks_mut(target, chunk * block_len, |index, part| {
            let first = index * chunk;
            let range = first * block_ids..(first + part.len() / block_len) * block_ids;
            scatter.run(range, part, first * block_len, 0..size);
        });
        return;
    }
    let slice_len = block_len / size;
    let chunk = size.div_ceil(tallow_threads::num_threads());
    tallow_threads::parallel_chunks_mut(target, chunk * slice_len, |index, part| {
        let first = index * chunk;
        let own = first..first + part.len() / slice_len;
        scatter.run(all.clone(), part, first * slice_len, own);
    });
}

/// One block of rows, of which the threads take columns: an id leads to no other column.
struct Columns<'a, T, I> {
    rows: usize,
    /// The length of a row.
    inner: usize,
    ids: &'a [I],
    source: &'a [T],
}

impl<'a, T: Copy + Sync, I: Id> Columns<'a, T, I> {
    /// None where ids or source do not lie as the target does, or where threads gain nothing.
    fn new(layout: &Layout, places: Places<'a, I>, source: View<'a, T>) -> Option<Self> {
        let Places { ids, dims, dim } = places;
        let (rows, inner) = (
            layout.dims()[dim],
            dims[dim + 1..].iter().product::<usize>(),
        );
        let blocks: usize = layout.dims()[..dim].iter().product();
        let fits = blocks == 1
            && layout.is_contiguous()
            && dims[dim + 1..] == layout.dims()[dim + 1..]
            && ids.len() > Cost::Light.min_chunk();
        // A part of a row fills some lines of the cache; cutting the rows costs less than the work.
        let pays = tallow_threads::num_threads() > 1 && inner >= 256 && dims[dim] >= rows / 16;
        let source = source.contiguous()?;
        (fits && pays).then_some(Self {
            rows,
            inner,
            ids,
            source,
        })
    }

    fn run<A: Send>(&self, target: &mut [A], put: impl Fn(&mut A, T) + Sync) {
        let inner = self.inner;
        let width = inner.div_ceil(tallow_threads::num_threads());
        let mut parts: Vec<Vec<&mut [A]>> = (0..inner.div_ceil(width))
            .map(|_| Vec::with_capacity(self.rows))
            .collect();
        for row in target.chunks_exact_mut(inner) {
            for (part, piece) in parts.iter_mut().zip(row.chunks_mut(width)) {
                part.push(piece);
            }
        }
        tallow_threads::parallel_chunks_mut(&mut parts, 1, |at, part| {
            let span = at * width..inner.min((at + 1) * width);
            for rows in part {
                let sources = self.source.chunks_exact(inner);
                for (ids, values) in self.ids.chunks_exact(inner).zip(sources) {
                    let pairs = ids[span.clone()].iter().zip(&values[span.clone()]);
                    for (column, (id, value)) in pairs.enumerate() {
                        // Padding is the number of no row.
                        let row = rows.get_mut(id.place());
                        if let Some(slot) = row.and_then(|row| row.get_mut(column)) {
                            put(slot, *value);
                        }
                    }
                }
            }
        });
    }
}

struct Scatter<'a, T, I, F> {
    /// The ids, the source, the target.
    walk: Walk<3>,
    ids: &'a [I],
    source: &'a [T],
    step: usize,
    put: F,
}

impl<T: Copy, I: Id, F> Scatter<'_, T, I, F> {
    /// Visits a range of the ids; `part` is the target from offset `start` on, and of the ids only
    /// those in `own` count.
    fn run<A>(&self, range: Range<usize>, part: &mut [A], start: usize, own: Range<usize>)
    where
        F: Fn(&mut A, T),
    {
        // The ids are contiguous, so an inner run of them is.
        let [_, source_stride, stride] = self.walk.inner_strides();
        self.walk
            .for_each_run(range, |[id_at, source_at, target_at], span| {
                let ids = self.ids[id_at..][..span.len()].iter();
                let mut put = |(at, id): (usize, &I), value: T| {
                    // Padding is in no range.
                    if id.place().wrapping_sub(own.start) < own.len() {
                        let place = target_at + at * stride + id.place() * self.step;
                        (self.put)(&mut part[place - start], value);
                    }
                };
                if source_stride == 1 {
                    let values = &self.source[source_at..][..span.len()];
                    ids.enumerate()
                        .zip(values)
                        .for_each(|(id, value)| put(id, *value));
                } else {
                    ids.enumerate()
                        .for_each(|id| put(id, self.source[source_at + id.0 * source_stride]));
                }
            });
    }
}

/// Adds slices of `inner` elements; the target has `size` of them in each block.
pub(super) fn index_add<I: Id>(
    target: &mut CpuStorage,
    size: usize,
    inner: usize,
    ids: &[I],
    source: CpuView<'_>,
) -> Result<()> {
    let add = AddSlices { size, inner, ids };
    match source.dtype() {
        DType::F16 | DType::BF16 | DType::F8E4M3 => {}
        dtype => {
            return crate::with_dtype!(dtype, "index_add", T in [
                F32: f32, F64: f64, U8: u8, U32: u32, I16: i16, I32: i32, I64: i64,
            ] => {
                let target = target.as_mut_slice::<T>()?;
                add.run(target, source.typed::<T>()?, |slot: &mut T, value| {
                    *slot = slot.plus(value);
                });
                Ok(())
            });
        }
    }
    crate::with_dtype!(source.dtype(), "index_add", T in [
        F16: crate::f16, BF16: crate::bf16, F8E4M3: crate::F8E4M3,
    ] => {
        let target = target.as_mut_slice::<T>()?;
        let source = source.typed::<T>()?;
        in_f32(target, &Layout::contiguous(target.len()), |wide| {
            add.run(wide, source, |slot, value: T| *slot += value.widen());
        });
        Ok(())
    })
}

#[derive(Clone, Copy)]
struct AddSlices<'a, I> {
    size: usize,
    inner: usize,
    ids: &'a [I],
}

impl<I: Id> AddSlices<'_, I> {
    fn run<A: WithDType, T: WithDType>(
        self,
        target: &mut [A],
        source: View<'_, T>,
        add: impl Fn(&mut A, T) + Copy + Sync,
    ) {
        if self.ids.is_empty() {
            return;
        }
        let packed = source.contiguous().is_none().then(|| {
            let mut packed = recycle::take::<T>(source.count());
            crate::cpu::copy::copy(source, &mut packed);
            packed
        });
        let data = packed.as_deref().unwrap_or(source.data);
        // One part a thread, not several: each reads the source with gaps, and all ids.
        let slices_min = (Cost::Light.min_chunk() / self.inner).max(1);
        let slices = (target.len() / self.inner).div_ceil(tallow_threads::num_threads());
        let slices = slices.max(slices_min);
        tallow_threads::parallel_chunks_mut(target, slices * self.inner, |chunk, part| {
            tallow_simd::dispatch(AddPart {
                slices: self,
                first: chunk * slices,
                part,
                data,
                add,
            });
        });
        if let Some(packed) = packed {
            recycle::give(packed);
        }
    }
}

/// The slices of the target from number `first` on.
struct AddPart<'a, A, T, I, F> {
    slices: AddSlices<'a, I>,
    first: usize,
    part: &'a mut [A],
    data: &'a [T],
    add: F,
}

impl<A: Copy, T: Copy, I: Id, F: Fn(&mut A, T)> Kernel for AddPart<'_, A, T, I, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let AddSlices { size, inner, ids } = self.slices;
        let end = self.first + self.part.len() / inner;
        for block in self.first / size..end.div_ceil(size) {
            let start = block * size;
            let own = self.first.max(start) - start..end.min(start + size) - start;
            for (id, at) in ids.iter().zip(block * ids.len()..) {
                // Padding is in no range.
                if !own.contains(&id.place()) {
                    continue;
                }
                let slice = start + id.place() - self.first;
                let target = &mut self.part[slice * inner..][..inner];
                let source = &self.data[at * inner..][..inner];
                for (slot, value) in target.iter_mut().zip(source) {
                    (self.add)(slot, *value);
                }
            }
        }
    }
}
