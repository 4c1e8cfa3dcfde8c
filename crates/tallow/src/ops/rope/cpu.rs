//! Row by row: a row is one head at one position. Rows go to threads.

use super::Pairs;
use crate::WithDType;
use crate::cpu::View;
use crate::cpu::map::Cost;

/// Both tables, and where a position's row of either starts.
#[derive(Clone, Copy)]
pub(super) struct Tables<'a, T> {
    cos: View<'a, T>,
    sin: View<'a, T>,
}

/// Floats that turn in f32, or f64 in f64.
pub(super) trait Turn: WithDType {
    /// (a·cos − b·sin, a·sin + b·cos)
    fn turn(a: Self, b: Self, cos: Self, sin: Self) -> (Self, Self);
}

impl Turn for f64 {
    #[inline(always)]
    fn turn(a: f64, b: f64, cos: f64, sin: f64) -> (f64, f64) {
        (a * cos - b * sin, a * sin + b * cos)
    }
}

macro_rules! turn_in_f32 {
    ($($ty:ty),+) => {
        $(impl Turn for $ty {
            #[inline(always)]
            fn turn(a: Self, b: Self, cos: Self, sin: Self) -> (Self, Self) {
                use crate::cpu::vector::VectorFloat;
                let (a, b, cos, sin) = (a.widen(), b.widen(), cos.widen(), sin.widen());
                (Self::narrow(a * cos - b * sin), Self::narrow(a * sin + b * cos))
            }
        })+
    };
}
turn_in_f32!(f32, crate::f16, crate::bf16);

impl<'a, T> Tables<'a, T> {
    pub(super) fn new(cos: View<'a, T>, sin: View<'a, T>) -> Self {
        Self { cos, sin }
    }

    /// One table's value for a batch index, a position and a pair.
    #[inline(always)]
    fn at(view: &View<'a, T>, batch: usize, position: usize) -> (&'a [T], usize) {
        let (start, step) = match *view.strides {
            [row, step] => (position * row, step),
            [table, row, step] => (batch * table + position * row, step),
            _ => (0, 0),
        };
        (&view.data[start..], step)
    }
}

pub(super) fn rope<T: Turn>(x: View<'_, T>, tables: Tables<'_, T>, pairs: Pairs, out: &mut [T]) {
    let [
        (_, batch_stride),
        (heads, head_stride),
        (len, len_stride),
        (head_dim, stride),
    ] = x.last::<4>().expect("the shape rule wants rank 4");
    let rows_min = Cost::Light.min_chunk() / head_dim;
    let rows = tallow_threads::chunk_len(out.len() / head_dim, rows_min.max(1));
    tallow_threads::parallel_chunks_mut(out, rows * head_dim, |chunk, part| {
        for (at, row) in part.chunks_exact_mut(head_dim).enumerate() {
            let at = chunk * rows + at;
            let (batch, head, position) = (at / (heads * len), at / len % heads, at % len);
            let start = batch * batch_stride + head * head_stride + position * len_stride;
            let (cos, cos_step) = Tables::at(&tables.cos, batch, position);
            let (sin, sin_step) = Tables::at(&tables.sin, batch, position);
            let half = head_dim / 2;
            for pair in 0..half {
                let (first, second) = match pairs {
                    Pairs::Halves => (pair, pair + half),
                    Pairs::Neighbours => (2 * pair, 2 * pair + 1),
                };
                let (a, b) = (
                    x.data[start + first * stride],
                    x.data[start + second * stride],
                );
                (row[first], row[second]) =
                    T::turn(a, b, cos[pair * cos_step], sin[pair * sin_step]);
            }
        }
    });
}
