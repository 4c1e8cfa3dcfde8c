//! A row at a time, in pieces: a piece's extreme is found without branches, and only a piece that
//! beats what was found before is searched for the place.

use crate::cpu::CpuView;
use crate::cpu::rows::{RowKernel, for_each_row_to};
use crate::{Result, WithDType};
use tallow_simd::Simd;

/// Elements a piece.
const PIECE: usize = 256;

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
        let ahead = if GREATEST { a > b } else { a < b };
        ahead || (is_nan(a) && !is_nan(b))
    }
}

#[inline(always)]
fn is_nan<T: PartialOrd>(value: &T) -> bool {
    value.partial_cmp(value).is_none()
}

impl<T: WithDType, const GREATEST: bool> RowKernel<T, u32> for Extreme<GREATEST> {
    #[inline(always)]
    fn run<S: Simd>(self, _: S, src: &[T], dst: &mut [u32], _: &mut [f32]) {
        let (mut best, mut place) = (src[0], 0);
        for (piece, start) in src.chunks(PIECE).zip((0..).step_by(PIECE)) {
            let better = |a, b: &T| if Self::beats(b, &a) { *b } else { a };
            let extreme = piece.iter().fold(piece[0], better);
            if Self::beats(&extreme, &best) {
                best = extreme;
                let same = |value: &T| *value == extreme || (is_nan(value) && is_nan(&extreme));
                place = start + piece.iter().position(same).unwrap_or(0);
            } else if start == 0 {
                let same = |value: &T| *value == best || (is_nan(value) && is_nan(&best));
                place = piece.iter().position(same).unwrap_or(0);
            }
        }
        dst[0] = place as u32;
    }
}
