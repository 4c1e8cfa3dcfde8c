//! Vector loads and stores of the floats that compute in f32: f32 itself, f16, bf16 and f8e4m3.
//!
//! A kernel written over [`VectorFloat`] serves the four: narrow types are widened in registers and
//! rounded once, when the result is stored.

use crate::{F8E4M3, WithDType, bf16, f16, float8};
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
    let lanes = S::F32_LANES;
    let whole = dst.len() / lanes * lanes;
    let (dst_whole, dst_rest) = dst.split_at_mut(whole);
    for (src, dst) in src
        .chunks_exact(lanes)
        .zip(dst_whole.chunks_exact_mut(lanes))
    {
        O::store(simd, f(A::load(simd, src)), dst);
    }
    if !dst_rest.is_empty() {
        O::store_partial(simd, f(A::load_partial(simd, &src[whole..])), dst_rest);
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
