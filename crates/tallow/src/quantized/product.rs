//! Products with matrices of blocks.

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

use super::QTensor;
use crate::{DType, Device, Result, Tensor};

/// Multiplies by a matrix `[n, k]` of blocks, or by a plain one. Clones share it.
#[derive(Clone, Debug)]
pub enum QMatMul {
    /// Blocks.
    QTensor(Arc<QTensor>),
    /// A plain matrix.
    Tensor(Tensor),
    /// A plain matrix of f16: activations are cast to it, and results back.
    TensorF16(Tensor),
}

/// What a matrix is kept as.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kept {
    Blocks,
    F32,
    F16,
}

impl Kept {
    /// Reads the environment once.
    fn by_environment() -> Self {
        static KEPT: OnceLock<Kept> = OnceLock::new();
        let value = |name: &str| std::env::var_os(name);
        *KEPT.get_or_init(|| {
            Self::choose(
                value("CANDLE_DEQUANTIZE_ALL"),
                value("CANDLE_DEQUANTIZE_ALL_F16"),
            )
        })
    }

    fn choose(all: Option<OsString>, all_f16: Option<OsString>) -> Self {
        let is_set =
            |value: Option<OsString>| value.is_some_and(|text| !text.is_empty() && text != "0");
        match (is_set(all), is_set(all_f16)) {
            (true, _) => Self::F32,
            (false, true) => Self::F16,
            (false, false) => Self::Blocks,
        }
    }
}

impl QMatMul {
    /// Takes a matrix `[n, k]`, or several stacked `[…, n, k]`; interleaves the rows of a single
    /// one where that pays.
    ///
    /// Where the environment has `CANDLE_DEQUANTIZE_ALL` (neither empty nor 0), a single matrix
    /// becomes a plain one of f32, and products are as exact as f32 is; with
    /// `CANDLE_DEQUANTIZE_ALL_F16` one of f16.
    pub fn from_arc(qtensor: Arc<QTensor>) -> Result<Self> {
        let device = qtensor.device();
        // Experts are picked out of a stack by products with blocks only.
        let kept = match qtensor.rank() {
            2 => Kept::by_environment(),
            _ => Kept::Blocks,
        };
        Ok(match kept {
            Kept::Blocks => {
                qtensor.repacked();
                Self::QTensor(qtensor)
            }
            Kept::F32 => Self::Tensor(qtensor.dequantize(&device)?),
            Kept::F16 => Self::TensorF16(qtensor.dequantize_f16(&device)?),
        })
    }

    /// Takes a matrix `[n, k]`.
    ///
    /// ```
    /// use tallow::{Device, Tensor, quantized::{GgmlDType, QMatMul, QTensor}};
    /// let weight = Tensor::from_vec(vec![0.5f32; 64], (2, 32), &Device::Cpu)?;
    /// let matmul = QMatMul::from_qtensor(QTensor::quantize(&weight, GgmlDType::F16)?)?;
    /// let x = Tensor::from_vec(vec![1f32; 32], (1, 32), &Device::Cpu)?;
    /// assert_eq!(matmul.forward(&x)?.to_vec2::<f32>()?, [[16., 16.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn from_qtensor(qtensor: QTensor) -> Result<Self> {
        Self::from_arc(Arc::new(qtensor))
    }

    /// The same matrix for products on a device.
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        Ok(match self {
            Self::QTensor(weight) => Self::QTensor(Arc::new(weight.to_device(device))),
            Self::Tensor(weight) => Self::Tensor(weight.to_device(device)?),
            Self::TensorF16(weight) => Self::TensorF16(weight.to_device(device)?),
        })
    }

    /// `x · Wᵀ`: x `[…, k]` gives `[…, n]`. With blocks, x is f32.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::QTensor(weight) => crate::ops::qmatmul(weight, x),
            Self::Tensor(weight) => plain(x, weight),
            Self::TensorF16(weight) => plain(&x.to_dtype(DType::F16)?, weight)?.to_dtype(x.dtype()),
        }
    }

    /// The products with several matrices of the same row length, in their order: as
    /// [`forward`](Self::forward) of each, in less time. The results may be views of one buffer.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor, quantized::{GgmlDType, QMatMul, QTensor}};
    /// let ones = Tensor::ones((64, 32), DType::F32, &Device::Cpu)?;
    /// let weight = QMatMul::from_qtensor(QTensor::quantize(&ones, GgmlDType::Q8_0)?)?;
    /// let x = Tensor::ones((1, 32), DType::F32, &Device::Cpu)?;
    /// let products = QMatMul::forward_joined(&[&weight, &weight], &x)?;
    /// assert_eq!(products.len(), 2);
    /// assert_eq!(products[1].dims(), [1, 64]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn forward_joined(matrices: &[&Self], x: &Tensor) -> Result<Vec<Tensor>> {
        let blocks = matrices.iter().map(|matrix| match matrix {
            Self::QTensor(weight) => Some(&**weight),
            Self::Tensor(_) | Self::TensorF16(_) => None,
        });
        match blocks.collect::<Option<Vec<&QTensor>>>() {
            Some(blocks) => crate::ops::qmatmul_joined(&blocks, x),
            None => matrices.iter().map(|matrix| matrix.forward(x)).collect(),
        }
    }

    /// The matrix as an f16 tensor.
    pub fn dequantize_f16(&self) -> Result<Tensor> {
        match self {
            Self::QTensor(weight) => weight.dequantize_f16(&weight.device()),
            Self::Tensor(weight) | Self::TensorF16(weight) => weight.to_dtype(DType::F16),
        }
    }

    /// `x · Wᵀ` with x and W rounded to f16 and results of x's dtype.
    pub fn forward_via_f16(&self, x: &Tensor) -> Result<Tensor> {
        let weight = self.dequantize_f16()?;
        plain(&x.to_dtype(DType::F16)?, &weight)?.to_dtype(x.dtype())
    }

    /// The rows that ids name; see [`QTensor::embedding`].
    pub fn embedding(&self, ids: &Tensor) -> Result<Tensor> {
        match self {
            Self::QTensor(weight) => weight.embedding(ids),
            Self::Tensor(weight) | Self::TensorF16(weight) => {
                let columns = weight.dims2()?.1;
                let rows = weight.index_select(&ids.flatten_all()?, 0)?;
                rows.reshape([ids.dims(), &[columns]].concat())
            }
        }
    }

    /// Products with the experts of a mixture: see [`QTensor::indexed_moe_forward`]. Errors if the
    /// matrices are plain ones.
    pub fn indexed_moe_forward(&self, x: &Tensor, ids: &Tensor) -> Result<Tensor> {
        match self {
            Self::QTensor(weight) => weight.indexed_moe_forward(x, ids),
            Self::Tensor(_) | Self::TensorF16(_) => {
                crate::bail!("indexed_moe_forward: plain matrices; wants blocks")
            }
        }
    }
}

/// `x · Wᵀ` of plain tensors.
fn plain(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let transposed = weight.t()?;
    match x.rank() {
        1 => x.unsqueeze(0)?.broadcast_matmul(&transposed)?.squeeze(0),
        _ => x.broadcast_matmul(&transposed),
    }
}

impl QTensor {
    /// Products with the experts of a mixture.
    ///
    /// Matrices `[experts, n, k]`, x `[tokens, 1, k]` (one input for all slots of a token) or
    /// `[tokens, slots, k]` of f32, and ids `[tokens, slots]` give `[tokens, slots, n]`: slot `s`
    /// of token `t` is `x[t, s] · W[ids[t, s]]ᵀ`.
    ///
    /// # Errors
    /// Shapes that do not fit, an id that is no expert.
    ///
    /// ```
    /// use tallow::{Device, Tensor, quantized::{GgmlDType, QTensor}};
    /// let cpu = &Device::Cpu;
    /// let experts = Tensor::arange(0f32, 4f32, cpu)?.reshape((4, 1, 1))?;
    /// let experts = QTensor::quantize(&experts.broadcast_as((4, 2, 32))?, GgmlDType::F16)?;
    /// let x = Tensor::from_vec(vec![1f32; 32], (1, 1, 32), cpu)?;
    /// let y = experts.indexed_moe_forward(&x, &Tensor::new(&[[3u32, 1]], cpu)?)?;
    /// assert_eq!(y.to_vec3::<f32>()?, [[[96., 96.], [32., 32.]]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn indexed_moe_forward(&self, x: &Tensor, ids: &Tensor) -> Result<Tensor> {
        crate::ops::qmatmul_of_experts(self, x, ids)
    }

    /// As [`indexed_moe_forward`](Self::indexed_moe_forward); `None` where the matrices are not
    /// stacked, or on another device.
    pub fn indexed_gemv(&self, x: &Tensor, ids: &Tensor) -> Result<Option<Tensor>> {
        match self.rank() {
            3 => self.indexed_moe_forward(x, ids).map(Some),
            _ => Ok(None),
        }
    }

    /// Products of one x with several matrices (query, key and value, for instance): x `[…, k]`
    /// and matrices `[n_i, k]` give `[…, n_i]`. `None` if one of them is no matrix.
    pub fn gemv_fused_shared_lhs(weights: &[&Self], x: &Tensor) -> Result<Option<Vec<Tensor>>> {
        if weights.iter().any(|weight| weight.rank() != 2) {
            return Ok(None);
        }
        let products = weights.iter().map(|weight| crate::ops::qmatmul(weight, x));
        products.collect::<Result<_>>().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::Kept;

    #[test]
    fn an_empty_value_and_zero_dequantize_nothing() {
        let kept = |all: &[&str], f16: &[&str]| {
            let value = |text: &[&str]| text.first().map(Into::into);
            Kept::choose(value(all), value(f16))
        };
        for unset in [&[][..], &[""], &["0"]] {
            assert_eq!(kept(unset, unset), Kept::Blocks);
            assert_eq!(kept(&["1"], unset), Kept::F32);
            assert_eq!(kept(unset, &["true"]), Kept::F16);
        }
        assert_eq!(kept(&["1"], &["1"]), Kept::F32);
    }
}
