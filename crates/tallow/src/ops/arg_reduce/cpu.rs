//! A row at a time, in pieces: a piece's extreme is found without branches, lane by lane, and only
//! a piece that beats what was found before is searched for the place.

use crate::cpu::CpuView;
use crate::cpu::rows::{RowKernel, for_each_row_to};
use crate::{Result, WithDType};
use tallow_simd::Simd;

/// Elements a piece.
const PIECE: usize = 4096;

/// Elements that are compared side by side: four vectors of f32.
const LANES: usize = 64;

pub(super) fn arg_reduce(greatest: bool, x: CpuView<'_>, out: &mut [u32]) -> Result<()> {
    crate::with_dtype!(x.dtype(), "argmax", T in all => {
        match greatest {
            true => for_each_row_to(x.typed::<T>()?, out, Extreme::<true>),
            false => for_each_row_to(x.typed::<T>()?, out, Extreme::<false>),
        }
        Ok(())
    })
}

#[derive(Clone, Copy)]
struct Extreme<const GREATEST: bool>;

impl<const GREATEST: bool> Extreme<GREATEST> {
    /// True if `a` beats `b`; NaN beats numbers, and nothing beats NaN.
    #[inline(always)]
    fn beats<T: PartialOrd>(a: &T, b: &T) -> bool {
        let is_behind = if GREATEST { a <= b } else { a >= b };
        !is_behind & !is_nan(b)
    }

    #[inline(always)]
    fn better<T: PartialOrd>(a: T, b: T) -> T {
        if Self::beats(&b, &a) { b } else { a }
    }
}

#[expect(clippy::eq_op, reason = "what NaN is known by, in one comparison")]
#[inline(always)]
fn is_nan<T: PartialOrd>(value: &T) -> bool {
    value != value
}

impl<const GREATEST: bool> Extreme<GREATEST> {
    /// The extreme of a piece, which is not empty.
    #[inline(always)]
    fn of<T: WithDType>(piece: &[T]) -> T {
        let (parts, rest) = piece.as_chunks::<LANES>();
        let mut lanes = [piece[0]; LANES];
        for part in parts {
            for (lane, value) in lanes.iter_mut().zip(part) {
                *lane = Self::better(*lane, *value);
            }
        }
        let lanes: [T; LANES / 2] = Self::halved(&lanes);
        let lanes: [T; LANES / 4] = Self::halved(&lanes);
        let lanes: [T; LANES / 8] = Self::halved(&lanes);
        let mut extreme = lanes[0];
        for value in lanes.iter().chain(rest) {
            extreme = Self::better(extreme, *value);
        }
        extreme
    }

    #[inline(always)]
    fn halved<T: WithDType, const HALF: usize>(lanes: &[T]) -> [T; HALF] {
        let mut half = [lanes[0]; HALF];
        let (low, high) = lanes.split_at(HALF);
        for ((half, low), high) in half.iter_mut().zip(low).zip(high) {
            *half = Self::better(*low, *high);
        }
        half
    }
}

/// Where a piece has a value first, which it has.
#[inline(always)]
fn find<T: WithDType>(piece: &[T], wanted: T) -> usize {
    let same = |value: &T| (*value == wanted) | (is_nan(value) & is_nan(&wanted));
    for (part, start) in piece.chunks(LANES).zip((0..).step_by(LANES)) {
        let mut is_here = false;
        for value in part {
            is_here |= same(value);
        }
        if is_here {
            return start + part.iter().position(same).unwrap_or(0);
        }
    }
    0
}

impl<T: WithDType, const GREATEST: bool> RowKernel<T, u32> for Extreme<GREATEST> {
    #[inline(always)]
    fn run<S: Simd>(self, _: S, src: &[T], dst: &mut [u32], _: &mut [f32]) {
        let (mut best, mut place) = (src[0], None);
        for (piece, start) in src.chunks(PIECE).zip((0..).step_by(PIECE)) {
            let extreme = Self::of(piece);
            if place.is_none() || Self::beats(&extreme, &best) {
                (best, place) = (extreme, Some(start + find(piece, extreme)));
            }
        }
        dst[0] = place.unwrap_or(0) as u32;
    }
}
