//! CPU capability tokens, vector operations and vector maths.
//!
//! A kernel is a value that implements [`Kernel`]: generic code over a token `S: Simd`, compiled
//! once per [`Level`]. [`dispatch`] runs it at the best level of this CPU. Having a token proves
//! that the CPU has its instructions, so kernels contain no unsafe code:
//!
//! ```
//! use tallow_simd::{Kernel, Simd, dispatch};
//!
//! /// The sum of a[i] · b[i].
//! struct Dot<'a> {
//!     a: &'a [f32],
//!     b: &'a [f32],
//! }
//!
//! impl Kernel for Dot<'_> {
//!     type Output = f32;
//!     #[inline(always)] // only inlined code is compiled with the level's instructions
//!     fn run<S: Simd>(self, s: S) -> f32 {
//!         let mut sum = s.splat_f32(0.0);
//!         // `chunks` also gives the short last piece; missing lanes load as zero.
//!         for (a, b) in self.a.chunks(S::F32_LANES).zip(self.b.chunks(S::F32_LANES)) {
//!             sum = s.fma_f32(s.load_partial_f32(a), s.load_partial_f32(b), sum);
//!         }
//!         s.reduce_add_f32(sum)
//!     }
//! }
//!
//! let (a, b) = (vec![2.0; 100], vec![0.5; 100]);
//! assert_eq!(dispatch(Dot { a: &a, b: &b }), 100.0);
//! ```
//!
//! For speed a kernel takes whole vectors by `chunks_exact` and the tail apart; [`slices`] has
//! those loops ready. Plain scalar loops in `run` are vectorised by the compiler for the level too
//! (integers, bytes, f64). Everything that `run` calls must be `#[inline(always)]`, closures
//! included (`#[inline(always)] |v| …` as an argument): a call that stays a call passes vectors
//! through memory and loses the instructions, correct but slow.
//!
//! `TALLOW_ISA=scalar|avx2|avx512|neon` or [`force_level`] choose the level. Read in this order:
//! `simd` (the trait), `dispatch`, [`slices`], [`math`], [`convert`], then `arch/`, the only
//! unsafe code but for [`VecOps`], candle's operations on raw pointers. Nothing here knows of
//! tensors or threads.

mod simd;

mod arch;
pub mod convert;
mod dispatch;
mod level;
pub mod math;
pub mod slices;
mod vec_ops;

#[cfg(target_arch = "aarch64")]
pub use arch::Neon;
pub use arch::Scalar;
#[cfg(target_arch = "x86_64")]
pub use arch::{Avx2, Avx512};
pub use dispatch::{
    Kernel, configured_level, dispatch, dispatch_at, force_level, has_avx_vnni, has_avx512_bf16,
    has_dotprod, has_i8mm, has_vnni, level, supported_levels, supports,
};
pub use level::{Level, LevelError, UnknownLevel};
pub use simd::{MAX_F32_LANES, Simd};
pub use vec_ops::VecOps;
