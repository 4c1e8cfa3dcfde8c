//! Loops over whole slices from a function of vectors: map, zip and fold, tails included.
//!
//! These are the loops that nearly every kernel needs, for each element type that computes in f32
//! ([`Element`]: f32, f16, bf16). They take a token and are `#[inline(always)]`: call them from a
//! [`Kernel`](crate::Kernel)'s `run`, and mark the closures that they get `#[inline(always)]` too.
//! A tail shorter than a vector is loaded with zeros (maps) or with the fold's own start value, so
//! that it changes nothing. Maps call their function at one place for whole vectors and tails
//! alike: a long function is compiled once and the compiler is free to inline it.
//!
//! Folds keep four vectors, so that four operations are under way at once, and combine them in a
//! fixed order: the result depends on the level and the length, never on the machine's load.

use half::{bf16, f16};

use crate::simd::Simd;

/// A float type whose vectors are computed with as f32.
pub trait Element: Copy + Send + Sync + 'static {
    /// The first `F32_LANES` elements, widened. Panics if there are fewer.
    fn load<S: Simd>(s: S, src: &[Self]) -> S::F32;
    /// At most `F32_LANES` elements, widened; the other lanes are 0.
    fn load_partial<S: Simd>(s: S, src: &[Self]) -> S::F32;
    /// Rounds and writes `F32_LANES` elements. Panics if there are fewer.
    fn store<S: Simd>(s: S, v: S::F32, dst: &mut [Self]);
    /// Rounds and writes the first `dst.len()` lanes, at most `F32_LANES`.
    fn store_partial<S: Simd>(s: S, v: S::F32, dst: &mut [Self]);
}

macro_rules! element {
    ($element:ty, $load:ident, $load_partial:ident, $store:ident, $store_partial:ident) => {
        impl Element for $element {
            #[inline(always)]
            fn load<S: Simd>(s: S, src: &[Self]) -> S::F32 {
                s.$load(src)
            }
            #[inline(always)]
            fn load_partial<S: Simd>(s: S, src: &[Self]) -> S::F32 {
                s.$load_partial(src)
            }
            #[inline(always)]
            fn store<S: Simd>(s: S, v: S::F32, dst: &mut [Self]) {
                s.$store(v, dst);
            }
            #[inline(always)]
            fn store_partial<S: Simd>(s: S, v: S::F32, dst: &mut [Self]) {
                s.$store_partial(v, dst);
            }
        }
    };
}

element!(
    f32,
    load_f32,
    load_partial_f32,
    store_f32,
    store_partial_f32
);
element!(
    f16,
    load_f16,
    load_partial_f16,
    store_f16,
    store_partial_f16
);
element!(
    bf16,
    load_bf16,
    load_partial_bf16,
    store_bf16,
    store_partial_bf16
);

/// A vector from `src`, which has at most `F32_LANES` elements.
#[inline(always)]
fn load_piece<S: Simd, T: Element>(s: S, src: &[T]) -> S::F32 {
    if src.len() == S::F32_LANES {
        T::load(s, src)
    } else {
        T::load_partial(s, src)
    }
}

/// A vector to `dst`, which has at most `F32_LANES` elements.
#[inline(always)]
fn store_piece<S: Simd, T: Element>(s: S, v: S::F32, dst: &mut [T]) {
    if dst.len() == S::F32_LANES {
        T::store(s, v, dst)
    } else {
        T::store_partial(s, v, dst)
    }
}

/// dst\[i\] = f(src\[i\]). Panics if the lengths differ.
#[inline(always)]
pub fn map<S: Simd, T: Element, U: Element>(
    s: S,
    src: &[T],
    dst: &mut [U],
    f: impl Fn(S::F32) -> S::F32,
) {
    let (len, out_len) = (src.len(), dst.len());
    assert_eq!(
        len, out_len,
        "simd: map: lengths differ: src {len}, dst {out_len}"
    );
    for (src, dst) in src.chunks(S::F32_LANES).zip(dst.chunks_mut(S::F32_LANES)) {
        store_piece(s, f(load_piece(s, src)), dst);
    }
}

/// data\[i\] = f(data\[i\]).
#[inline(always)]
pub fn map_in_place<S: Simd, T: Element>(s: S, data: &mut [T], f: impl Fn(S::F32) -> S::F32) {
    for piece in data.chunks_mut(S::F32_LANES) {
        store_piece(s, f(load_piece(s, piece)), piece);
    }
}

/// dst\[i\] = f(a\[i\], b\[i\]). Panics if the lengths differ.
#[inline(always)]
pub fn zip<S: Simd, T: Element, U: Element>(
    s: S,
    a: &[T],
    b: &[T],
    dst: &mut [U],
    f: impl Fn(S::F32, S::F32) -> S::F32,
) {
    let lens = [a.len(), b.len(), dst.len()];
    assert!(
        lens[0] == lens[1] && lens[1] == lens[2],
        "simd: zip: lengths differ: {lens:?}"
    );
    let sources = a.chunks(S::F32_LANES).zip(b.chunks(S::F32_LANES));
    for ((a, b), dst) in sources.zip(dst.chunks_mut(S::F32_LANES)) {
        store_piece(s, f(load_piece(s, a), load_piece(s, b)), dst);
    }
}

/// Folds all elements lane by lane into one vector, from `start` in each lane. `combine` must be
/// associative and commutative up to rounding, and `start` its neutral element.
#[inline(always)]
pub fn fold<S: Simd, T: Element>(
    s: S,
    src: &[T],
    start: f32,
    combine: impl Fn(S::F32, S::F32) -> S::F32,
) -> S::F32 {
    let lanes = S::F32_LANES;
    let mut sums = [s.splat_f32(start); 4];
    let mut blocks = src.chunks_exact(4 * lanes);
    for block in blocks.by_ref() {
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = combine(*sum, T::load(s, &block[k * lanes..][..lanes]));
        }
    }
    let mut vectors = blocks.remainder().chunks_exact(lanes);
    for vector in vectors.by_ref() {
        sums[0] = combine(sums[0], T::load(s, vector));
    }
    let rest = vectors.remainder();
    if !rest.is_empty() {
        let present = s.first_m32(rest.len());
        let tail = s.select_f32(present, T::load_partial(s, rest), s.splat_f32(start));
        sums[1] = combine(sums[1], tail);
    }
    combine(combine(sums[0], sums[1]), combine(sums[2], sums[3]))
}

/// The sum, in f32 over 4 · `F32_LANES` partial sums.
#[inline(always)]
pub fn sum<S: Simd, T: Element>(s: S, src: &[T]) -> f32 {
    let sums = fold(
        s,
        src,
        0.0,
        #[inline(always)]
        |a, b| s.add_f32(a, b),
    );
    s.reduce_add_f32(sums)
}

/// The largest element; NaN if any is NaN, -∞ of none.
#[inline(always)]
pub fn max<S: Simd, T: Element>(s: S, src: &[T]) -> f32 {
    let largest = fold(
        s,
        src,
        f32::NEG_INFINITY,
        #[inline(always)]
        |a, b| s.max_f32(a, b),
    );
    s.reduce_max_f32(largest)
}

/// The smallest element; NaN if any is NaN, ∞ of none.
#[inline(always)]
pub fn min<S: Simd, T: Element>(s: S, src: &[T]) -> f32 {
    let smallest = fold(
        s,
        src,
        f32::INFINITY,
        #[inline(always)]
        |a, b| s.min_f32(a, b),
    );
    s.reduce_min_f32(smallest)
}

/// The sum of a\[i\] · b\[i\], in f32 over 4 · `F32_LANES` partial sums. Panics if the lengths
/// differ.
#[inline(always)]
pub fn dot<S: Simd, T: Element, U: Element>(s: S, a: &[T], b: &[U]) -> f32 {
    let (len, other_len) = (a.len(), b.len());
    assert_eq!(
        len, other_len,
        "simd: dot: lengths differ: {len}, {other_len}"
    );
    let lanes = S::F32_LANES;
    let mut sums = [s.splat_f32(0.0); 4];
    let mut lefts = a.chunks_exact(4 * lanes);
    let mut rights = b.chunks_exact(4 * lanes);
    for (a, b) in lefts.by_ref().zip(rights.by_ref()) {
        for (k, sum) in sums.iter_mut().enumerate() {
            let a = T::load(s, &a[k * lanes..][..lanes]);
            let b = U::load(s, &b[k * lanes..][..lanes]);
            *sum = s.fma_f32(a, b, *sum);
        }
    }
    let rest = lefts
        .remainder()
        .chunks(lanes)
        .zip(rights.remainder().chunks(lanes));
    for (a, b) in rest {
        sums[0] = s.fma_f32(T::load_partial(s, a), U::load_partial(s, b), sums[0]);
    }
    s.reduce_add_f32(s.add_f32(s.add_f32(sums[0], sums[1]), s.add_f32(sums[2], sums[3])))
}
