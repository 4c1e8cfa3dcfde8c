//! The block formats as types: packing, unpacking and dot products of slices of blocks.
//!
//! The layouts and the kernels are `tallow-quant`'s; a block here is its bytes. Slices whose
//! lengths do not fit each other are cut to the shorter one; nothing panics. For products of whole
//! matrices use [`QMatMul`](super::QMatMul) or [`matmul`].

use bytemuck::{Pod, Zeroable};
use tallow_quant::GgmlDType;

use crate::{Result, bf16, f16};

/// Weights in a block of a k-quant.
pub const QK_K: usize = 256;
/// Bytes of scales and minimums in a block of Q4_K and Q5_K.
pub const K_SCALE_SIZE: usize = 12;
/// Weights in a block of Q4_0.
pub const QK4_0: usize = 32;
/// Weights in a block of Q4_1.
pub const QK4_1: usize = 32;
/// Weights in a block of Q5_0.
pub const QK5_0: usize = 32;
/// Weights in a block of Q5_1.
pub const QK5_1: usize = 32;
/// Weights in a block of Q8_0.
pub const QK8_0: usize = 32;
/// Weights in a block of Q8_1.
pub const QK8_1: usize = 32;

/// A block of a format.
pub trait GgmlType: Sized + Clone + Send + Sync + Pod {
    /// The format.
    const DTYPE: GgmlDType;
    /// Weights in a block.
    const BLCK_SIZE: usize;
    /// Whether [`direct_copy`](Self::direct_copy) is all that packing takes: blocks of one value.
    const DIRECT_COPY: bool = Self::BLCK_SIZE == 1;
    /// The format of activations that meet this one in [`vec_dot`](Self::vec_dot).
    type VecDotType: GgmlType;

    /// A block of zero bytes.
    fn zeros() -> Self {
        Self::zeroed()
    }

    /// Unpacks whole blocks.
    fn to_float(xs: &[Self], ys: &mut [f32]) {
        let count = xs.len().min(ys.len() / Self::BLCK_SIZE);
        let (blocks, values) = (&xs[..count], &mut ys[..count * Self::BLCK_SIZE]);
        let done = tallow_quant::dequantize(Self::DTYPE, bytemuck::cast_slice(blocks), values);
        debug_assert!(done.is_ok(), "lengths agree");
    }

    /// Packs whole blocks.
    fn from_float(xs: &[f32], ys: &mut [Self]) {
        let count = ys.len().min(xs.len() / Self::BLCK_SIZE);
        let (values, blocks) = (&xs[..count * Self::BLCK_SIZE], &mut ys[..count]);
        let done = tallow_quant::quantize(Self::DTYPE, values, bytemuck::cast_slice_mut(blocks));
        debug_assert!(done.is_ok(), "lengths agree");
    }

    /// Packs whole blocks of rows of `n_per_row` values, whose errors count as much as their
    /// column.
    fn from_float_imatrix(xs: &[f32], ys: &mut [Self], imatrix_weights: &[f32], n_per_row: usize) {
        let count = ys.len().min(xs.len() / Self::BLCK_SIZE);
        let (values, blocks) = (&xs[..count * Self::BLCK_SIZE], &mut ys[..count]);
        let weights = &imatrix_weights[..n_per_row.min(imatrix_weights.len())];
        let bytes = bytemuck::cast_slice_mut(blocks);
        if tallow_quant::quantize_weighted(Self::DTYPE, values, weights, bytes).is_err() {
            Self::from_float(xs, ys);
        }
    }

    /// The dot product of the first `n` values of both sides.
    fn vec_dot(n: usize, xs: &[Self], ys: &[Self::VecDotType]) -> f32 {
        let (x, y) = (unpacked(n, xs), unpacked(n, ys));
        x.iter().zip(&y).map(|(x, y)| x * y).sum()
    }

    /// Packs values to blocks of one value.
    fn direct_copy(xs: &[f32], ys: &mut [Self]) {
        Self::from_float(xs, ys);
    }

    /// The dot products of two rows with the same activations.
    fn vec_dot_2(n: usize, xs0: &[Self], xs1: &[Self], ys: &[Self::VecDotType]) -> (f32, f32) {
        (Self::vec_dot(n, xs0, ys), Self::vec_dot(n, xs1, ys))
    }

    /// The dot products of four rows with the same activations.
    fn vec_dot_4(
        n: usize,
        xs0: &[Self],
        xs1: &[Self],
        xs2: &[Self],
        xs3: &[Self],
        ys: &[Self::VecDotType],
    ) -> (f32, f32, f32, f32) {
        let (dot0, dot1) = Self::vec_dot_2(n, xs0, xs1, ys);
        let (dot2, dot3) = Self::vec_dot_2(n, xs2, xs3, ys);
        (dot0, dot1, dot2, dot3)
    }

    /// [`vec_dot`](Self::vec_dot); there is no other kernel here.
    fn vec_dot_unopt(n: usize, xs: &[Self], ys: &[Self::VecDotType]) -> f32 {
        Self::vec_dot(n, xs, ys)
    }
}

/// The first `n` values of a row of blocks, or as many whole blocks as there are.
fn unpacked<T: GgmlType>(n: usize, blocks: &[T]) -> Vec<f32> {
    let mut values = vec![
        0.0;
        n.min(blocks.len() * T::BLCK_SIZE)
            .next_multiple_of(T::BLCK_SIZE)
    ];
    T::to_float(blocks, &mut values);
    values.truncate(n);
    values
}

/// `dst[m, n] = lhs[m, k] · rhs_t[n, k]ᵀ` for sizes `(m, k, n)`, rows of `rhs_t` in blocks.
///
/// ```
/// use tallow::quantized::k_quants::{BlockQ8_0, GgmlType, matmul};
/// let mut weight = [BlockQ8_0::zeros(); 2];
/// BlockQ8_0::from_float(&[1.0; 64], &mut weight);
/// let mut out = [0.0; 2];
/// matmul((1, 32, 2), &[0.5; 32], &weight, &mut out)?;
/// assert!(out.iter().all(|sum| (sum - 16.0).abs() < 0.01));
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn matmul<T: GgmlType>(
    mkn: (usize, usize, usize),
    lhs: &[f32],
    rhs_t: &[T],
    dst: &mut [f32],
) -> Result<()> {
    let (m, k, n) = mkn;
    let weight = bytemuck::cast_slice(rhs_t);
    Ok(tallow_quant::matmul(T::DTYPE, weight, n, k, lhs, m, dst)?)
}

/// As [`matmul`], with activations and results of f16.
pub fn matmul_f16<T: GgmlType>(
    mkn: (usize, usize, usize),
    lhs: &[f16],
    rhs_t: &[T],
    dst: &mut [f16],
) -> Result<()> {
    let lhs: Vec<f32> = lhs.iter().map(|value| value.to_f32()).collect();
    let mut wide = vec![0.0; dst.len()];
    matmul(mkn, &lhs, rhs_t, &mut wide)?;
    for (dst, value) in dst.iter_mut().zip(wide) {
        *dst = f16::from_f32(value);
    }
    Ok(())
}

macro_rules! blocks {
    ($($(#[$doc:meta])* $name:ident = $dtype:ident, $len:expr, $bytes:literal, $partner:ty;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
            #[repr(transparent)]
            pub struct $name([u8; $bytes]);

            impl GgmlType for $name {
                const DTYPE: GgmlDType = GgmlDType::$dtype;
                const BLCK_SIZE: usize = $len;
                type VecDotType = $partner;
            }
        )*

        #[cfg(test)]
        const SIZES: &[(GgmlDType, usize, usize)] =
            &[$((GgmlDType::$dtype, $len, size_of::<$name>())),*];
    };
}

blocks! {
    /// A block of Q4_0.
    BlockQ4_0 = Q4_0, QK4_0, 18, BlockQ8_0;
    /// A block of Q4_1.
    BlockQ4_1 = Q4_1, QK4_1, 20, BlockQ8_1;
    /// A block of Q5_0.
    BlockQ5_0 = Q5_0, QK5_0, 22, BlockQ8_0;
    /// A block of Q5_1.
    BlockQ5_1 = Q5_1, QK5_1, 24, BlockQ8_1;
    /// A block of Q8_0.
    BlockQ8_0 = Q8_0, QK8_0, 34, BlockQ8_0;
    /// A block of Q8_1.
    BlockQ8_1 = Q8_1, QK8_1, 36, BlockQ8_1;
    /// A block of Q2_K.
    BlockQ2K = Q2K, QK_K, 84, BlockQ8K;
    /// A block of Q3_K.
    BlockQ3K = Q3K, QK_K, 110, BlockQ8K;
    /// A block of Q4_K.
    BlockQ4K = Q4K, QK_K, 144, BlockQ8K;
    /// A block of Q5_K.
    BlockQ5K = Q5K, QK_K, 176, BlockQ8K;
    /// A block of Q6_K.
    BlockQ6K = Q6K, QK_K, 210, BlockQ8K;
    /// A block of Q8_K.
    BlockQ8K = Q8K, QK_K, 292, BlockQ8K;
}

impl GgmlType for f32 {
    const DTYPE: GgmlDType = GgmlDType::F32;
    const BLCK_SIZE: usize = 1;
    type VecDotType = f32;
}
impl GgmlType for f16 {
    const DTYPE: GgmlDType = GgmlDType::F16;
    const BLCK_SIZE: usize = 1;
    type VecDotType = f16;
}
impl GgmlType for bf16 {
    const DTYPE: GgmlDType = GgmlDType::BF16;
    const BLCK_SIZE: usize = 1;
    type VecDotType = bf16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_sizes_of_their_formats() {
        for &(dtype, len, bytes) in SIZES {
            assert_eq!(
                (len, bytes),
                (dtype.block_len(), dtype.block_bytes()),
                "{dtype}"
            );
        }
    }

    #[test]
    fn dot_products_are_those_of_the_values() {
        let values: Vec<f32> = (0..256).map(|i| (i % 13) as f32 / 13.0).collect();
        let (mut x, mut y) = ([BlockQ4K::zeros()], [BlockQ8K::zeros()]);
        BlockQ4K::from_float(&values, &mut x);
        BlockQ8K::from_float(&values, &mut y);
        let right: f32 = values.iter().map(|value| value * value).sum();
        assert!((BlockQ4K::vec_dot(256, &x, &y) / right - 1.0).abs() < 0.02);
        assert_eq!(BlockQ4K::vec_dot(256, &x, &[]), 0.0);
    }
}
