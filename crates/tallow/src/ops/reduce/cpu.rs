//! Two kernels: along rows (the reduced elements lie together) and down columns (the kept ones do).
//!
//! The view's dimensions are put in the order kept, reduced, and merged. Where the reduced ones
//! become one contiguous run, each result is a row's; where the kept ones end in a contiguous run
//! and the reduced ones are one dimension, results are columns. Any other view is copied into row
//! order.
//!
//! Long rows and tall columns are cut into blocks of [`BLOCK`] and [`BLOCK_ROWS`], whose results,
//! in f64, are joined in order. The cuts depend on the shape alone.

use super::formulas::Reducer;
use crate::cpu::integer::Integer;
use crate::cpu::map::Cost;
use crate::cpu::vector::VectorFloat;
use crate::cpu::walk::Walk;
use crate::cpu::{CpuView, View, copy, recycle};
use crate::{CpuStorage, DType, Error, F8E4M3, Result, WithDType, bf16, f16};
use std::marker::PhantomData;
use tallow_simd::{Kernel, Simd};

/// Elements of a row that are added up before their sum is in f64: 64 KiB of f32.
const BLOCK: usize = 16 << 10;
/// Blocks that a task takes at least: some 5 µs of one core.
const TASK_BLOCKS_MIN: usize = 4;
/// Rows and columns of a column task: 512 rows of 2 KiB of f32.
const BLOCK_ROWS: usize = 512;
const BLOCK_COLUMNS: usize = 512;

/// A type whose partial results are f64 (floats) or i64 (integers).
pub(super) trait Element: WithDType {
    type Partial: WithDType;
    fn identity<R: Reducer>() -> Self::Partial;
    fn join<R: Reducer>(a: Self::Partial, b: Self::Partial) -> Self::Partial;
    fn finish(partial: Self::Partial) -> Self;
    /// A contiguous run of at most [`BLOCK`] elements.
    fn row<R: Reducer, S: Simd>(simd: S, row: &[Self]) -> Self::Partial;
    /// Joins `row` into `columns`, element by element; `scratch` is as long.
    fn rows<'a, R: Reducer, S: Simd>(
        simd: S,
        rows: impl Iterator<Item = &'a [Self]>,
        columns: &mut [Self::Partial],
    );
}

pub(super) fn reduce<R: Reducer>(
    reducer: R,
    dims: &[usize],
    x: CpuView<'_>,
    out: &mut CpuStorage,
) -> Result<()> {
    match x.dtype() {
        DType::F32 => typed::<f32, R>(reducer, dims, x, out),
        DType::F64 => typed::<f64, R>(reducer, dims, x, out),
        DType::F16 => typed::<f16, R>(reducer, dims, x, out),
        DType::BF16 => typed::<bf16, R>(reducer, dims, x, out),
        DType::F8E4M3 => typed::<F8E4M3, R>(reducer, dims, x, out),
        DType::U8 => typed::<u8, R>(reducer, dims, x, out),
        DType::U32 => typed::<u32, R>(reducer, dims, x, out),
        DType::I16 => typed::<i16, R>(reducer, dims, x, out),
        DType::I32 => typed::<i32, R>(reducer, dims, x, out),
        DType::I64 => typed::<i64, R>(reducer, dims, x, out),
        other => Err(Error::UnsupportedDTypeForOp(other, R::NAME)),
    }
}

fn typed<T: Element, R: Reducer>(
    _: R,
    reduced: &[usize],
    x: CpuView<'_>,
    out: &mut CpuStorage,
) -> Result<()> {
    let (x, out) = (x.typed::<T>()?, out.as_mut_slice::<T>()?);
    let count: usize = reduced.iter().map(|&dim| x.dims[dim]).product();
    if count == 0 {
        let empty = R::EMPTY.ok_or(Error::EmptyTensor { op: R::NAME })?;
        out.fill(T::from_f64(empty));
        return Ok(());
    }
    let kept = || (0..x.dims.len()).filter(|dim| !reduced.contains(dim));
    let pick = |from: &[usize]| -> (Vec<usize>, Vec<usize>) {
        (
            kept().map(|dim| from[dim]).collect(),
            reduced.iter().map(|&dim| from[dim]).collect(),
        )
    };
    let (kept_dims, reduced_dims) = pick(x.dims);
    let (kept_strides, reduced_strides) = pick(x.strides);
    let kept_walk = Walk::new(&kept_dims, [&kept_strides]);
    let reduced_walk = Walk::new(&reduced_dims, [&reduced_strides]);

    let one_run = reduced_walk.dims.len() == 1;
    let [run_stride] = reduced_walk.inner_strides();
    if one_run && (run_stride == 1 || count == 1) {
        let starts = View {
            data: x.data,
            dims: &kept_walk.dims,
            strides: &kept_walk.strides[0],
        };
        rows::<T, R>(x.data, starts, count, out);
        return Ok(());
    }
    let [column_stride] = kept_walk.inner_strides();
    if one_run && column_stride == 1 && kept_walk.inner_len() >= 16 {
        columns::<T, R>(x.data, &kept_walk, (count, run_stride), out);
        return Ok(());
    }
    let dims = [kept_dims, reduced_dims].concat();
    let strides = [kept_strides, reduced_strides].concat();
    let mut packed = recycle::take(x.count());
    copy::copy(
        View {
            data: x.data,
            dims: &dims,
            strides: &strides,
        },
        &mut packed,
    );
    let starts = View {
        data: &packed,
        dims: &[out.len()],
        strides: &[count],
    };
    rows::<T, R>(&packed, starts, count, out);
    recycle::give(packed);
    Ok(())
}

/// Each result is that of `len` elements from its start on.
fn rows<T: Element, R: Reducer>(data: &[T], starts: View<'_, T>, len: usize, out: &mut [T]) {
    if len > BLOCK {
        for (start, out) in starts.offsets().zip(out) {
            let row = &data[start..][..len];
            let mut partials = vec![T::identity::<R>(); len.div_ceil(BLOCK)];
            let together = tallow_threads::chunk_len(partials.len(), TASK_BLOCKS_MIN);
            tallow_threads::parallel_chunks_mut(&mut partials, together, |chunk, partials| {
                let row = &row[chunk * together * BLOCK..];
                for (partial, block) in partials.iter_mut().zip(row.chunks(BLOCK)) {
                    *partial = tallow_simd::dispatch(Row::<T, R>(block, PhantomData));
                }
            });
            *out = T::finish(partials.into_iter().fold(T::identity::<R>(), T::join::<R>));
        }
        return;
    }
    let starts: Vec<usize> = starts.offsets().collect();
    let rows = tallow_threads::chunk_len(out.len(), (Cost::Light.min_chunk() / len).max(1));
    tallow_threads::parallel_chunks_mut(out, rows, |chunk, out| {
        let starts = &starts[chunk * rows..][..out.len()];
        tallow_simd::dispatch(Rows::<T, R> {
            data,
            starts,
            len,
            out,
            reducer: PhantomData,
        });
    });
}

struct Row<'a, T, R>(&'a [T], PhantomData<R>);

impl<T: Element, R: Reducer> Kernel for Row<'_, T, R> {
    type Output = T::Partial;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> T::Partial {
        T::row::<R, S>(simd, self.0)
    }
}

struct Rows<'a, T, R> {
    data: &'a [T],
    starts: &'a [usize],
    len: usize,
    out: &'a mut [T],
    reducer: PhantomData<R>,
}

impl<T: Element, R: Reducer> Kernel for Rows<'_, T, R> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for (out, &start) in self.out.iter_mut().zip(self.starts) {
            *out = T::finish(T::row::<R, S>(simd, &self.data[start..][..self.len]));
        }
    }
}

/// Results lie along the inner run of `kept`; the reduced elements are `count`, `stride` apart.
fn columns<T: Element, R: Reducer>(
    data: &[T],
    kept: &Walk<1>,
    (count, stride): (usize, usize),
    out: &mut [T],
) {
    let width = kept.inner_len();
    let outer = kept.dims.len() - 1;
    let starts = View {
        data,
        dims: &kept.dims[..outer],
        strides: &kept.strides[0][..outer],
    };
    let (row_blocks, column_blocks) = (count.div_ceil(BLOCK_ROWS), width.div_ceil(BLOCK_COLUMNS));
    let mut partials = recycle::take::<T::Partial>(row_blocks * column_blocks * BLOCK_COLUMNS);
    for (start, out) in starts.offsets().zip(out.chunks_exact_mut(width)) {
        tallow_threads::parallel_chunks_mut(&mut partials, BLOCK_COLUMNS, |task, columns| {
            let row = task / column_blocks * BLOCK_ROWS;
            let column = task % column_blocks * BLOCK_COLUMNS;
            let columns = &mut columns[..BLOCK_COLUMNS.min(width - column)];
            let data = &data[start + row * stride + column..];
            let rows = BLOCK_ROWS.min(count - row);
            let reducer = PhantomData;
            tallow_simd::dispatch(Columns::<T, R> {
                data,
                rows,
                stride,
                columns,
                reducer,
            });
        });
        for (column, out) in out.iter_mut().enumerate() {
            let (block, within) = (column / BLOCK_COLUMNS, column % BLOCK_COLUMNS);
            let first = block * BLOCK_COLUMNS + within;
            let partial = |row: usize| partials[row * column_blocks * BLOCK_COLUMNS + first];
            let join = |a, row| T::join::<R>(a, partial(row));
            *out = T::finish((1..row_blocks).fold(partial(0), join));
        }
    }
    recycle::give(partials);
}

struct Columns<'a, T: Element, R> {
    data: &'a [T],
    rows: usize,
    stride: usize,
    columns: &'a mut [T::Partial],
    reducer: PhantomData<R>,
}

impl<T: Element, R: Reducer> Kernel for Columns<'_, T, R> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self {
            data,
            rows,
            stride,
            columns,
            ..
        } = self;
        let width = columns.len();
        let rows = (0..rows).map(|row| &data[row * stride..][..width]);
        T::rows::<R, S>(simd, rows, columns);
    }
}

macro_rules! vector_element {
    ($($ty:ty),+) => {
        $(impl Element for $ty {
            type Partial = f64;
            fn identity<R: Reducer>() -> f64 {
                R::IDENTITY
            }
            fn join<R: Reducer>(a: f64, b: f64) -> f64 {
                R::double(a, b)
            }
            fn finish(partial: f64) -> Self {
                <Self as WithDType>::from_f64(partial)
            }
            #[inline(always)]
            fn row<R: Reducer, S: Simd>(simd: S, row: &[Self]) -> f64 {
                let lanes = S::F32_LANES;
                let identity = simd.splat_f32(R::IDENTITY as f32);
                // Four sums, so that one addition need not wait for the last.
                let mut sums = [identity; 4];
                let mut blocks = row.chunks_exact(4 * lanes);
                for block in &mut blocks {
                    for (sum, part) in sums.iter_mut().zip(block.chunks_exact(lanes)) {
                        *sum = R::vector(simd, *sum, <$ty>::load(simd, part));
                    }
                }
                for part in blocks.remainder().chunks(lanes) {
                    let mut wide = [R::IDENTITY as f32; tallow_simd::MAX_F32_LANES];
                    wide.iter_mut().zip(part).for_each(|(wide, value)| *wide = value.widen());
                    sums[0] = R::vector(simd, sums[0], simd.load_f32(&wide));
                }
                let [a, b, c, d] = sums;
                let sum = R::vector(simd, R::vector(simd, a, b), R::vector(simd, c, d));
                f64::from(R::lanes(simd, sum))
            }
            #[inline(always)]
            fn rows<'a, R: Reducer, S: Simd>(
                simd: S,
                rows: impl Iterator<Item = &'a [Self]>,
                columns: &mut [f64],
            ) {
                let lanes = S::F32_LANES;
                let mut sums = [R::IDENTITY as f32; BLOCK_COLUMNS];
                let sums = &mut sums[..columns.len()];
                for row in rows {
                    for (sum, part) in sums.chunks_mut(lanes).zip(row.chunks(lanes)) {
                        if part.len() == lanes {
                            let value = <$ty>::load(simd, part);
                            let joined = R::vector(simd, simd.load_f32(sum), value);
                            simd.store_f32(joined, sum);
                        } else {
                            let joined = R::vector(
                                simd,
                                simd.load_partial_f32(sum),
                                <$ty>::load_partial(simd, part),
                            );
                            simd.store_partial_f32(joined, sum);
                        }
                    }
                }
                columns.iter_mut().zip(sums).for_each(|(out, sum)| *out = f64::from(*sum));
            }
        })+
    };
}
vector_element!(f32, f16, bf16, F8E4M3);

impl Element for f64 {
    type Partial = f64;
    fn identity<R: Reducer>() -> f64 {
        R::IDENTITY
    }
    fn join<R: Reducer>(a: f64, b: f64) -> f64 {
        R::double(a, b)
    }
    fn finish(partial: f64) -> f64 {
        partial
    }
    #[inline(always)]
    fn row<R: Reducer, S: Simd>(_: S, row: &[f64]) -> f64 {
        let mut sums = [R::IDENTITY; 16];
        for block in row.chunks(16) {
            sums.iter_mut()
                .zip(block)
                .for_each(|(sum, value)| *sum = R::double(*sum, *value));
        }
        sums.into_iter().fold(R::IDENTITY, R::double)
    }
    #[inline(always)]
    fn rows<'a, R: Reducer, S: Simd>(
        _: S,
        rows: impl Iterator<Item = &'a [f64]>,
        columns: &mut [f64],
    ) {
        columns.fill(R::IDENTITY);
        for row in rows {
            columns
                .iter_mut()
                .zip(row)
                .for_each(|(sum, value)| *sum = R::double(*sum, *value));
        }
    }
}

macro_rules! integer_element {
    ($($ty:ty),+) => {
        $(impl Element for $ty {
            type Partial = i64;
            fn identity<R: Reducer>() -> i64 {
                R::INTEGER_IDENTITY
            }
            fn join<R: Reducer>(a: i64, b: i64) -> i64 {
                R::integer(a, b)
            }
            fn finish(partial: i64) -> Self {
                Self::wrap(partial)
            }
            #[inline(always)]
            fn row<R: Reducer, S: Simd>(_: S, row: &[Self]) -> i64 {
                row.iter().fold(R::INTEGER_IDENTITY, |sum, value| R::integer(sum, value.widen()))
            }
            #[inline(always)]
            fn rows<'a, R: Reducer, S: Simd>(
                _: S,
                rows: impl Iterator<Item = &'a [Self]>,
                columns: &mut [i64],
            ) {
                columns.fill(R::INTEGER_IDENTITY);
                for row in rows {
                    columns
                        .iter_mut()
                        .zip(row)
                        .for_each(|(sum, value)| *sum = R::integer(*sum, value.widen()));
                }
            }
        })+
    };
}
integer_element!(u8, u32, i16, i32, i64);
