//! A scan in segments: [blocks, n, inner] elements, contiguous; sums run along n.
//!
//! n is cut into segments of about [`SEGMENT`] elements. Where there are several, their sums come
//! first, then what stands before each; then every segment is scanned from there. All three work on
//! rows of `inner` elements, which the compiler makes vectors of. Where `inner` is 1, a segment is
//! scanned eight elements at a time: three steps add each element's neighbour 1, 2 and 4 places
//! before (Hillis and Steele 1986), and one adds what came before the eight.

use crate::cpu::map::Cost;
use crate::cpu::{CpuView, copy, recycle};
use crate::{CpuStorage, F8E4M3, Result, WithDType, bf16, f16};
use tallow_simd::{Kernel, Simd};

/// Elements of a segment: 32 KiB of f32, the first-level cache.
const SEGMENT: usize = 8 << 10;
/// Rows of a segment at least, so that the sums before each are a small part of the work.
const SEGMENT_ROWS: usize = 16;
/// Elements scanned at a time.
const LANES: usize = 8;

/// A type whose sums are f64 (floats) or i64 (integers).
trait Element: WithDType {
    type Sum: WithDType;
    fn widen(self) -> Self::Sum;
    fn round(sum: Self::Sum) -> Self;
    fn plus(a: Self::Sum, b: Self::Sum) -> Self::Sum;
}

macro_rules! elements {
    ($($ty:ty: $sum:ty, $widen:expr, $round:expr, $plus:expr;)+) => {
        $(impl Element for $ty {
            type Sum = $sum;
            #[inline(always)]
            fn widen(self) -> $sum {
                $widen(self)
            }
            #[inline(always)]
            fn round(sum: $sum) -> Self {
                $round(sum)
            }
            #[inline(always)]
            fn plus(a: $sum, b: $sum) -> $sum {
                $plus(a, b)
            }
        })+
    };
}
elements! {
    f64: f64, |x| x, |sum| sum, |a, b| a + b;
    f32: f64, f64::from, |sum| sum as f32, |a, b| a + b;
    f16: f64, f16::to_f64, <f16 as WithDType>::from_f64, |a, b| a + b;
    bf16: f64, bf16::to_f64, <bf16 as WithDType>::from_f64, |a, b| a + b;
    F8E4M3: f64, WithDType::to_f64, <F8E4M3 as WithDType>::from_f64, |a, b| a + b;
    u8: i64, i64::from, |sum| sum as u8, i64::wrapping_add;
    u32: i64, i64::from, |sum| sum as u32, i64::wrapping_add;
    i16: i64, i64::from, |sum| sum as i16, i64::wrapping_add;
    i32: i64, i64::from, |sum| sum as i32, i64::wrapping_add;
    i64: i64, |x| x, |sum| sum, i64::wrapping_add;
}

pub(super) fn cumsum(x: CpuView<'_>, dim: usize, out: &mut CpuStorage) -> Result<()> {
    crate::with_dtype!(x.dtype(), "cumsum", T in all => {
        let (x, out) = (x.typed::<T>()?, out.as_mut_slice::<T>()?);
        let (len, inner) = (x.dims[dim], x.dims[dim + 1..].iter().product());
        match x.contiguous() {
            Some(data) => scan(data, len, inner, out),
            None => {
                let mut packed = recycle::take::<T>(x.count());
                copy::copy(x, &mut packed);
                scan(&packed, len, inner, out);
                recycle::give(packed);
            }
        }
        Ok(())
    })
}

fn scan<T: Element>(data: &[T], len: usize, inner: usize, out: &mut [T]) {
    let rows = (SEGMENT / inner).max(SEGMENT_ROWS);
    let segments = len.div_ceil(rows);
    let mut before = recycle::take::<T::Sum>(data.len() / len * segments);
    if segments > 1 {
        sums_before(data, len, inner, rows, &mut before);
    } else {
        before.fill(T::Sum::default());
    }
    if segments == 1 {
        // Several whole blocks a task.
        let block = len * inner;
        let blocks =
            tallow_threads::chunk_len(data.len() / block, (Cost::Light.min_chunk() / block).max(1));
        tallow_threads::parallel_chunks_mut(out, blocks * block, |chunk, part| {
            let src = &data[chunk * blocks * block..][..part.len()];
            let before = &before[chunk * blocks * inner..];
            tallow_simd::dispatch(Scan {
                src,
                dst: part,
                before,
                block,
                inner,
            });
        });
    } else {
        for ((src, dst), before) in data
            .chunks_exact(len * inner)
            .zip(out.chunks_exact_mut(len * inner))
            .zip(before.chunks_exact(segments * inner))
        {
            tallow_threads::parallel_chunks_mut(dst, rows * inner, |segment, dst| {
                let src = &src[segment * rows * inner..][..dst.len()];
                let (block, before) = (dst.len(), &before[segment * inner..]);
                tallow_simd::dispatch(Scan {
                    src,
                    dst,
                    before,
                    block,
                    inner,
                });
            });
        }
    }
    recycle::give(before);
}

/// What has been added up in front of each segment, a row of `inner` sums each.
fn sums_before<T: Element>(
    data: &[T],
    len: usize,
    inner: usize,
    rows: usize,
    before: &mut [T::Sum],
) {
    let segments = len.div_ceil(rows);
    tallow_threads::parallel_chunks_mut(before, inner, |at, sums| {
        let (block, segment) = (at / segments, at % segments);
        let start = (block * len + segment * rows) * inner;
        let end = (block * len + len.min((segment + 1) * rows)) * inner;
        let src = &data[start..end];
        tallow_simd::dispatch(Sums { src, sums });
    });
    for block in before.chunks_exact_mut(segments * inner) {
        let mut running = vec![T::Sum::default(); inner];
        for sums in block.chunks_exact_mut(inner) {
            for (slot, running) in sums.iter_mut().zip(&mut running) {
                let own = std::mem::replace(slot, *running);
                *running = T::plus(*running, own);
            }
        }
    }
}

/// The sums of the columns of rows as long as `sums`.
struct Sums<'a, T: Element> {
    src: &'a [T],
    sums: &'a mut [T::Sum],
}

impl<T: Element> Kernel for Sums<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { src, sums } = self;
        if let [sum] = sums {
            let mut lanes = [T::Sum::default(); 2 * LANES];
            let blocks = src.chunks_exact(2 * LANES);
            let rest = blocks.remainder();
            for block in blocks {
                for (lane, value) in lanes.iter_mut().zip(block) {
                    *lane = T::plus(*lane, value.widen());
                }
            }
            for (lane, value) in lanes.iter_mut().zip(rest) {
                *lane = T::plus(*lane, value.widen());
            }
            *sum = lanes.into_iter().fold(T::Sum::default(), T::plus);
            return;
        }
        sums.fill(T::Sum::default());
        for row in src.chunks_exact(sums.len()) {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum = T::plus(*sum, value.widen());
            }
        }
    }
}

/// Scans blocks of `block` elements, each on top of a row of `before`.
struct Scan<'a, T: Element> {
    src: &'a [T],
    dst: &'a mut [T],
    before: &'a [T::Sum],
    block: usize,
    inner: usize,
}

impl<T: Element> Kernel for Scan<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self {
            src,
            dst,
            before,
            block,
            inner,
        } = self;
        let blocks = src.chunks_exact(block).zip(dst.chunks_exact_mut(block));
        if inner == 1 {
            for ((src, dst), before) in blocks.zip(before) {
                scan_run(src, dst, *before);
            }
            return;
        }
        let mut sums = vec![T::Sum::default(); inner];
        for ((src, dst), before) in blocks.zip(before.chunks_exact(inner)) {
            sums.copy_from_slice(before);
            for (src, dst) in src.chunks_exact(inner).zip(dst.chunks_exact_mut(inner)) {
                for ((sum, value), slot) in sums.iter_mut().zip(src).zip(dst) {
                    *sum = T::plus(*sum, value.widen());
                    *slot = T::round(*sum);
                }
            }
        }
    }
}

#[inline(always)]
fn scan_run<T: Element>(src: &[T], dst: &mut [T], mut before: T::Sum) {
    let blocks = src.chunks_exact(LANES);
    let rest = blocks.remainder();
    let mut places = dst.chunks_exact_mut(LANES);
    for (src, dst) in blocks.zip(&mut places) {
        let mut sums = [T::Sum::default(); LANES];
        for (sum, value) in sums.iter_mut().zip(src) {
            *sum = value.widen();
        }
        for step in [1, 2, 4] {
            let from = sums;
            for at in step..LANES {
                sums[at] = T::plus(from[at], from[at - step]);
            }
        }
        for (sum, slot) in sums.iter_mut().zip(dst) {
            *sum = T::plus(*sum, before);
            *slot = T::round(*sum);
        }
        before = sums[LANES - 1];
    }
    for (value, slot) in rest.iter().zip(places.into_remainder()) {
        before = T::plus(before, value.widen());
        *slot = T::round(before);
    }
}
