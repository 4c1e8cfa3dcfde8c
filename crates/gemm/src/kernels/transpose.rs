//! Transposes a square block of lanes × lanes elements in place, in registers where the level has
//! the shuffles: packing spends most of its time here.
//!
//! The x86 versions work in three steps: pairs of elements are exchanged between neighbouring rows,
//! pairs of pairs between rows two apart, and 128-bit quarters between rows four and eight apart.

use tallow_simd::Simd;

/// Transposes `F32_LANES`² elements.
#[inline(always)]
pub(crate) fn transpose_f32<S: Simd>(_: S, block: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        use tallow_simd::Level;
        match S::LEVEL {
            Level::Avx512 => {
                // SAFETY: a token of this level exists only on a CPU with AVX-512 F.
                return unsafe { x86::f32_by_16(square(block)) };
            }
            Level::Avx2 => {
                // SAFETY: a token of this level exists only on a CPU with AVX2.
                return unsafe { x86::f32_by_8(square(block)) };
            }
            _ => {}
        }
    }
    if S::F32_LANES == 4 {
        plain(square::<_, 4>(block));
    } else {
        any(block, S::F32_LANES);
    }
}

/// Transposes `F64_LANES`² elements.
#[inline(always)]
pub(crate) fn transpose_f64<S: Simd>(_: S, block: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    {
        use tallow_simd::Level;
        match S::LEVEL {
            Level::Avx512 => {
                // SAFETY: a token of this level exists only on a CPU with AVX-512 F.
                return unsafe { x86::f64_by_8(square(block)) };
            }
            Level::Avx2 => {
                // SAFETY: a token of this level exists only on a CPU with AVX2.
                return unsafe { x86::f64_by_4(square(block)) };
            }
            _ => {}
        }
    }
    any(block, S::F64_LANES);
}

/// The block as rows.
#[inline(always)]
fn square<A, const N: usize>(block: &mut [A]) -> &mut [[A; N]; N] {
    let rows = block.as_chunks_mut().0;
    rows.try_into().expect("a block has lanes² elements")
}

/// A block of a size known to the compiler, which turns it into shuffles.
#[inline(always)]
fn plain<A: Copy, const N: usize>(block: &mut [[A; N]; N]) {
    let from = *block;
    for (i, row) in block.iter_mut().enumerate() {
        for (j, element) in row.iter_mut().enumerate() {
            *element = from[j][i];
        }
    }
}

fn any<A>(block: &mut [A], lanes: usize) {
    for i in 0..lanes {
        for j in 0..i {
            block.swap(i * lanes + j, j * lanes + i);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    fn load_16(row: &[f32; 16]) -> __m512 {
        // SAFETY: the array holds sixteen f32.
        unsafe { _mm512_loadu_ps(row.as_ptr()) }
    }

    #[target_feature(enable = "avx512f")]
    fn store_16(v: __m512, row: &mut [f32; 16]) {
        // SAFETY: the array holds sixteen f32.
        unsafe { _mm512_storeu_ps(row.as_mut_ptr(), v) }
    }

    #[target_feature(enable = "avx512f")]
    fn load_8_f64(row: &[f64; 8]) -> __m512d {
        // SAFETY: the array holds eight f64.
        unsafe { _mm512_loadu_pd(row.as_ptr()) }
    }

    #[target_feature(enable = "avx512f")]
    fn store_8_f64(v: __m512d, row: &mut [f64; 8]) {
        // SAFETY: the array holds eight f64.
        unsafe { _mm512_storeu_pd(row.as_mut_ptr(), v) }
    }

    #[target_feature(enable = "avx")]
    fn load_8(row: &[f32; 8]) -> __m256 {
        // SAFETY: the array holds eight f32.
        unsafe { _mm256_loadu_ps(row.as_ptr()) }
    }

    #[target_feature(enable = "avx")]
    fn store_8(v: __m256, row: &mut [f32; 8]) {
        // SAFETY: the array holds eight f32.
        unsafe { _mm256_storeu_ps(row.as_mut_ptr(), v) }
    }

    #[target_feature(enable = "avx")]
    fn load_4_f64(row: &[f64; 4]) -> __m256d {
        // SAFETY: the array holds four f64.
        unsafe { _mm256_loadu_pd(row.as_ptr()) }
    }

    #[target_feature(enable = "avx")]
    fn store_4_f64(v: __m256d, row: &mut [f64; 4]) {
        // SAFETY: the array holds four f64.
        unsafe { _mm256_storeu_pd(row.as_mut_ptr(), v) }
    }

    /// Four vectors of four quarters: quarter j of vector i becomes quarter i of vector j.
    #[target_feature(enable = "avx512f")]
    fn transpose_quarters(v: [__m512d; 4]) -> [__m512d; 4] {
        let even_low = _mm512_shuffle_f64x2::<0x88>(v[0], v[1]);
        let even_high = _mm512_shuffle_f64x2::<0x88>(v[2], v[3]);
        let odd_low = _mm512_shuffle_f64x2::<0xdd>(v[0], v[1]);
        let odd_high = _mm512_shuffle_f64x2::<0xdd>(v[2], v[3]);
        [
            _mm512_shuffle_f64x2::<0x88>(even_low, even_high),
            _mm512_shuffle_f64x2::<0x88>(odd_low, odd_high),
            _mm512_shuffle_f64x2::<0xdd>(even_low, even_high),
            _mm512_shuffle_f64x2::<0xdd>(odd_low, odd_high),
        ]
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn f32_by_16(block: &mut [[f32; 16]; 16]) {
        // columns[c][i]: in quarter q, rows 4i .. 4i + 4 of column 4q + c.
        let mut columns = [[_mm512_setzero_pd(); 4]; 4];
        for i in 0..4 {
            let rows = [0, 1, 2, 3].map(|r| load_16(&block[4 * i + r]));
            let low = _mm512_castps_pd(_mm512_unpacklo_ps(rows[0], rows[1]));
            let high = _mm512_castps_pd(_mm512_unpackhi_ps(rows[0], rows[1]));
            let next_low = _mm512_castps_pd(_mm512_unpacklo_ps(rows[2], rows[3]));
            let next_high = _mm512_castps_pd(_mm512_unpackhi_ps(rows[2], rows[3]));
            columns[0][i] = _mm512_unpacklo_pd(low, next_low);
            columns[1][i] = _mm512_unpackhi_pd(low, next_low);
            columns[2][i] = _mm512_unpacklo_pd(high, next_high);
            columns[3][i] = _mm512_unpackhi_pd(high, next_high);
        }
        for (c, column) in columns.into_iter().enumerate() {
            for (q, row) in transpose_quarters(column).into_iter().enumerate() {
                store_16(_mm512_castpd_ps(row), &mut block[4 * q + c]);
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn f64_by_8(block: &mut [[f64; 8]; 8]) {
        // columns[c][i]: in quarter q, rows 2i and 2i + 1 of column 2q + c.
        let mut columns = [[_mm512_setzero_pd(); 4]; 2];
        for i in 0..4 {
            let (row, next) = (load_8_f64(&block[2 * i]), load_8_f64(&block[2 * i + 1]));
            columns[0][i] = _mm512_unpacklo_pd(row, next);
            columns[1][i] = _mm512_unpackhi_pd(row, next);
        }
        for (c, column) in columns.into_iter().enumerate() {
            for (q, row) in transpose_quarters(column).into_iter().enumerate() {
                store_8_f64(row, &mut block[2 * q + c]);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn f32_by_8(block: &mut [[f32; 8]; 8]) {
        // columns[c][i]: in half h, rows 4i .. 4i + 4 of column 4h + c.
        let mut columns = [[_mm256_setzero_ps(); 2]; 4];
        for i in 0..2 {
            let rows = [0, 1, 2, 3].map(|r| load_8(&block[4 * i + r]));
            let low = _mm256_castps_pd(_mm256_unpacklo_ps(rows[0], rows[1]));
            let high = _mm256_castps_pd(_mm256_unpackhi_ps(rows[0], rows[1]));
            let next_low = _mm256_castps_pd(_mm256_unpacklo_ps(rows[2], rows[3]));
            let next_high = _mm256_castps_pd(_mm256_unpackhi_ps(rows[2], rows[3]));
            columns[0][i] = _mm256_castpd_ps(_mm256_unpacklo_pd(low, next_low));
            columns[1][i] = _mm256_castpd_ps(_mm256_unpackhi_pd(low, next_low));
            columns[2][i] = _mm256_castpd_ps(_mm256_unpacklo_pd(high, next_high));
            columns[3][i] = _mm256_castpd_ps(_mm256_unpackhi_pd(high, next_high));
        }
        for (c, [first, second]) in columns.into_iter().enumerate() {
            store_8(_mm256_permute2f128_ps::<0x20>(first, second), &mut block[c]);
            store_8(
                _mm256_permute2f128_ps::<0x31>(first, second),
                &mut block[4 + c],
            );
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn f64_by_4(block: &mut [[f64; 4]; 4]) {
        let rows = [0, 1, 2, 3].map(|r| load_4_f64(&block[r]));
        // In half h, rows 0 and 1, or 2 and 3, of column 2h + c.
        let columns = [
            [
                _mm256_unpacklo_pd(rows[0], rows[1]),
                _mm256_unpacklo_pd(rows[2], rows[3]),
            ],
            [
                _mm256_unpackhi_pd(rows[0], rows[1]),
                _mm256_unpackhi_pd(rows[2], rows[3]),
            ],
        ];
        for (c, [first, second]) in columns.into_iter().enumerate() {
            store_4_f64(_mm256_permute2f128_pd::<0x20>(first, second), &mut block[c]);
            store_4_f64(
                _mm256_permute2f128_pd::<0x31>(first, second),
                &mut block[2 + c],
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use tallow_simd::{Kernel, dispatch_at, supported_levels};

    use super::*;

    struct Check;

    impl Kernel for Check {
        type Output = ();
        fn run<S: Simd>(self, simd: S) {
            let lanes = S::F32_LANES;
            let mut block: Vec<f32> = (0..lanes * lanes).map(|i| i as f32).collect();
            transpose_f32(simd, &mut block);
            for (i, value) in block.iter().enumerate() {
                assert_eq!(
                    *value,
                    (i % lanes * lanes + i / lanes) as f32,
                    "f32, {i} of {lanes}²"
                );
            }
            let lanes = S::F64_LANES;
            let mut block: Vec<f64> = (0..lanes * lanes).map(|i| i as f64).collect();
            transpose_f64(simd, &mut block);
            for (i, value) in block.iter().enumerate() {
                assert_eq!(
                    *value,
                    (i % lanes * lanes + i / lanes) as f64,
                    "f64, {i} of {lanes}²"
                );
            }
        }
    }

    #[test]
    fn rows_become_columns_at_every_level() {
        for level in supported_levels() {
            dispatch_at(level, Check).unwrap();
        }
    }
}
