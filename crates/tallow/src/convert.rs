//! Tensors from bytes and numbers, and back: [`Tensor::from_raw_buffer`], [`Tensor::write_bytes`],
//! and the conversions by `try_from`.
//!
//! Bytes are the elements' own, in row-major order, the lowest byte of each first.

use crate::cpu::{CpuView, copy};
use crate::{CpuStorage, DType, Device, Error, F8E4M3, Result, Shape, Tensor, WithDType};
use crate::{bail, bf16, f16};

/// Elements converted at a time: 64 KiB of the widest.
const PIECE: usize = 8 << 10;

/// The elements that bytes stand for; what is left over is not looked at.
fn elements<T, const N: usize>(bytes: &[u8], convert: impl Fn([u8; N]) -> T) -> Vec<T> {
    let (elements, _) = bytes.as_chunks::<N>();
    elements.iter().map(|&element| convert(element)).collect()
}

fn storage(bytes: &[u8], dtype: DType) -> CpuStorage {
    match dtype {
        DType::U8 => CpuStorage::U8(bytes.to_vec()),
        DType::U32 => CpuStorage::U32(elements(bytes, u32::from_le_bytes)),
        DType::I16 => CpuStorage::I16(elements(bytes, i16::from_le_bytes)),
        DType::I32 => CpuStorage::I32(elements(bytes, i32::from_le_bytes)),
        DType::I64 => CpuStorage::I64(elements(bytes, i64::from_le_bytes)),
        DType::BF16 => CpuStorage::BF16(elements(bytes, bf16::from_le_bytes)),
        DType::F16 => CpuStorage::F16(elements(bytes, f16::from_le_bytes)),
        DType::F32 => CpuStorage::F32(elements(bytes, f32::from_le_bytes)),
        DType::F64 => CpuStorage::F64(elements(bytes, f64::from_le_bytes)),
        DType::F8E4M3 => {
            CpuStorage::F8E4M3(elements(bytes, |[byte]: [u8; 1]| F8E4M3::from_bits(byte)))
        }
        DType::F6E2M3 => CpuStorage::F6E2M3(bytes.to_vec()),
        DType::F6E3M2 => CpuStorage::F6E3M2(bytes.to_vec()),
        DType::F4 => CpuStorage::F4(bytes.to_vec()),
        DType::F8E8M0 => CpuStorage::F8E8M0(bytes.to_vec()),
    }
}

/// An element as bytes.
trait ToBytes: WithDType {
    fn append_to(self, bytes: &mut Vec<u8>);
}

macro_rules! to_bytes {
    ($($ty:ty: $bytes:expr),+) => {
        $(impl ToBytes for $ty {
            #[inline(always)]
            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&$bytes(self));
            }
        })+
    };
}
to_bytes!(
    u8: u8::to_le_bytes, u32: u32::to_le_bytes, i16: i16::to_le_bytes, i32: i32::to_le_bytes,
    i64: i64::to_le_bytes, f16: f16::to_le_bytes, bf16: bf16::to_le_bytes, f32: f32::to_le_bytes,
    f64: f64::to_le_bytes, F8E4M3: |value: F8E4M3| [value.to_bits()]
);

impl Tensor {
    /// A tensor of the elements that these bytes are, row-major, the lowest byte first. Errors if
    /// there are not as many as the shape takes.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::from_raw_buffer(&[1, 0, 2, 1], DType::I16, &[2], &Device::Cpu)?;
    /// assert_eq!(x.to_vec1::<i16>()?, [1, 258]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn from_raw_buffer(
        data: &[u8],
        dtype: DType,
        shape: &[usize],
        device: &Device,
    ) -> Result<Self> {
        let (shape, size) = (Shape::from(shape), dtype.size_in_bytes());
        if size == 0 {
            bail!("from_raw_buffer: elements of {dtype} are no whole bytes");
        }
        // The count fits an isize sixteen times.
        let bytes = shape.checked_elem_count()? * size;
        if bytes != data.len() {
            bail!(
                "from_raw_buffer: {} bytes; {dtype} of {shape:?} takes {bytes}",
                data.len()
            );
        }
        Self::from_cpu_storage(storage(data, dtype), shape, device)
    }

    /// Writes the elements' bytes, row-major, the lowest byte of each first.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let mut bytes = Vec::new();
    /// Tensor::new(&[1i16, 258], &Device::Cpu)?.write_bytes(&mut bytes)?;
    /// assert_eq!(bytes, [1, 0, 2, 1]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn write_bytes<W: std::io::Write>(&self, f: &mut W) -> Result<()> {
        crate::with_dtype!(self.dtype(), "write_bytes", T in all => {
            let here = self.to_device(&Device::Cpu)?;
            let (storage, layout) = here.storage_and_layout();
            let view = CpuView::new(storage.as_cpu()?, layout)?.typed::<T>()?;
            let packed = view.contiguous().is_none().then(|| {
                let mut packed = vec![T::default(); view.count()];
                copy::copy(view, &mut packed);
                packed
            });
            let mut bytes = Vec::new();
            let elements = packed.as_deref().unwrap_or(&view.data[..view.count()]);
            for piece in elements.chunks(PIECE) {
                bytes.clear();
                piece.iter().for_each(|value| value.append_to(&mut bytes));
                f.write_all(&bytes)?;
            }
            Ok(())
        })
    }
}

impl<T: WithDType> TryFrom<&Tensor> for Vec<T> {
    type Error = Error;
    fn try_from(tensor: &Tensor) -> Result<Self> {
        tensor.to_vec1()
    }
}
impl<T: WithDType> TryFrom<&Tensor> for Vec<Vec<T>> {
    type Error = Error;
    fn try_from(tensor: &Tensor) -> Result<Self> {
        tensor.to_vec2()
    }
}
impl<T: WithDType> TryFrom<&Tensor> for Vec<Vec<Vec<T>>> {
    type Error = Error;
    fn try_from(tensor: &Tensor) -> Result<Self> {
        tensor.to_vec3()
    }
}
impl<T: WithDType> TryFrom<Tensor> for Vec<T> {
    type Error = Error;
    fn try_from(tensor: Tensor) -> Result<Self> {
        tensor.to_vec1()
    }
}
impl<T: WithDType> TryFrom<Tensor> for Vec<Vec<T>> {
    type Error = Error;
    fn try_from(tensor: Tensor) -> Result<Self> {
        tensor.to_vec2()
    }
}
impl<T: WithDType> TryFrom<Tensor> for Vec<Vec<Vec<T>>> {
    type Error = Error;
    fn try_from(tensor: Tensor) -> Result<Self> {
        tensor.to_vec3()
    }
}
impl<T: WithDType> TryFrom<&[T]> for Tensor {
    type Error = Error;
    fn try_from(elements: &[T]) -> Result<Self> {
        Self::new(elements, &Device::Cpu)
    }
}
impl<T: WithDType> TryFrom<Vec<T>> for Tensor {
    type Error = Error;
    fn try_from(elements: Vec<T>) -> Result<Self> {
        Self::from_vec(elements, ((),), &Device::Cpu)
    }
}

macro_rules! numbers {
    ($($ty:ty),+) => {
        $(
            impl TryFrom<&Tensor> for $ty {
                type Error = Error;
                fn try_from(tensor: &Tensor) -> Result<Self> {
                    tensor.to_scalar()
                }
            }
            impl TryFrom<Tensor> for $ty {
                type Error = Error;
                fn try_from(tensor: Tensor) -> Result<Self> {
                    tensor.to_scalar()
                }
            }
            impl TryFrom<$ty> for Tensor {
                type Error = Error;
                fn try_from(value: $ty) -> Result<Self> {
                    Self::new(value, &Device::Cpu)
                }
            }
        )+
    };
}
numbers!(u8, u32, i16, i32, i64, f16, bf16, f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_make_the_same_tensor_again() -> Result<()> {
        let x = Tensor::arange(0u32, 24, &Device::Cpu)?.reshape((2, 3, 4))?;
        for dtype in DType::COMPUTE {
            let view = x.to_dtype(dtype)?.transpose(0, 2)?.narrow(1, 1, 2)?;
            let mut bytes = Vec::new();
            view.write_bytes(&mut bytes)?;
            let back = Tensor::from_raw_buffer(&bytes, dtype, view.dims(), &Device::Cpu)?;
            let widened = |x: &Tensor| x.to_dtype(DType::F64)?.to_vec3::<f64>();
            assert_eq!(widened(&back)?, widened(&view)?, "{dtype}");
            let short = &bytes[1..];
            assert!(Tensor::from_raw_buffer(short, dtype, view.dims(), &Device::Cpu).is_err());
        }
        let huge = [usize::MAX, 2];
        assert!(Tensor::from_raw_buffer(&[], DType::F32, &huge, &Device::Cpu).is_err());
        assert!(Tensor::from_raw_buffer(&[0], DType::F4, &[2], &Device::Cpu).is_err());
        Ok(())
    }

    #[test]
    fn numbers_and_vectors_convert() -> Result<()> {
        let x = Tensor::try_from(vec![1i64, 2])?;
        assert_eq!(Vec::<i64>::try_from(&x)?, [1, 2]);
        assert_eq!(f32::try_from(Tensor::try_from(2.5f32)?)?, 2.5);
        assert!(Vec::<f32>::try_from(&x).is_err() && i64::try_from(x).is_err());
        let nested = vec![vec![vec![1u8], vec![2]]];
        let cube = Tensor::new(nested.clone(), &Device::Cpu)?;
        assert_eq!(Vec::<Vec<Vec<u8>>>::try_from(cube)?, nested);
        let uneven = vec![vec![vec![1u8], vec![2]], vec![vec![1], vec![2, 3]]];
        assert!(Tensor::new(uneven, &Device::Cpu).is_err());
        Ok(())
    }
}
