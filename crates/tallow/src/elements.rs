//! Elements of files as elements of tensors, and back.
//!
//! A file's element becomes the narrowest dtype that holds all its values: `i8` an i16, `u16` a
//! u32, `f8e5m2` an f16, a boolean a u8 of 0 or 1. `u64` becomes i64, and a value of 2^63 or more
//! is an error. Files have the lowest byte first.

use crate::storage::CpuStorage;
use crate::{DType, Device, F8E4M3, Layout, Result, Shape, Storage, Tensor, bail, bf16, f16};
use tallow_formats::Element;

/// The dtype that holds the values of an element.
pub(crate) fn dtype_of(element: Element) -> DType {
    match element {
        Element::Bool | Element::U8 => DType::U8,
        Element::I8 | Element::I16 => DType::I16,
        Element::U16 | Element::U32 => DType::U32,
        Element::I32 => DType::I32,
        Element::U64 | Element::I64 => DType::I64,
        Element::F16 | Element::F8E5M2 => DType::F16,
        Element::BF16 => DType::BF16,
        Element::F32 => DType::F32,
        Element::F64 => DType::F64,
        Element::F8E4M3 => DType::F8E4M3,
    }
}

fn each<const N: usize, T>(bytes: &[u8], convert: impl Fn([u8; N]) -> T) -> Vec<T> {
    let (elements, _) = bytes.as_chunks::<N>();
    elements.iter().map(|&element| convert(element)).collect()
}

/// All elements of `bytes`; what is left over is not looked at.
pub(crate) fn storage(element: Element, bytes: &[u8]) -> Result<CpuStorage> {
    Ok(match element {
        Element::Bool => CpuStorage::U8(each(bytes, |[byte]| u8::from(byte != 0))),
        Element::U8 => CpuStorage::U8(bytes.to_vec()),
        Element::I8 => CpuStorage::I16(each(bytes, |byte| i8::from_le_bytes(byte).into())),
        Element::U16 => CpuStorage::U32(each(bytes, |two| u16::from_le_bytes(two).into())),
        Element::I16 => CpuStorage::I16(each(bytes, i16::from_le_bytes)),
        Element::U32 => CpuStorage::U32(each(bytes, u32::from_le_bytes)),
        Element::I32 => CpuStorage::I32(each(bytes, i32::from_le_bytes)),
        Element::U64 => {
            let values = each(bytes, i64::from_le_bytes);
            if let Some(&value) = values.iter().find(|&&value| value < 0) {
                bail!(
                    "{} of a file does not fit i64, the widest integer",
                    value as u64
                );
            }
            CpuStorage::I64(values)
        }
        Element::I64 => CpuStorage::I64(each(bytes, i64::from_le_bytes)),
        Element::F16 => CpuStorage::F16(each(bytes, f16::from_le_bytes)),
        Element::BF16 => CpuStorage::BF16(each(bytes, bf16::from_le_bytes)),
        Element::F32 => CpuStorage::F32(each(bytes, f32::from_le_bytes)),
        Element::F64 => CpuStorage::F64(each(bytes, f64::from_le_bytes)),
        Element::F8E4M3 => CpuStorage::F8E4M3(each(bytes, |[byte]| F8E4M3::from_bits(byte))),
        Element::F8E5M2 => CpuStorage::F16(each(bytes, |[byte]| f16::from_le_bytes([0, byte]))),
    })
}

/// A row-major tensor. Errors if there are not as many bytes as the shape takes.
pub(crate) fn tensor(
    element: Element,
    bytes: &[u8],
    shape: impl Into<Shape>,
    device: &Device,
) -> Result<Tensor> {
    let shape = shape.into();
    if shape.checked_elem_count()?.checked_mul(element.byte_len()) != Some(bytes.len()) {
        let len = bytes.len();
        bail!("{len} bytes of {element} do not fit shape {shape:?}");
    }
    Tensor::from_cpu_storage(storage(element, bytes)?, shape, device)
}

/// A tensor of strided elements, in main memory; `bytes` has all that the layout can touch. Where
/// elements are repeated (a stride of 0) the result stays such a view, so that it takes no more
/// memory than the file; any other comes out row-major.
pub(crate) fn strided(element: Element, bytes: &[u8], layout: Layout) -> Result<Tensor> {
    let count = layout.shape().checked_elem_count()?;
    let storage = storage(element, bytes)?;
    let held = storage.len();
    let view = Tensor::from_parts(Storage::Cpu(storage), layout);
    match count <= held {
        true => view.contiguous(),
        false => Ok(view),
    }
}

/// The elements of a tensor in row-major order, lowest byte first, and what they are.
pub(crate) fn bytes(tensor: &Tensor) -> Result<(Element, Vec<u8>)> {
    fn all<T: Copy, const N: usize>(values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
        let elements: Vec<[u8; N]> = values.iter().map(|&value| bytes(value)).collect();
        elements.into_flattened()
    }
    let tensor = tensor.to_device(&Device::Cpu)?.contiguous()?;
    let (storage, layout) = tensor.storage_and_layout();
    let range = layout.start_offset()..layout.start_offset() + layout.shape().elem_count();
    Ok(match storage.as_cpu()? {
        CpuStorage::U8(data) => (Element::U8, data[range].to_vec()),
        CpuStorage::U32(data) => (Element::U32, all(&data[range], u32::to_le_bytes)),
        CpuStorage::I16(data) => (Element::I16, all(&data[range], i16::to_le_bytes)),
        CpuStorage::I32(data) => (Element::I32, all(&data[range], i32::to_le_bytes)),
        CpuStorage::I64(data) => (Element::I64, all(&data[range], i64::to_le_bytes)),
        CpuStorage::BF16(data) => (Element::BF16, all(&data[range], bf16::to_le_bytes)),
        CpuStorage::F16(data) => (Element::F16, all(&data[range], f16::to_le_bytes)),
        CpuStorage::F32(data) => (Element::F32, all(&data[range], f32::to_le_bytes)),
        CpuStorage::F64(data) => (Element::F64, all(&data[range], f64::to_le_bytes)),
        CpuStorage::F8E4M3(data) => (
            Element::F8E4M3,
            all(&data[range], |value| [value.to_bits()]),
        ),
        other => bail!(
            "{} cannot be written to a file; cast with to_dtype",
            other.dtype()
        ),
    })
}
