//! CPU capability tokens, vector operations and vector maths.

mod arch;
mod dispatch;
mod level;
mod simd;

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
