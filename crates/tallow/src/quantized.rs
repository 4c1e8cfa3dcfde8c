//! Weights as GGUF blocks, and products with them.
//!
//! A [`QTensor`] is a block format, a shape and bytes, commonly a range of a mapped file that is
//! never copied. A [`QMatMul`] multiplies activations by it; where that pays on this processor it
//! keeps the rows interleaved instead, and gives the file's pages back to the system.

use crate::{DType, Device, Error, Result, Shape, Tensor, bail};
use std::sync::Arc;
use tallow_formats::SharedBytes;
pub use tallow_quant::GgmlDType;
use tallow_quant::Repacked;

/// A tensor of blocks. The last dimension is the one that is cut into blocks.
#[derive(Debug)]
pub struct QTensor {
    dtype: GgmlDType,
    shape: Shape,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Shared(SharedBytes),
    Owned(Vec<u8>),
}

impl QTensor {
    /// A tensor over bytes that are shared, such as a range of a mapped file. Errors if they are
    /// not as many as the shape takes.
    pub fn from_shared<S: Into<Shape>>(
        dtype: GgmlDType,
        shape: S,
        bytes: SharedBytes,
    ) -> Result<Self> {
        Self::checked(dtype, shape.into(), Bytes::Shared(bytes))
    }

    /// A tensor over bytes of its own. Errors if they are not as many as the shape takes.
    pub fn from_bytes<S: Into<Shape>>(dtype: GgmlDType, shape: S, bytes: Vec<u8>) -> Result<Self> {
        Self::checked(dtype, shape.into(), Bytes::Owned(bytes))
    }

    fn checked(dtype: GgmlDType, shape: Shape, bytes: Bytes) -> Result<Self> {
        let tensor = Self {
            dtype,
            shape,
            bytes,
        };
        let (expected, got) = (
            tensor.rows()?.checked_mul(tensor.row_bytes()?),
            tensor.data().len(),
        );
        if expected != Some(got) {
            bail!(
                "qtensor: {got} bytes do not fit shape {:?} of {}",
                tensor.shape,
                dtype.name()
            );
        }
        Ok(tensor)
    }

    /// Packs a tensor of any float dtype. Errors if the last dimension is no multiple of the
    /// block's length.
    ///
    /// ```
    /// use tallow::{Device, Tensor, quantized::{GgmlDType, QTensor}};
    /// let x = Tensor::from_vec(vec![0.5f32; 64], (2, 32), &Device::Cpu)?;
    /// let packed = QTensor::quantize(&x, GgmlDType::Q8_0)?;
    /// assert_eq!(packed.dequantize(&Device::Cpu)?.dims(), [2, 32]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn quantize(source: &Tensor, dtype: GgmlDType) -> Result<Self> {
        let values = source
            .to_dtype(DType::F32)?
            .flatten_all()?
            .to_vec1::<f32>()?;
        let mut tensor = Self {
            dtype,
            shape: source.shape().clone(),
            bytes: Bytes::Owned(Vec::new()),
        };
        let mut bytes = vec![0; tensor.rows()? * tensor.row_bytes()?];
        tallow_quant::quantize(dtype, &values, &mut bytes)?;
        tensor.bytes = Bytes::Owned(bytes);
        Ok(tensor)
    }

    /// All values, as an f32 tensor.
    pub fn dequantize(&self, device: &Device) -> Result<Tensor> {
        let mut values = crate::cpu::recycle::take(self.shape.elem_count());
        tallow_quant::dequantize(self.dtype, self.data(), &mut values)?;
        Tensor::from_vec(values, self.shape.clone(), device)
    }

    /// The values of some rows (slices of the first dimension of a matrix), as an f32 tensor
    /// `[ids.len(), columns]`. Errors if an id is out of range.
    pub fn dequantize_rows(&self, ids: &[u32], device: &Device) -> Result<Tensor> {
        let (rows, columns) = self.shape.dims2()?;
        let row_bytes = self.row_bytes()?;
        let mut values = crate::cpu::recycle::take(ids.len() * columns);
        for (&id, values) in ids.iter().zip(values.chunks_exact_mut(columns.max(1))) {
            let index = id as usize;
            if index >= rows {
                return Err(Error::InvalidIndex {
                    op: "dequantize_rows",
                    index,
                    size: rows,
                });
            }
            let row = &self.data()[index * row_bytes..][..row_bytes];
            tallow_quant::dequantize(self.dtype, row, values)?;
        }
        Tensor::from_vec(values, (ids.len(), columns), device)
    }

    /// The block format.
    pub fn dtype(&self) -> GgmlDType {
        self.dtype
    }

    /// The shape, in elements.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The blocks.
    pub fn data(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Shared(bytes) => bytes,
            Bytes::Owned(bytes) => bytes,
        }
    }

    /// How many rows of blocks there are.
    fn rows(&self) -> Result<usize> {
        self.shape.checked_elem_count()?;
        let dims = self.shape.dims();
        Ok(dims[..dims.len().saturating_sub(1)].iter().product())
    }

    /// Bytes of a row of blocks.
    fn row_bytes(&self) -> Result<usize> {
        let (dtype, columns) = (self.dtype, self.shape.dims().last().copied().unwrap_or(1));
        dtype.row_bytes(columns).ok_or_else(|| {
            let (shape, block) = (&self.shape, dtype.block_len());
            Error::Msg(format!(
                "qtensor: last dim of {shape:?} is no multiple of {block}, the block of {}",
                dtype.name()
            ))
        })
    }
}

/// Multiplies by a matrix of blocks. Clones share it.
#[derive(Clone, Debug)]
pub struct QMatMul {
    weight: Arc<QTensor>,
    dims: [usize; 2],
    repacked: Option<Arc<Repacked>>,
}

impl QMatMul {
    /// Takes a matrix `[n, k]`; interleaves its rows where that pays.
    pub fn from_arc(weight: Arc<QTensor>) -> Result<Self> {
        let (rows, columns) = weight.shape().dims2()?;
        let repacked = Repacked::new(weight.dtype(), weight.data(), rows, columns).map(Arc::new);
        if let (Some(_), Bytes::Shared(bytes)) = (&repacked, &weight.bytes) {
            bytes.advise_dont_need();
        }
        Ok(Self {
            weight,
            dims: [rows, columns],
            repacked,
        })
    }

    /// Takes a matrix `[n, k]`.
    pub fn from_qtensor(weight: QTensor) -> Result<Self> {
        Self::from_arc(Arc::new(weight))
    }

    /// `x · Wᵀ`: x `[…, k]` of f32 gives `[…, n]`.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        crate::ops::qmatmul(self, x)
    }

    /// Rows and columns, `[n, k]`.
    pub fn dims(&self) -> [usize; 2] {
        self.dims
    }

    /// The matrix as it was given.
    pub fn weight(&self) -> &Arc<QTensor> {
        &self.weight
    }

    /// `out[m, n] = x[m, k] · Wᵀ`
    pub(crate) fn multiply(&self, x: &[f32], out: &mut [f32]) -> Result<()> {
        let [n, k] = self.dims;
        let m = x.len().checked_div(k).unwrap_or(out.len() / n.max(1));
        match &self.repacked {
            Some(repacked) => repacked.matmul(x, m, out)?,
            None => {
                tallow_quant::matmul(self.weight.dtype(), self.weight.data(), n, k, x, m, out)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_an_error() -> Result<()> {
        let cpu = &Device::Cpu;
        assert!(QTensor::from_bytes(GgmlDType::Q8_0, (2, 32), vec![0; 67]).is_err());
        assert!(QTensor::from_bytes(GgmlDType::Q8_0, (2, 33), vec![0; 68]).is_err());
        assert!(QTensor::from_bytes(GgmlDType::Q8_0, (usize::MAX, 32), vec![0; 34]).is_err());
        assert!(
            QTensor::quantize(
                &Tensor::from_vec(vec![1f32; 40], (2, 20), cpu)?,
                GgmlDType::Q8_0
            )
            .is_err()
        );
        let packed = QTensor::from_bytes(GgmlDType::Q8_0, (2, 32), vec![0; 68])?;
        assert_eq!(packed.dequantize_rows(&[1, 0, 1], cpu)?.dims(), [3, 32]);
        let error = packed
            .dequantize_rows(&[2], cpu)
            .expect_err("row 2 of 2")
            .to_string();
        assert_eq!(
            error,
            "dequantize_rows: index 2 is out of range; the dim has 2"
        );
        let weight = QMatMul::from_qtensor(packed)?;
        assert!(
            weight
                .forward(&Tensor::from_vec(vec![0f32; 33], 33, cpu)?)
                .is_err()
        );
        assert!(
            weight
                .forward(&Tensor::from_vec(vec![0f64; 32], 32, cpu)?)
                .is_err()
        );
        Ok(())
    }
}
