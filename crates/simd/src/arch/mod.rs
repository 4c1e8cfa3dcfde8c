//! One file per instruction set: the token and its operations. The only unsafe code of the crate.
//!
//! Each file writes its operations as safe functions compiled with the level's features and lets
//! `token_methods!` wrap them into the trait's methods, so that the proof "the token exists,
//! hence the CPU has the features" stands in one place. A new instruction set is one file here,
//! an arm in `run_at` and its detection in `dispatch.rs`.

use crate::dispatch::Kernel;
use crate::level::Level;
use crate::simd::Simd;

/// Turns functions over vectors into methods of a token.
///
/// `fn name(args) -> ret { body }` becomes `fn name(self, args) -> ret`, whose body is compiled
/// with `$features`. The method is `#[inline(always)]` and the inner function `#[inline]`: once
/// the method stands inside [`Simd::vectorize`] the features match and both melt away.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! token_methods {
    ($features:literal; $(
        fn $name:ident($($arg:ident: $arg_type:ty),*) $(-> $result:ty)? $body:block
    )*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $arg_type),*) $(-> $result)? {
            #[target_feature(enable = $features)]
            #[inline]
            fn inner($($arg: $arg_type),*) $(-> $result)? $body
            // SAFETY: a token is made only after `dispatch::supports` has found these features.
            unsafe { inner($($arg),*) }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
pub use neon::Neon;
pub use scalar::Scalar;

/// Runs `kernel` with the token of `level`, or the scalar one where the CPU lacks it.
#[inline]
pub(crate) fn run_at<K: Kernel>(level: Level, kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if level == Level::Avx512
            && let Some(simd) = Avx512::new()
        {
            return simd.vectorize(
                #[inline(always)]
                || kernel.run(simd),
            );
        }
        if level == Level::Avx2
            && let Some(simd) = Avx2::new()
        {
            return simd.vectorize(
                #[inline(always)]
                || kernel.run(simd),
            );
        }
    }
    #[cfg(target_arch = "aarch64")]
    if level == Level::Neon
        && let Some(simd) = Neon::new()
    {
        return simd.vectorize(
            #[inline(always)]
            || kernel.run(simd),
        );
    }
    let _ = level; // the only level left on a target without vector code
    let simd = Scalar;
    simd.vectorize(
        #[inline(always)]
        || kernel.run(simd),
    )
}
