//! Vector loads and stores of the floats that compute in f32: f32 itself, f16, bf16 and f8e4m3.
//!
//! A kernel written over [`VectorFloat`] serves the four: narrow types are widened in registers and
//! rounded once, when the result is stored.

use crate::{F8E4M3, WithDType, bf16, f16, float8};
use std::ops::Range;
use tallow_simd::Simd;

/// A float that is loaded to, and stored from, vectors of f32.
pub trait VectorFloat: WithDType {
    /// The first `S::F32_LANES` elements.
    fn load<S: Simd>(simd: S, from: &[Self]) -> S::F32;
    /// Fewer elements than lanes; the others are 0.
    fn load_partial<S: Simd>(simd: S, from: &[Self]) -> S::F32;
    /// Writes the first `S::F32_LANES` elements, rounded to nearest, ties to even.
    fn store<S: Simd>(simd: S, value: S::F32, to: &mut [Self]);
    /// Writes as many lanes as `to` has elements, at most all of them.
    fn store_partial<S: Simd>(simd: S, value: S::F32, to: &mut [Self]);
    /// The value as f32; exact.
    fn widen(self) -> f32;
    /// The nearest value, ties to even.
    fn narrow(value: f32) -> Self;
}

macro_rules! vector_float {
    (
        $ty:ty, $load:ident, $load_partial:ident, $store:ident, $store_partial:ident,
        $widen:expr, $narrow:expr
    ) => {
        impl VectorFloat for $ty {
            #[inline(always)]
            fn load<S: Simd>(simd: S, from: &[Self]) -> S::F32 {
                simd.$load(from)
            }
            #[inline(always)]
            fn load_partial<S: Simd>(simd: S, from: &[Self]) -> S::F32 {
                simd.$load_partial(from)
            }
            #[inline(always)]
            fn store<S: Simd>(simd: S, value: S::F32, to: &mut [Self]) {
                simd.$store(value, to);
            }
            #[inline(always)]
            fn store_partial<S: Simd>(simd: S, value: S::F32, to: &mut [Self]) {
                simd.$store_partial(value, to);
            }
            #[inline(always)]
            fn widen(self) -> f32 {
                $widen(self)
            }
            #[inline(always)]
            fn narrow(value: f32) -> Self {
                $narrow(value)
            }
        }
    };
}
vector_float!(
    f32,
    load_f32,
    load_partial_f32,
    store_f32,
    store_partial_f32,
    |v| v,
    |v| v
);
vector_float!(
    f16,
    load_f16,
    load_partial_f16,
    store_f16,
    store_partial_f16,
    f16::to_f32,
    f16::from_f32
);
vector_float!(
    bf16,
    load_bf16,
    load_partial_bf16,
    store_bf16,
    store_partial_bf16,
    bf16::to_f32,
    bf16::from_f32
);

/// The most lanes of any level.
const LANES_MAX: usize = 16;

// No level converts f8 in hardware: lane by lane.
impl VectorFloat for F8E4M3 {
    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[Self]) -> S::F32 {
        Self::load_partial(simd, &from[..S::F32_LANES])
    }
    #[inline(always)]
    fn load_partial<S: Simd>(simd: S, from: &[Self]) -> S::F32 {
        let mut wide = [0.0; LANES_MAX];
        wide.iter_mut()
            .zip(from)
            .for_each(|(wide, value)| *wide = float8::widen(*value));
        simd.load_f32(&wide)
    }
    #[inline(always)]
    fn store<S: Simd>(simd: S, value: S::F32, to: &mut [Self]) {
        Self::store_partial(simd, value, &mut to[..S::F32_LANES]);
    }
    #[inline(always)]
    fn store_partial<S: Simd>(simd: S, value: S::F32, to: &mut [Self]) {
        let mut wide = [0.0; LANES_MAX];
        simd.store_f32(value, &mut wide);
        to.iter_mut()
            .zip(wide)
            .for_each(|(to, wide)| *to = float8::narrow(wide));
    }
    #[inline(always)]
    fn widen(self) -> f32 {
        float8::widen(self)
    }
    #[inline(always)]
    fn narrow(value: f32) -> Self {
        float8::narrow(value)
    }
}

/// Applies a vector function to each element.
#[inline(always)]
pub fn map_vector<S: Simd, A: VectorFloat, O: VectorFloat>(
    simd: S,
    src: &[A],
    dst: &mut [O],
    f: impl Fn(S::F32) -> S::F32,
) {
    for_each_vector::<S, O>(
        dst,
        #[inline(always)]
        |span, dst| {
            let src = &src[span];
            match dst.len() == S::F32_LANES {
                true => O::store(simd, f(A::load(simd, src)), dst),
                false => O::store_partial(simd, f(A::load_partial(simd, src)), dst),
            }
        },
    );
}

/// Calls `f` for vectors that together cover `dst`: which elements one is, and where they go. Only
/// one of fewer elements than a vector has is not whole.
///
/// The second starts at a boundary of the vector's size, so that no store but the first and the
/// last crosses a cache line; large buffers lie alike to these boundaries, so that loads do not
/// either. The first and the last may overlap their neighbours: `f` gives an element the same value
/// each time. It stands at one place here, so that a long one is compiled once.
#[inline(always)]
pub fn for_each_vector<S: Simd, O>(dst: &mut [O], mut f: impl FnMut(Range<usize>, &mut [O])) {
    let (lanes, len) = (S::F32_LANES, dst.len());
    if len == 0 {
        return;
    }
    let last = len.saturating_sub(lanes);
    let aligned = dst.as_ptr().align_offset(lanes * size_of::<O>()) % lanes;
    let (mut start, mut next) = (0, if aligned == 0 { lanes } else { aligned });
    loop {
        let span = start..len.min(start + lanes);
        f(span.clone(), &mut dst[span]);
        if start == last {
            return;
        }
        (start, next) = (next.min(last), next + lanes);
    }
}

/// The elements as f32; both slices have the same length.
#[inline(always)]
pub fn widen_run<S: Simd, T: VectorFloat>(simd: S, src: &[T], dst: &mut [f32]) {
    map_vector(
        simd,
        src,
        dst,
        #[inline(always)]
        |x| x,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallow_simd::{Kernel, dispatch_at, supported_levels};

    struct Double<'a, T>(&'a [T], &'a mut [T]);

    impl<T: VectorFloat> Kernel for Double<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            map_vector(
                simd,
                self.0,
                self.1,
                #[inline(always)]
                |x| simd.add_f32(x, x),
            );
        }
    }

    fn every_length_at_every_offset<T: VectorFloat>() {
        for level in supported_levels() {
            for offset in 0..LANES_MAX {
                for len in 0..=4 * LANES_MAX + 1 {
                    let value = |at: usize| T::narrow((at % 7) as f32);
                    let src: Vec<T> = (0..len).map(value).collect();
                    let mut dst = vec![T::narrow(-1.0); LANES_MAX + len + 1];
                    let part = &mut dst[offset..offset + len];
                    dispatch_at(level, Double(&src, part)).expect("level is supported");
                    for (at, &found) in dst.iter().enumerate() {
                        let wanted = match (offset..offset + len).contains(&at) {
                            true => 2.0 * src[at - offset].widen(),
                            false => -1.0,
                        };
                        assert_eq!(found.widen(), wanted, "{level} {offset} {len} [{at}]");
                    }
                }
            }
        }
    }

    #[test]
    fn every_element_and_no_other_is_written_at_any_length_and_alignment() {
        every_length_at_every_offset::<f32>();
        every_length_at_every_offset::<f16>();
        every_length_at_every_offset::<bf16>();
        every_length_at_every_offset::<F8E4M3>();
    }
}
