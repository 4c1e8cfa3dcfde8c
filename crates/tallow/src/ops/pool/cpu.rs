//! Windows in two steps: down the columns of a band of rows, then along the row that this gives.
//!
//! A window of h × w elements costs h + w operations a result instead of h · w, and the first step
//! runs in vectors whatever the windows are. Narrow floats are widened as they are read.

use super::Windows;
use crate::cpu::map::Cost;
use crate::cpu::recycle;
use crate::cpu::vector::{VectorFloat, widen_run};
use crate::cpu::{View, copy};
use crate::{F8E4M3, Result, WithDType, bf16, f16};
use tallow_simd::{Kernel, Scalar, Simd};

/// Elements of a narrow type that are widened at a time.
const PART: usize = 256;

/// An element with the type that it is pooled in.
pub(in crate::ops) trait Pooled: WithDType {
    type Acc: WithDType;
    /// True for types that are seldom pooled: compiled once, not once a level.
    const PLAIN: bool = false;
    /// The elements, widened into the buffer if they have to be; at most [`PART`].
    fn wide<'a, S: Simd>(
        simd: S,
        run: &'a [Self],
        buffer: &'a mut [Self::Acc; PART],
    ) -> &'a [Self::Acc];
    /// One element.
    fn widen(self) -> Self::Acc;
    /// Rounds a result.
    fn narrow(value: Self::Acc) -> Self;
}

macro_rules! pooled_as_itself {
    ($plain:literal, $($ty:ty),+) => {
        $(impl Pooled for $ty {
            type Acc = $ty;
            const PLAIN: bool = $plain;
            #[inline(always)]
            fn wide<'a, S: Simd>(_: S, run: &'a [$ty], _: &'a mut [$ty; PART]) -> &'a [$ty] {
                run
            }
            #[inline(always)]
            fn widen(self) -> $ty {
                self
            }
            #[inline(always)]
            fn narrow(value: $ty) -> $ty {
                value
            }
        })+
    };
}
pooled_as_itself!(false, f32, f64);
pooled_as_itself!(true, u8, u32, i16, i32, i64);

macro_rules! pooled_in_f32 {
    ($($ty:ty),+) => {
        $(impl Pooled for $ty {
            type Acc = f32;
            #[inline(always)]
            fn wide<'a, S: Simd>(
                simd: S,
                run: &'a [$ty],
                buffer: &'a mut [f32; PART],
            ) -> &'a [f32] {
                let wide = &mut buffer[..run.len()];
                widen_run(simd, run, wide);
                wide
            }
            #[inline(always)]
            fn widen(self) -> f32 {
                VectorFloat::widen(self)
            }
            #[inline(always)]
            fn narrow(value: f32) -> $ty {
                VectorFloat::narrow(value)
            }
        })+
    };
}
pooled_in_f32!(f16, bf16, F8E4M3);

/// What a window is folded to.
pub(super) trait Fold<A>: Copy + Sync {
    fn fold(self, folded: A, value: A) -> A;
    fn finish(self, folded: A) -> A;
}

#[derive(Clone, Copy)]
struct Max;

impl<A: PartialOrd + Copy> Fold<A> for Max {
    #[inline(always)]
    #[allow(clippy::eq_op)] // only NaN differs from itself
    fn fold(self, folded: A, value: A) -> A {
        if value > folded || value != value {
            value
        } else {
            folded
        }
    }
    #[inline(always)]
    fn finish(self, folded: A) -> A {
        folded
    }
}

/// The mean of so many elements.
#[derive(Clone, Copy)]
pub(super) struct Mean(f64);

impl Fold<f32> for Mean {
    #[inline(always)]
    fn fold(self, folded: f32, value: f32) -> f32 {
        folded + value
    }
    #[inline(always)]
    fn finish(self, folded: f32) -> f32 {
        folded / self.0 as f32
    }
}

impl Fold<f64> for Mean {
    #[inline(always)]
    fn fold(self, folded: f64, value: f64) -> f64 {
        folded + value
    }
    #[inline(always)]
    fn finish(self, folded: f64) -> f64 {
        folded / self.0
    }
}

pub(super) fn max<T: Pooled>(x: View<'_, T>, windows: Windows, out: &mut [T]) -> Result<()> {
    pool(x, windows, Max, out)
}

pub(super) fn mean<T: Pooled>(x: View<'_, T>, windows: Windows, out: &mut [T]) -> Result<()>
where
    Mean: Fold<T::Acc>,
{
    let [height, width] = windows.size;
    pool(x, windows, Mean(height as f64 * width as f64), out)
}

fn pool<T: Pooled, F: Fold<T::Acc>>(
    x: View<'_, T>,
    windows: Windows,
    fold: F,
    out: &mut [T],
) -> Result<()> {
    let [_, _, out_rows, columns] = windows.out_dims(&crate::Shape::from(x.dims))?;
    let straight = copy::straight_rows(x);
    let x = straight.view(x);
    let row_work = windows.size[0].saturating_mul(x.dims[3]);
    let rows = out.len() / columns;
    let rows = tallow_threads::chunk_len(rows, Cost::Light.min_chunk().div_ceil(row_work));
    tallow_threads::parallel_chunks_mut(out, rows * columns, |index, out| {
        let rows = Rows {
            x,
            windows,
            fold,
            first: index * rows,
            out_rows,
            columns,
            out,
        };
        if T::PLAIN {
            rows.run(Scalar);
        } else {
            tallow_simd::dispatch(rows);
        }
    });
    Ok(())
}

/// Rows of the result from `first` on, counted over all channels.
struct Rows<'a, T, F> {
    x: View<'a, T>,
    windows: Windows,
    fold: F,
    first: usize,
    /// Rows of a channel of the result, and elements of a row.
    out_rows: usize,
    columns: usize,
    out: &'a mut [T],
}

impl<T: Pooled, F: Fold<T::Acc>> Kernel for Rows<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (x, fold, windows) = (self.x, self.fold, self.windows);
        // What lies behind the last window is not looked at.
        let used = (self.columns - 1) * windows.stride[1] + windows.size[1];
        let mut folded = recycle::take::<T::Acc>(used);
        let mut row_out = recycle::take::<T::Acc>(self.columns);
        for (row, out) in (self.first..).zip(self.out.chunks_exact_mut(self.columns)) {
            let (channel, row) = (row / self.out_rows, row % self.out_rows);
            let (batch, channel) = (channel / x.dims[1], channel % x.dims[1]);
            let start = batch * x.strides[0]
                + channel * x.strides[1]
                + row * windows.stride[0] * x.strides[2];
            for tap in 0..windows.size[0] {
                let from = &x.data[start + tap * x.strides[2]..][..used];
                fold_row(simd, fold, from, tap == 0, &mut folded);
            }
            slide(
                fold,
                &folded,
                windows.size[1],
                windows.stride[1],
                &mut row_out,
            );
            for (to, from) in out.iter_mut().zip(&row_out) {
                *to = T::narrow(fold.finish(*from));
            }
        }
        recycle::give(folded);
        recycle::give(row_out);
    }
}

/// Folds a row into the ones before it, or starts with it.
#[inline(always)]
fn fold_row<S: Simd, T: Pooled, F: Fold<T::Acc>>(
    simd: S,
    fold: F,
    row: &[T],
    is_first: bool,
    folded: &mut [T::Acc],
) {
    let mut buffer = [T::Acc::default(); PART];
    for (folded, row) in folded.chunks_mut(PART).zip(row.chunks(PART)) {
        let row = T::wide(simd, row, &mut buffer);
        if is_first {
            folded.copy_from_slice(row);
            continue;
        }
        for (folded, value) in folded.iter_mut().zip(row) {
            *folded = fold.fold(*folded, *value);
        }
    }
}

/// Folds the windows of one row.
#[inline(always)]
fn slide<A: Copy, F: Fold<A>>(fold: F, row: &[A], size: usize, stride: usize, out: &mut [A]) {
    // Strides that are known become shuffles of vectors.
    match stride {
        1 => slide_by::<A, F, 1>(fold, row, size, out),
        2 => slide_by::<A, F, 2>(fold, row, size, out),
        3 => slide_by::<A, F, 3>(fold, row, size, out),
        _ => {
            for (at, out) in out.iter_mut().enumerate() {
                let window = &row[at * stride..][..size];
                *out = window[1..]
                    .iter()
                    .fold(window[0], |folded, &value| fold.fold(folded, value));
            }
        }
    }
}

#[inline(always)]
fn slide_by<A: Copy, F: Fold<A>, const STRIDE: usize>(
    fold: F,
    row: &[A],
    size: usize,
    out: &mut [A],
) {
    if STRIDE == 2 && size == 2 {
        for (out, pair) in out.iter_mut().zip(row.chunks_exact(2)) {
            *out = fold.fold(pair[0], pair[1]);
        }
        return;
    }
    for (out, value) in out.iter_mut().zip(row.iter().step_by(STRIDE)) {
        *out = *value;
    }
    for tap in 1..size {
        for (out, value) in out.iter_mut().zip(row[tap..].iter().step_by(STRIDE)) {
            *out = fold.fold(*out, *value);
        }
    }
}
