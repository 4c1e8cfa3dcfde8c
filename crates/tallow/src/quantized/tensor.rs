//! A tensor of blocks.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::storage::{Blocks, QStorage};
use super::uploaded::Uploaded;
use crate::{DType, Device, Error, Result, Shape, Tensor, bail};
use tallow_formats::SharedBytes;
use tallow_quant::{GgmlDType, Repacked};

/// A tensor of blocks. The last dimension is the one that is cut into blocks.
///
/// ```
/// use tallow::{Device, Tensor, quantized::{GgmlDType, QTensor}};
/// let x = Tensor::from_vec(vec![0.5f32; 64], (2, 32), &Device::Cpu)?;
/// let packed = QTensor::quantize(&x, GgmlDType::Q8_0)?;
/// assert_eq!(packed.storage_size_in_bytes(), 2 * 34);
/// assert_eq!(packed.dequantize(&Device::Cpu)?.dims(), [2, 32]);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Debug)]
pub struct QTensor(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    storage: Arc<QStorage>,
    shape: Shape,
    /// Where products are computed. The blocks stay in main memory all the same.
    device: Device,
    /// The rows of a matrix interleaved, once a product has asked for them.
    repacked: OnceLock<Option<Repacked>>,
    /// The matrix in the memory of a GPU, once a product has asked for it.
    uploaded: OnceLock<Arc<Uploaded>>,
}

/// Constructors.
impl QTensor {
    /// A tensor over blocks. Errors if they are not as many as the shape takes.
    pub fn new<S: Into<Shape>>(storage: QStorage, shape: S) -> Result<Self> {
        let (dtype, shape) = (storage.dtype(), shape.into());
        let (expected, got) = (byte_len(dtype, &shape)?, storage.size_in_bytes());
        if expected != got {
            bail!("qtensor: {got} bytes do not fit shape {shape:?} of {dtype}; want {expected}");
        }
        Ok(Self(Arc::new(Parts {
            storage: Arc::new(storage),
            shape,
            repacked: OnceLock::new(),
            device: Device::Cpu,
            uploaded: OnceLock::new(),
        })))
    }

    /// A tensor over bytes that are shared, such as a range of a mapped file. Errors if they are
    /// not as many as the shape takes.
    pub fn from_shared<S: Into<Shape>>(
        dtype: GgmlDType,
        shape: S,
        bytes: SharedBytes,
    ) -> Result<Self> {
        Self::new(QStorage::Cpu(Blocks::shared(dtype, bytes)), shape)
    }

    /// A tensor over bytes of its own. Errors if they are not as many as the shape takes.
    pub fn from_bytes<S: Into<Shape>>(dtype: GgmlDType, shape: S, bytes: Vec<u8>) -> Result<Self> {
        Self::new(QStorage::Cpu(Blocks::owned(dtype, bytes)), shape)
    }

    /// Packs a tensor of any float dtype. Errors if the last dimension is no multiple of the
    /// block's length, or if the format can only be read.
    pub fn quantize(src: &Tensor, dtype: GgmlDType) -> Result<Self> {
        Self::pack(src, dtype, |values, bytes| {
            Ok(tallow_quant::quantize(dtype, values, bytes)?)
        })
    }

    /// As [`quantize`](Self::quantize), onto a device.
    pub fn quantize_onto(src: &Tensor, dtype: GgmlDType, dev: &Device) -> Result<Self> {
        Ok(Self::quantize(src, dtype)?.to_device(dev))
    }

    /// As [`quantize`](Self::quantize), where errors count as much as the column they are in: one
    /// weight of at least 0 for each column (see [`imatrix_file`](super::imatrix_file)). Formats
    /// that do not search for their scales are packed as without weights.
    pub fn quantize_imatrix(
        src: &Tensor,
        imatrix_weights: &[f32],
        dtype: GgmlDType,
    ) -> Result<Self> {
        let columns = src.dims().last().copied().unwrap_or(1);
        if imatrix_weights.len() != columns {
            let (got, dims) = (imatrix_weights.len(), src.dims());
            bail!("quantize_imatrix: {got} weights for columns of {dims:?}; want {columns}");
        }
        Self::pack(src, dtype, |values, bytes| {
            tallow_quant::quantize_weighted(dtype, values, imatrix_weights, bytes)?;
            Ok(())
        })
    }

    /// As [`quantize_imatrix`](Self::quantize_imatrix), onto a device.
    pub fn quantize_imatrix_onto(
        src: &Tensor,
        imatrix_weights: &[f32],
        dtype: GgmlDType,
        dev: &Device,
    ) -> Result<Self> {
        Ok(Self::quantize_imatrix(src, imatrix_weights, dtype)?.to_device(dev))
    }

    fn pack(
        src: &Tensor,
        dtype: GgmlDType,
        pack: impl FnOnce(&[f32], &mut [u8]) -> Result<()>,
    ) -> Result<Self> {
        let mut bytes = vec![0; byte_len(dtype, src.shape())?];
        let values = src.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?;
        pack(&values, &mut bytes)?;
        Self::from_bytes(dtype, src.shape(), bytes)
    }
}

/// Bytes that a shape of blocks takes.
pub(super) fn byte_len(dtype: GgmlDType, shape: &Shape) -> Result<usize> {
    let (elements, columns) = (
        shape.checked_elem_count()?,
        shape.dims().last().copied().unwrap_or(1),
    );
    let row_bytes = dtype.row_bytes(columns).ok_or_else(|| {
        Error::Msg(format!(
            "qtensor: last dim of {shape:?} is no multiple of {}, the block of {dtype}",
            dtype.block_len()
        ))
    })?;
    let rows = elements.checked_div(columns).unwrap_or(0);
    rows.checked_mul(row_bytes)
        .ok_or_else(|| Error::Msg(format!("qtensor: shape {shape:?} of {dtype} is too large")))
}

/// Parts, and the values.
impl QTensor {
    /// The block format.
    pub fn dtype(&self) -> GgmlDType {
        self.0.storage.dtype()
    }

    /// The device that the blocks are on.
    pub fn device(&self) -> Device {
        self.0.device.clone()
    }

    /// The shape, in elements.
    pub fn shape(&self) -> &Shape {
        &self.0.shape
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.shape.rank()
    }

    /// How many bytes the blocks take.
    pub fn storage_size_in_bytes(&self) -> usize {
        self.0.storage.size_in_bytes()
    }

    /// The blocks.
    pub fn data(&self) -> Result<Cow<'_, [u8]>> {
        self.0.storage.data()
    }

    /// The same blocks for products on a device; a GPU takes them when the first product asks, or
    /// [`upload`](Self::upload).
    pub fn to_device(&self, device: &Device) -> Self {
        if self.0.device.same_device(device) {
            return self.share();
        }
        Self(Arc::new(Parts {
            storage: Arc::clone(&self.0.storage),
            shape: self.0.shape.clone(),
            device: device.clone(),
            repacked: OnceLock::new(),
            uploaded: OnceLock::new(),
        }))
    }

    /// Takes the blocks into the memory of their GPU, if they are for one and are not there yet.
    /// Errors if the GPU refuses.
    pub fn upload(&self) -> Result<()> {
        match self.0.device.gpu() {
            Some(_) => self.uploaded().map(|_| ()),
            None => Ok(()),
        }
    }

    /// The matrix in the memory of its GPU.
    pub(crate) fn uploaded(&self) -> Result<Arc<Uploaded>> {
        if let Some(uploaded) = self.0.uploaded.get() {
            return Ok(Arc::clone(uploaded));
        }
        let Some(gpu) = self.0.device.gpu() else {
            bail!("qmatmul: the matrix is on the cpu and x on a gpu; move it with to_device");
        };
        let uploaded = Arc::new(Uploaded::new(gpu, self)?);
        Ok(Arc::clone(self.0.uploaded.get_or_init(|| uploaded)))
    }

    /// How the matrix lies in the memory of its GPU, for kernels of one's own.
    ///
    /// # Errors
    /// A matrix on the processor; no memory.
    pub fn gpu_weights(&self) -> Result<super::GpuWeights> {
        Ok(super::GpuWeights(self.uploaded()?.form))
    }

    /// Another handle of the same blocks.
    pub(crate) fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// The blocks, in main memory.
    pub(crate) fn blocks(&self) -> &[u8] {
        self.0.storage.as_cpu().bytes()
    }

    /// The rows of a matrix interleaved, where that pays; the file's pages are not needed then.
    pub(crate) fn repacked(&self) -> Option<&Repacked> {
        let repack = || {
            if !self.0.device.is_cpu() {
                return None;
            }
            let &[rows, columns] = self.0.shape.dims() else {
                return None;
            };
            let repacked = Repacked::new(self.dtype(), self.blocks(), rows, columns)?;
            self.0.storage.as_cpu().advise_dont_need();
            Some(repacked)
        };
        self.0.repacked.get_or_init(repack).as_ref()
    }

    /// All values, as an f32 tensor.
    pub fn dequantize(&self, device: &Device) -> Result<Tensor> {
        let mut values = crate::cpu::recycle::take(self.0.shape.elem_count());
        tallow_quant::dequantize(self.dtype(), self.blocks(), &mut values)?;
        Tensor::from_vec(values, self.0.shape.clone(), device)
    }

    /// All values, as an f16 tensor.
    pub fn dequantize_f16(&self, device: &Device) -> Result<Tensor> {
        self.dequantize(device)?.to_dtype(DType::F16)
    }

    /// The values of some rows (slices of the first dimension of a matrix), as an f32 tensor
    /// `[ids.len(), columns]`. Errors if an id is out of range.
    pub fn dequantize_rows(&self, ids: &[u32], device: &Device) -> Result<Tensor> {
        let (rows, columns) = self.0.shape.dims2()?;
        let row_bytes = self.blocks().len().checked_div(rows).unwrap_or(0);
        let count = ids.len().checked_mul(columns);
        let count = count.ok_or_else(|| Error::Msg("dequantize_rows: too many ids".into()))?;
        let mut values = crate::cpu::recycle::take(count);
        for (&id, values) in ids.iter().zip(values.chunks_exact_mut(columns.max(1))) {
            let index = id as usize;
            if index >= rows {
                return Err(Error::InvalidIndex {
                    op: "dequantize_rows",
                    index,
                    size: rows,
                });
            }
            let row = &self.blocks()[index * row_bytes..][..row_bytes];
            tallow_quant::dequantize(self.dtype(), row, values)?;
        }
        Tensor::from_vec(values, (ids.len(), columns), device)
    }

    /// The rows that ids name: a matrix `[v, h]` and ids `[…]` of any integer dtype give `[…, h]`
    /// of f32. Errors if an id is out of range.
    ///
    /// ```
    /// use tallow::{Device, Tensor, quantized::{GgmlDType, QTensor}};
    /// let table = Tensor::arange(0f32, 96f32, &Device::Cpu)?.reshape((3, 32))?;
    /// let table = QTensor::quantize(&table, GgmlDType::F16)?;
    /// let rows = table.embedding(&Tensor::new(&[2u32, 0], &Device::Cpu)?)?;
    /// assert_eq!(rows.dims(), [2, 32]);
    /// assert_eq!(rows.to_vec2::<f32>()?[0][1], 65.0);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn embedding(&self, ids: &Tensor) -> Result<Tensor> {
        let columns = self.0.shape.dims2()?.1;
        let rows = self.dequantize_rows(&row_ids(ids, "embedding")?, ids.device())?;
        rows.reshape([ids.dims(), &[columns]].concat())
    }
}

/// Ids of any integer dtype as u32, in row-major order. Errors if one is negative or above u32.
pub(crate) fn row_ids(ids: &Tensor, op: &'static str) -> Result<Vec<u32>> {
    match ids.dtype() {
        DType::U32 => ids.flatten_all()?.to_vec1(),
        DType::U8 | DType::I16 | DType::I32 | DType::I64 => {
            let wide = ids.to_dtype(DType::I64)?.flatten_all()?.to_vec1::<i64>()?;
            let narrow =
                |id| u32::try_from(id).map_err(|_| Error::Msg(format!("{op}: id {id} is no row")));
            wide.into_iter().map(narrow).collect()
        }
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}
