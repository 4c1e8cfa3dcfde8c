//! Loops over two operands of a run, each a slice or one repeated value.

use super::map::Operand;
use super::vector::{VectorFloat, for_each_vector};
use tallow_simd::Simd;

/// `dst[i] = f(lhs[i], rhs[i])`, element by element; the compiler makes vectors of it.
#[inline(always)]
pub fn zip<A: Copy, B: Copy, O: Copy>(
    lhs: Operand<'_, A>,
    rhs: Operand<'_, B>,
    dst: &mut [O],
    f: impl Fn(A, B) -> O,
) {
    match (lhs, rhs) {
        (Operand::Slice(lhs), Operand::Slice(rhs)) => {
            dst.iter_mut()
                .zip(lhs)
                .zip(rhs)
                .for_each(|((d, &a), &b)| *d = f(a, b));
        }
        (Operand::Slice(lhs), Operand::Constant(b)) => {
            dst.iter_mut().zip(lhs).for_each(|(d, &a)| *d = f(a, b));
        }
        (Operand::Constant(a), Operand::Slice(rhs)) => {
            dst.iter_mut().zip(rhs).for_each(|(d, &b)| *d = f(a, b));
        }
        (Operand::Constant(a), Operand::Constant(b)) => dst.fill(f(a, b)),
    }
}

/// `dst[i] = f(lhs[i], rhs[i])` by vectors of f32.
#[inline(always)]
pub fn zip_vector<S: Simd, A: VectorFloat, B: VectorFloat, O: VectorFloat>(
    simd: S,
    lhs: Operand<'_, A>,
    rhs: Operand<'_, B>,
    dst: &mut [O],
    f: impl Fn(S::F32, S::F32) -> S::F32,
) {
    match (lhs, rhs) {
        (Operand::Slice(lhs), Operand::Slice(rhs)) => {
            for_each_vector::<S, O>(
                dst,
                #[inline(always)]
                |span, d| {
                    let (a, b) = (&lhs[span.clone()], &rhs[span]);
                    match d.len() == S::F32_LANES {
                        true => O::store(simd, f(A::load(simd, a), B::load(simd, b)), d),
                        false => {
                            let (a, b) = (A::load_partial(simd, a), B::load_partial(simd, b));
                            O::store_partial(simd, f(a, b), d);
                        }
                    }
                },
            );
        }
        (Operand::Slice(lhs), Operand::Constant(b)) => {
            let b = simd.splat_f32(b.widen());
            super::vector::map_vector(
                simd,
                lhs,
                dst,
                #[inline(always)]
                |a| f(a, b),
            );
        }
        (Operand::Constant(a), Operand::Slice(rhs)) => {
            let a = simd.splat_f32(a.widen());
            super::vector::map_vector(
                simd,
                rhs,
                dst,
                #[inline(always)]
                |b| f(a, b),
            );
        }
        (Operand::Constant(a), Operand::Constant(b)) => {
            let (a, b) = (simd.splat_f32(a.widen()), simd.splat_f32(b.widen()));
            if let Some((first, rest)) = dst.split_first_mut() {
                O::store_partial(simd, f(a, b), std::slice::from_mut(first));
                rest.fill(*first);
            }
        }
    }
}

/// A vector function made of a scalar one, lane by lane; the compiler makes vectors of it.
#[inline(always)]
pub fn by_lanes<S: Simd>(simd: S, a: S::F32, b: S::F32, f: impl Fn(f32, f32) -> f32) -> S::F32 {
    const WIDEST: usize = tallow_simd::MAX_F32_LANES;
    let (mut left, mut right) = ([0.0; WIDEST], [0.0; WIDEST]);
    simd.store_f32(a, &mut left);
    simd.store_f32(b, &mut right);
    for (a, &b) in left[..S::F32_LANES].iter_mut().zip(&right) {
        *a = f(*a, b);
    }
    simd.load_f32(&left)
}
