//! The vector operations that quantized kernels are written in, one file per instruction set.
//!
//! Two kinds of kernel, two traits. A row kernel ([`RowLanes`]) walks one weight row as it lies in
//! the file, 32 codes at a time, and sums across lanes at the end. A tile kernel ([`TileLanes`])
//! holds a different weight row in each lane: four codes of each of `LANES` rows meet four
//! activations in one instruction, so nothing is summed across lanes.
//!
//! A value of a type with these traits is a capability token: [`run_row`] and [`run_tile`] hand
//! one to a kernel after they have looked at what the CPU has, so kernels are safe code. They run
//! inside a function that is compiled with the instruction set's features; everything in between
//! must be `#[inline(always)]`.
//!
//! Codes are unsigned and below 64, except those of 8-bit formats, which are called wide: each
//! instruction set has them in the form that it multiplies best, an `i8` whose value is
//! `byte − WIDE_ZERO` after the sign bit was flipped where `WIDE_ZERO` is 128.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

use tallow_simd::Level;

/// Operations of row kernels: 32 codes, 8 sums. Sum `i` belongs to the codes `4·i` to `4·i + 3`.
pub(crate) trait RowLanes: Copy + Send + Sync {
    /// 32 bytes.
    type Bytes: Copy;
    /// 8 `f32`.
    type Floats: Copy;

    /// What was added to signed codes to make wide ones: 128 or 0.
    const WIDE_ZERO: u8;

    fn load(self, bytes: &[u8; 32]) -> Self::Bytes;
    fn store(self, bytes: Self::Bytes) -> [u8; 32];
    /// 16 low nibbles, then the 16 high ones.
    fn nibbles(self, bytes: &[u8; 16]) -> Self::Bytes;
    /// `table[nibble]` of 16 low nibbles, then of the 16 high ones.
    fn look_up(self, table: &[u8; 16], bytes: &[u8; 16]) -> Self::Bytes;
    /// Wide codes of 32 signed ones.
    fn wide(self, codes: &[i8; 32]) -> Self::Bytes;
    /// `bytes >> shift & mask` in each byte; `shift` is a constant.
    fn field(self, bytes: Self::Bytes, shift: u32, mask: u8) -> Self::Bytes;
    /// `bytes << shift`, for bytes that it does not overflow; `shift` is a constant.
    fn raise(self, bytes: Self::Bytes, shift: u32) -> Self::Bytes;
    fn or(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    /// Byte `j` is `value` where bit `j` is set, else 0.
    fn spread_bits(self, bits: [u8; 4], value: u8) -> Self::Bytes;
    /// Sums of four products each, of codes below 64.
    fn dot(self, codes: Self::Bytes, activations: &[i8; 32]) -> Self::Floats;
    /// The same of wide codes.
    fn dot_wide(self, codes: Self::Bytes, activations: &[i8; 32]) -> Self::Floats;

    fn splat(self, value: f32) -> Self::Floats;
    fn floats(self, values: &[f32; 8]) -> Self::Floats;
    /// Halves, by their bits.
    fn halves(self, bits: [u16; 8]) -> Self::Floats;
    fn unsigned(self, values: [u8; 8]) -> Self::Floats;
    fn signed(self, values: [i8; 8]) -> Self::Floats;
    fn add(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    fn mul(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// `a · b + c`, rounded once.
    fn fma(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;
    /// Lane `at` in all lanes.
    fn lane(self, values: Self::Floats, at: usize) -> Self::Floats;
    /// Lane `at` in lanes 0 to 3, lane `at + 1` in the others.
    fn lane_pair(self, values: Self::Floats, at: usize) -> Self::Floats;
    /// Lanes 0 to 3, each twice; then lanes 4 to 7.
    fn twice(self, values: Self::Floats) -> [Self::Floats; 2];
    /// Sum of the lanes, in a fixed order.
    fn sum(self, values: Self::Floats) -> f32;
}

/// Operations of tile kernels: 4 codes in each of `LANES` rows.
pub(crate) trait TileLanes: Copy + Send + Sync {
    /// `4 · LANES` bytes.
    type Bytes: Copy;
    /// `LANES` `i32`.
    type Ints: Copy;
    /// `LANES` `f32`.
    type Floats: Copy;

    /// Weight rows in a tile: a multiple of 4, at most [`MAX_LANES`].
    const LANES: usize;
    /// As [`RowLanes::WIDE_ZERO`].
    const WIDE_ZERO: u8;

    /// The first `4 · LANES` bytes.
    fn load(self, bytes: &[u8]) -> Self::Bytes;
    /// `bytes >> shift & mask` in each byte; `shift` is a constant.
    fn field(self, bytes: Self::Bytes, shift: u32, mask: u8) -> Self::Bytes;
    /// `bytes << shift`, for bytes that it does not overflow; `shift` is a constant.
    fn raise(self, bytes: Self::Bytes, shift: u32) -> Self::Bytes;
    fn or(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    fn zero(self) -> Self::Ints;
    /// `sums` plus the products of each lane's four codes, below 64, with the four activations.
    fn dot(self, sums: Self::Ints, codes: Self::Bytes, activations: [i8; 4]) -> Self::Ints;
    /// The same of wide codes.
    fn dot_wide(self, sums: Self::Ints, codes: Self::Bytes, activations: [i8; 4]) -> Self::Ints;
    fn to_floats(self, sums: Self::Ints) -> Self::Floats;

    fn splat(self, value: f32) -> Self::Floats;
    fn store_floats(self, values: Self::Floats, out: &mut [f32]);
    /// Little-endian halves from `2 · LANES` bytes.
    fn halves(self, bytes: &[u8]) -> Self::Floats;
    /// `byte >> shift & mask` of `LANES` bytes.
    fn unsigned(self, bytes: &[u8], shift: u32, mask: u8) -> Self::Floats;
    /// `LANES` `i8`.
    fn signed(self, bytes: &[u8]) -> Self::Floats;
    fn mul(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// `a · b + c`, rounded once.
    fn fma(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;
}

/// The largest [`TileLanes::LANES`].
pub(crate) const MAX_LANES: usize = 32;

/// Work over one set of row operations. Mark `run` `#[inline(always)]`.
pub(crate) trait RowKernel {
    type Output;
    fn run<L: RowLanes>(self, lanes: L) -> Self::Output;
}

/// Work over one set of tile operations. Mark `run` `#[inline(always)]`.
pub(crate) trait TileKernel {
    type Output;
    fn run<L: TileLanes>(self, lanes: L) -> Self::Output;
}

/// An instruction set that kernels are compiled for, known to be present.
///
/// The field is private to this folder: a value exists only where [`Target::current`] or
/// [`Target::supported`] made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with VNNI; without VNNI it would be slower than AVX2, which stands in then.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// NEON with `sdot`.
    #[cfg(target_arch = "aarch64")]
    NeonDot,
}

impl Target {
    /// The best one at the level that `tallow_simd` has in use.
    pub(crate) fn current() -> Self {
        Self::at(tallow_simd::level())
    }

    fn at(level: Level) -> Self {
        Self(match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Set::Avx2,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if tallow_simd::has_vnni() => Set::Avx512,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Set::Avx2,
            #[cfg(target_arch = "aarch64")]
            Level::Neon if tallow_simd::has_dotprod() => Set::NeonDot,
            #[cfg(target_arch = "aarch64")]
            Level::Neon => Set::Neon,
            _ => Set::Scalar,
        })
    }

    /// All that this CPU has, worst first: the tests run each.
    #[cfg(test)]
    pub(crate) fn supported() -> Vec<Self> {
        let mut targets: Vec<Self> = tallow_simd::supported_levels()
            .into_iter()
            .map(Self::at)
            .collect();
        #[cfg(target_arch = "aarch64")]
        if targets.contains(&Self(Set::NeonDot)) {
            targets.push(Self(Set::Neon));
        }
        targets.dedup();
        targets
    }

    /// Rows in a tile.
    pub(crate) fn tile_lanes(self) -> usize {
        struct Lanes;
        impl TileKernel for Lanes {
            type Output = usize;
            #[inline(always)]
            fn run<L: TileLanes>(self, _: L) -> usize {
                L::LANES
            }
        }
        run_tile(self, Lanes)
    }

    /// Whether tiles beat rows here.
    pub(crate) fn has_fast_tiles(self) -> bool {
        self.0 != Set::Scalar
    }
}

/// Runs a row kernel compiled for `target`.
pub(crate) fn run_row<K: RowKernel>(target: Target, kernel: K) -> K::Output {
    match target.0 {
        Set::Scalar => kernel.run(scalar::Scalar),
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => avx2::run_row(avx2::Avx2::assume_present(target), kernel),
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => avx512::run_row(avx512::Avx512::assume_present(target), kernel),
        #[cfg(target_arch = "aarch64")]
        Set::Neon => kernel.run(neon::Neon::<false>::assume_present(target)),
        #[cfg(target_arch = "aarch64")]
        Set::NeonDot => kernel.run(neon::Neon::<true>::assume_present(target)),
    }
}

/// Runs a tile kernel compiled for `target`.
pub(crate) fn run_tile<K: TileKernel>(target: Target, kernel: K) -> K::Output {
    match target.0 {
        Set::Scalar => kernel.run(scalar::Scalar),
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => avx2::run_tile(avx2::Avx2::assume_present(target), kernel),
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => avx512::run_tile(avx512::Avx512::assume_present(target), kernel),
        #[cfg(target_arch = "aarch64")]
        Set::Neon => kernel.run(neon::Neon::<false>::assume_present(target)),
        #[cfg(target_arch = "aarch64")]
        Set::NeonDot => kernel.run(neon::Neon::<true>::assume_present(target)),
    }
}
