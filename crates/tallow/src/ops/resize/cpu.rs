//! Resizing on the CPU: rows of the result, from one or two rows of the image each.

use super::taps::Taps;
use crate::cpu::map::Cost;
use crate::cpu::{View, copy, recycle};
use crate::ops::pool::Pooled;
use crate::{Result, WithDType};
use std::ops::{Add, AddAssign, Mul, Range};

/// Images `[batch, channels, height, width]` with contiguous rows; a height of 1 where the view
/// has none.
struct Images<'a, T> {
    data: &'a [T],
    channels: usize,
    width: usize,
    /// From batch to batch, channel to channel, row to row.
    strides: [usize; 3],
}

impl<'a, T> Images<'a, T> {
    fn new(view: View<'a, T>) -> Self {
        let row_stride = if view.dims.len() == 4 {
            view.strides[2]
        } else {
            0
        };
        Self {
            data: view.data,
            channels: view.dims[1],
            width: view.dims[view.dims.len() - 1],
            strides: [view.strides[0], view.strides[1], row_stride],
        }
    }

    /// Where a channel starts; channels are counted over the batch.
    fn channel(&self, at: usize) -> usize {
        at / self.channels * self.strides[0] + at % self.channels * self.strides[1]
    }

    fn row(&self, channel_start: usize, row: usize) -> &'a [T] {
        &self.data[channel_start + row * self.strides[2]..][..self.width]
    }
}

/// Shares rows of the result out: `f` gets their numbers, counted over all channels.
fn for_rows<T: Send>(
    columns: usize,
    cost: Cost,
    out: &mut [T],
    f: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let rows = out.len() / columns;
    let rows = tallow_threads::chunk_len(rows, cost.min_chunk().div_ceil(columns));
    tallow_threads::parallel_chunks_mut(out, rows * columns, |chunk, out| {
        let first = chunk * rows;
        f(first..first + out.len() / columns, out);
    });
}

/// Each element the nearest one's value.
pub(super) fn nearest<T: WithDType>(
    x: View<'_, T>,
    [rows, columns]: &[Vec<Taps>; 2],
    out: &mut [T],
) -> Result<()> {
    let straight = copy::straight_rows(x);
    let images = &Images::new(straight.view(x));
    let reads: Vec<usize> = columns.iter().map(|taps| taps.low).collect();
    let is_doubled = reads.len() == 2 * images.width;
    for_rows(reads.len(), Cost::Light, out, |numbers, out| {
        let mut last = None;
        for (at, number) in numbers.enumerate() {
            let (channel, row) = (number / rows.len(), rows[number % rows.len()].low);
            let start = at * reads.len();
            if last == Some((channel, row)) {
                out.copy_within(start - reads.len()..start, start);
                continue;
            }
            last = Some((channel, row));
            let (row, out) = (images.row(images.channel(channel), row), &mut out[start..]);
            if is_doubled {
                let pairs = out.chunks_exact_mut(2).zip(row);
                pairs.for_each(|(pair, value)| pair.fill(*value));
            } else {
                out.iter_mut()
                    .zip(&reads)
                    .for_each(|(to, &at)| *to = row[at]);
            }
        }
    });
    Ok(())
}

/// Taps with their weights in the type that is computed in.
struct Weighed<A> {
    low: usize,
    high: usize,
    weights: [A; 2],
    is_single: bool,
}

fn weighed<A: WithDType>(taps: &[Taps]) -> Vec<Weighed<A>> {
    let of = |taps: &Taps| Weighed {
        low: taps.low,
        high: taps.high,
        weights: [A::from_f64(1.0 - taps.weight), A::from_f64(taps.weight)],
        is_single: taps.weight == 0.0,
    };
    taps.iter().map(of).collect()
}

/// Each element the weighted mean of those around it.
pub(super) fn bilinear<T: Pooled>(
    x: View<'_, T>,
    [rows, columns]: &[Vec<Taps>; 2],
    out: &mut [T],
) -> Result<()>
where
    T::Acc: Add<Output = T::Acc> + Mul<Output = T::Acc>,
{
    let straight = copy::straight_rows(x);
    let images = &Images::new(straight.view(x));
    let (rows, columns) = (weighed::<T::Acc>(rows), weighed::<T::Acc>(columns));
    for_rows(columns.len(), Cost::Heavy, out, |numbers, out| {
        // Rows of the image, interpolated along their length; neighbouring results share them.
        let mut made = [
            (None, recycle::take(columns.len())),
            (None, recycle::take(columns.len())),
        ];
        for (number, out) in numbers.zip(out.chunks_exact_mut(columns.len())) {
            let (channel, taps) = (number / rows.len(), &rows[number % rows.len()]);
            let start = images.channel(channel);
            if made[1].0 == Some((channel, taps.low)) {
                made.swap(0, 1);
            }
            for (row, (number, values)) in [taps.low, taps.high].into_iter().zip(&mut made) {
                if *number != Some((channel, row)) {
                    along_row(images.row(start, row), &columns, values);
                    *number = Some((channel, row));
                }
            }
            let [(_, low), (_, high)] = &made;
            let [weight_low, weight_high] = taps.weights;
            if taps.is_single {
                out.iter_mut()
                    .zip(low)
                    .for_each(|(to, low)| *to = T::narrow(*low));
            } else {
                for ((to, low), high) in out.iter_mut().zip(low).zip(high) {
                    *to = T::narrow(weight_low * *low + weight_high * *high);
                }
            }
        }
        let [(_, first), (_, second)] = made;
        recycle::give(first);
        recycle::give(second);
    });
    Ok(())
}

fn along_row<T: Pooled>(row: &[T], columns: &[Weighed<T::Acc>], out: &mut [T::Acc])
where
    T::Acc: Add<Output = T::Acc> + Mul<Output = T::Acc>,
{
    for (to, taps) in out.iter_mut().zip(columns) {
        let (low, high) = (row[taps.low].widen(), row[taps.high].widen());
        // An infinity behind a weight of 0 would be NaN.
        *to = if taps.is_single {
            low
        } else {
            taps.weights[0] * low + taps.weights[1] * high
        };
    }
}

/// The way back: the gradient of each result added to the elements that it was made of. `x` is the
/// gradient of the result, `out` has images of `height` rows.
pub(super) fn spread<T: Pooled>(
    x: View<'_, T>,
    [rows, columns]: &[Vec<Taps>; 2],
    [height, width]: [usize; 2],
    out: &mut [T],
) -> Result<()>
where
    T::Acc: AddAssign + Mul<Output = T::Acc>,
{
    if x.count() == 0 {
        out.fill(T::default());
        return Ok(());
    }
    let straight = copy::straight_rows(x);
    let images = &Images::new(straight.view(x));
    let (rows, columns) = (weighed::<T::Acc>(rows), weighed::<T::Acc>(columns));
    for_rows(height * width, Cost::Heavy, out, |channels, out| {
        let mut image = recycle::take::<T::Acc>(height * width);
        let mut along = recycle::take::<T::Acc>(width);
        for (channel, out) in channels.zip(out.chunks_exact_mut(height * width)) {
            image.fill(T::Acc::default());
            let start = images.channel(channel);
            for (row, taps) in rows.iter().enumerate() {
                along.fill(T::Acc::default());
                for (share, taps) in images.row(start, row).iter().zip(&columns) {
                    let share = share.widen();
                    along[taps.low] += taps.weights[0] * share;
                    if !taps.is_single {
                        along[taps.high] += taps.weights[1] * share;
                    }
                }
                let both = [taps.low, taps.high].into_iter().zip(taps.weights);
                for (row, weight) in both.take(if taps.is_single { 1 } else { 2 }) {
                    let image = &mut image[row * width..][..width];
                    for (to, from) in image.iter_mut().zip(&along) {
                        *to += weight * *from;
                    }
                }
            }
            out.iter_mut()
                .zip(&image)
                .for_each(|(to, from)| *to = T::narrow(*from));
        }
        recycle::give(image);
        recycle::give(along);
    });
    Ok(())
}
