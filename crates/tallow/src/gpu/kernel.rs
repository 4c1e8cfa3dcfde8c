//! Kernels of one's own, on tensors.

use super::{GpuView, span};
use crate::op::{lock_all, locked};
use crate::quantized::{QTensor, Uploaded};
use crate::{Result, Tensor};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use tallow_gpu::{Access, Buffer, Params, ReadBack, Variant};

/// A device header that reads the matrices of [`QTensor`]s, sixteen weights of a row at a time; it
/// stands before a kernel's own text ([`KernelSource::new`](super::KernelSource::new)), and
/// [`GpuWeights::define`](crate::quantized::GpuWeights::define) adds the defines that it wants.
pub const WEIGHTS_HEADER: &str = include_str!("weights.gpu.h");

/// A kernel of one's own.
///
/// Its text is in the kernel language (`device_lib/README.md` of `tallow-gpu`), which every driver
/// compiles. `#ifdef TARGET_CUDA` or `TARGET_METAL` in it makes room for CUDA C++ or the Metal
/// language: the signature, which says what is read (`IN`), written (`OUT`) or both (`INOUT`),
/// stays the same.
///
/// ```no_run
/// use tallow::gpu::{self, GpuKernel, KernelSource, Operand, Variant, params_text};
/// use tallow::{DType, Device, Tensor};
///
/// tallow::gpu::params! {
///     /// What the kernel takes.
///     struct ScaleParams { factor: f32, count: u32 }
/// }
/// static SCALE: KernelSource = KernelSource::new(
///     "my_scale",
///     "KERNEL(my_scale, WG)(IN(f32, x), OUT(f32, y), PARAMS(ScaleParams)) {
///          AFTER_INPUTS();
///          const uint i = GRP_X * WG + TID;
///          if (i < p.count) y[i] = x[i] * p.factor;
///      }",
///     &[],
///     Some(params_text::<ScaleParams>),
///     128,
/// );
/// struct Scale { factor: f32, count: u32 }
/// impl GpuKernel for Scale {
///     type Params = ScaleParams;
///     fn variant(&self) -> Variant { Variant::new(&SCALE) }
///     fn params(&self) -> ScaleParams { ScaleParams { factor: self.factor, count: self.count } }
///     fn groups(&self) -> [u32; 3] { [self.count.div_ceil(128), 1, 1] }
/// }
///
/// let device = Device::new_cuda(0)?;
/// let x = Tensor::arange(0f32, 1000f32, &device)?;
/// let y = Tensor::zeros(1000, DType::F32, &device)?;
/// gpu::run(&Scale { factor: 2.0, count: 1000 }, &[Operand::Tensor(&x), Operand::Tensor(&y)])?;
/// # Ok::<(), tallow::Error>(())
/// ```
pub trait GpuKernel {
    /// The parameter struct, made by [`params!`](super::params).
    type Params: Params;
    /// Text and defines. What is compiled is kept by its text, in memory and on disk.
    fn variant(&self) -> Variant;
    /// The parameters of this launch. Buffers are bound whole: where a view starts is a parameter.
    fn params(&self) -> Self::Params;
    /// How many groups of threads run.
    fn groups(&self) -> [u32; 3];
}

/// What a kernel is bound to.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// The elements of a tensor. Written ones are of one piece; tensors that share the buffer see
    /// the change.
    Tensor(&'a Tensor),
    /// A matrix of blocks, as the GPU holds it.
    Blocks(&'a QTensor),
}

/// Records a launch on the device of the operands, which are those of the kernel's text, in its
/// order. It runs after what it depends on, like every operation; no gradient goes through it.
///
/// # Errors
/// Operands on the CPU or on several devices, a number of operands or a size of parameters other
/// than the text says, a written tensor that is not contiguous or a matrix that would be written, a
/// text that does not compile.
pub fn run<K: GpuKernel>(kernel: &K, operands: &[Operand<'_>]) -> Result<()> {
    let variant = kernel.variant();
    let name = variant.source.name();
    let wants = &variant.source.signature()?.buffers;
    if operands.len() != wants.len() {
        let (has, wants) = (operands.len(), wants.len());
        crate::bail!("{name}: {has} operands; the kernel takes {wants}");
    }
    let mut matrices = SmallVec::<[Arc<Uploaded>; 4]>::new();
    let mut tensors = SmallVec::<[&Tensor; 8]>::new();
    for (operand, (what, access)) in operands.iter().zip(wants) {
        let is_written = *access != Access::Read;
        match operand {
            Operand::Tensor(tensor) if is_written && !tensor.is_contiguous() => {
                crate::bail!("{name}: {what} is written and not contiguous")
            }
            Operand::Tensor(tensor) => tensors.push(tensor),
            Operand::Blocks(_) if is_written => {
                crate::bail!("{name}: {what} is written, and a matrix of blocks cannot be")
            }
            Operand::Blocks(matrix) => matrices.push(matrix.uploaded()?),
        }
    }
    let guards = lock_all(&tensors);
    let (mut matrices, mut tensors) = (matrices.iter(), tensors.iter());
    let ranges = operands.iter().map(|operand| {
        Ok(match operand {
            Operand::Blocks(_) => matrices.next().expect("it was pushed above").whole(),
            Operand::Tensor(_) => {
                let tensor = tensors.next().expect("it was pushed above");
                let view = GpuView::new(locked(tensor, &guards).as_gpu()?, tensor.layout())?;
                span(view)
            }
        })
    });
    let ranges = ranges.collect::<Result<SmallVec<[(&Buffer, Range<usize>); 8]>>>()?;
    let Some((first, _)) = ranges.first() else {
        crate::bail!("{name}: a kernel without operands");
    };
    let (params, groups) = (kernel.params(), kernel.groups());
    Ok(first.device().launch(&variant, &ranges, &params, groups)?)
}

/// Starts to read the elements of a contiguous tensor back: they come by
/// [`ReadBack::finish`](super::ReadBack::finish), and what is launched meanwhile does not hold them
/// up. At most 32 MiB.
///
/// # Errors
/// A tensor on the CPU, or not contiguous.
pub fn start_read(tensor: &Tensor) -> Result<ReadBack> {
    if !tensor.is_contiguous() {
        crate::bail!("start_read: {:?} is not contiguous", tensor.dims());
    }
    let (storage, layout) = tensor.storage_and_layout();
    let storage = storage.as_gpu()?;
    let size = storage.dtype().size_in_bytes();
    let (offset, bytes) = (layout.start_offset() * size, tensor.elem_count() * size);
    Ok(storage
        .device()
        .start_read(storage.buffer(), offset, bytes)?)
}
