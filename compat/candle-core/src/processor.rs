//! What the processor and the build can do.

use tallow_simd::Level;

/// The number of threads that operations use.
pub fn get_num_threads() -> usize {
    tallow_threads::num_threads()
}

/// False: a BLAS is found at run time, or not at all.
pub fn has_accelerate() -> bool {
    false
}

/// False: a BLAS is found at run time, or not at all.
pub fn has_mkl() -> bool {
    false
}

/// True if a device can be opened through CUDA.
pub fn cuda_is_available() -> bool {
    tallow::Device::new_cuda(0).is_ok()
}

/// True if a device can be opened through Metal.
pub fn metal_is_available() -> bool {
    tallow::Device::new_metal(0).is_ok()
}

fn runs(levels: &[Level]) -> bool {
    tallow_simd::supported_levels()
        .iter()
        .any(|level| levels.contains(level))
}

/// True if operations run on AVX2.
pub fn with_avx() -> bool {
    runs(&[Level::Avx2])
}

/// True if f16 is converted by the processor.
pub fn with_f16c() -> bool {
    runs(&[Level::Avx2])
}

/// True if operations run on NEON.
pub fn with_neon() -> bool {
    runs(&[Level::Neon])
}

/// True if operations run on WebAssembly's vectors.
pub fn with_simd128() -> bool {
    false
}

/// Nothing: the pool of threads starts by itself.
pub fn init_global_threadpool() {}

/// Nothing: threads are left to the system's scheduler.
pub fn set_thread_affinity() {}

/// Runs `f`; operations in it use the same threads as anywhere else.
pub fn with_threadpool<F: FnOnce() -> R + Send, R: Send>(f: F) -> R {
    f()
}
