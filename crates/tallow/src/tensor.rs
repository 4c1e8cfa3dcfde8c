//! The tensor: a shared buffer and a layout into it.
//!
//! A [`Tensor`] is cheap to clone. Views share their buffer; operations make new ones. What a
//! tensor can do is spread over the folders of [`ops`](crate::ops); here are its parts and
//! constructors.

use crate::backprop::Node;
use crate::device::NdArray;
use crate::op::BackpropOp;
use crate::shape::{Dim, ShapeWithOneHole};
use crate::storage::{CpuStorage, Storage, StorageCell, StorageRef, check_count};
use crate::views::View;
use crate::{DType, Device, Layout, Result, Shape, WithDType, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number that no other tensor of this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(usize);

impl TensorId {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A multi-dimensional array of one dtype on one device.
///
/// ```
/// use tallow::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.], [3., 4.]], &Device::Cpu)?;
/// assert_eq!(x.dims(), [2, 2]);
/// # Ok::<(), tallow::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor(Arc<Parts>);

struct Parts {
    id: TensorId,
    storage: Arc<StorageCell>,
    layout: Layout,
    dtype: DType,
    device: Device,
    origin: Origin,
}

/// Where gradients go from a tensor.
enum Origin {
    /// Nowhere.
    Untracked,
    /// They stay: it is a variable.
    Variable,
    /// To the operands of what made it.
    Node(Box<Node>),
}

impl From<Option<Node>> for Origin {
    fn from(node: Option<Node>) -> Self {
        node.map_or(Self::Untracked, |node| Self::Node(Box::new(node)))
    }
}

impl AsRef<Tensor> for Tensor {
    fn as_ref(&self) -> &Tensor {
        self
    }
}

/// Parts.
impl Tensor {
    pub(crate) fn from_parts(storage: Storage, layout: Layout) -> Self {
        Self::recorded(storage, layout, None)
    }

    /// A new tensor, with what made it.
    #[inline(always)] // moving the parts through memory is waited for
    pub(crate) fn recorded(storage: Storage, layout: Layout, node: Option<Node>) -> Self {
        let (dtype, device) = (storage.dtype(), storage.device());
        let storage = Arc::new(StorageCell::new(storage));
        Self(Arc::new(Parts {
            id: TensorId::new(),
            storage,
            layout,
            dtype,
            device,
            origin: node.into(),
        }))
    }

    /// A view of the same buffer, and how it was made.
    pub(crate) fn view(&self, layout: Layout, view: View) -> Self {
        let node = Node::new(self.0.dtype, &[self], || Box::new(view));
        self.sharing(layout, node.into())
    }

    fn sharing(&self, layout: Layout, origin: Origin) -> Self {
        Self(Arc::new(Parts {
            id: TensorId::new(),
            storage: Arc::clone(&self.0.storage),
            layout,
            dtype: self.0.dtype,
            device: self.0.device.clone(),
            origin,
        }))
    }

    /// A tensor of the same elements, in the same buffer, that no gradient flows through.
    pub fn detach(&self) -> Self {
        match self.track_op() {
            true => self.sharing(self.layout().clone(), Origin::Untracked),
            false => self.clone(),
        }
    }

    /// The same elements as a variable.
    pub(crate) fn into_variable(self) -> Self {
        self.sharing(self.layout().clone(), Origin::Variable)
    }

    /// True if gradients are taken of the tensor: it is a [`Var`](crate::Var).
    pub fn is_variable(&self) -> bool {
        matches!(self.0.origin, Origin::Variable)
    }

    /// True if gradients flow through the tensor: it is a variable, or computed from one.
    pub fn track_op(&self) -> bool {
        !matches!(self.0.origin, Origin::Untracked)
    }

    pub(crate) fn node(&self) -> Option<&Node> {
        match &self.0.origin {
            Origin::Node(node) => Some(node),
            _ => None,
        }
    }

    /// The node, if nobody else holds the tensor.
    pub(crate) fn into_node(self) -> Option<Box<Node>> {
        match Arc::into_inner(self.0)?.origin {
            Origin::Node(node) => Some(node),
            _ => None,
        }
    }

    pub(crate) fn storage_cell(&self) -> &Arc<StorageCell> {
        &self.0.storage
    }

    /// A number that no other tensor of this process has.
    pub fn id(&self) -> TensorId {
        self.0.id
    }
    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }
    /// Where the tensor lives.
    pub fn device(&self) -> &Device {
        &self.0.device
    }
    /// Shape, strides and offset.
    pub fn layout(&self) -> &Layout {
        &self.0.layout
    }
    /// The shape.
    pub fn shape(&self) -> &Shape {
        self.0.layout.shape()
    }
    /// The sizes.
    pub fn dims(&self) -> &[usize] {
        self.0.layout.dims()
    }
    /// The size of one dimension.
    pub fn dim<I: Dim>(&self, dim: I) -> Result<usize> {
        Ok(self.dims()[dim.to_index(self.shape(), "dim")?])
    }
    /// The strides, in elements.
    pub fn stride(&self) -> &[usize] {
        self.0.layout.stride()
    }
    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }
    /// The number of elements.
    pub fn elem_count(&self) -> usize {
        self.shape().elem_count()
    }
    /// True if the elements are row-major without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.0.layout.is_contiguous()
    }
    /// True if the elements are column-major without gaps.
    pub fn is_fortran_contiguous(&self) -> bool {
        self.0.layout.is_fortran_contiguous()
    }
    /// The buffer, locked for reading, and the layout into it.
    pub fn storage_and_layout(&self) -> (StorageRef<'_>, &Layout) {
        (self.0.storage.read(), self.layout())
    }
}

/// Constructors.
impl Tensor {
    /// A tensor over a storage, row-major. What made it is not recorded. A storage with fewer
    /// elements than the shape makes the operations on the tensor fail.
    pub fn from_storage<S: Into<Shape>>(
        storage: Storage,
        shape: S,
        _op: BackpropOp,
        is_variable: bool,
    ) -> Self {
        let tensor = Self::from_parts(storage, Layout::contiguous(shape));
        match is_variable {
            true => tensor.into_variable(),
            false => tensor,
        }
    }

    /// A tensor of nested data: `&[[1f32, 2.], [3., 4.]]`, a scalar, a vector of vectors.
    /// Errors if rows differ in length.
    pub fn new<A: NdArray>(array: A, device: &Device) -> Result<Self> {
        let shape = array.shape()?;
        Self::from_cpu_storage(array.to_cpu_storage(), shape, device)
    }

    /// A tensor over a buffer in main memory, row-major. Errors if the counts differ.
    pub(crate) fn from_cpu_storage(
        storage: CpuStorage,
        shape: Shape,
        device: &Device,
    ) -> Result<Self> {
        check_count(&shape, storage.len())?;
        match device {
            Device::Cpu => Ok(Self::from_parts(
                Storage::Cpu(storage),
                Layout::contiguous(shape),
            )),
            Device::Cuda(gpu) | Device::Metal(gpu) | Device::OpenCl(gpu) => {
                let storage = Storage::from_gpu(crate::gpu::GpuStorage::from_cpu(gpu, &storage)?);
                Ok(Self::from_parts(storage, Layout::contiguous(shape)))
            }
        }
    }

    /// A tensor that takes a vector over; one size may be left open, as `()`.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::from_vec(vec![0u32, 1, 2, 3, 4, 5], (2, ()), &Device::Cpu)?;
    /// assert_eq!(x.dims(), [2, 3]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn from_vec<S: ShapeWithOneHole, D: WithDType>(
        data: Vec<D>,
        shape: S,
        device: &Device,
    ) -> Result<Self> {
        let shape = shape.into_shape(data.len())?;
        Self::from_cpu_storage(D::to_cpu_storage_owned(data), shape, device)
    }

    /// A tensor with a copy of the elements.
    pub fn from_slice<S: ShapeWithOneHole, D: WithDType>(
        array: &[D],
        shape: S,
        device: &Device,
    ) -> Result<Self> {
        let shape = shape.into_shape(array.len())?;
        Self::from_cpu_storage(D::to_cpu_storage(array), shape, device)
    }

    /// A tensor of rank 1 with the elements of an iterator.
    pub fn from_iter<D: WithDType>(
        iter: impl IntoIterator<Item = D>,
        device: &Device,
    ) -> Result<Self> {
        Self::from_vec(iter.into_iter().collect::<Vec<_>>(), ((),), device)
    }

    /// The numbers from `start` up to `end`, which is left out, one apart.
    pub fn arange<D: WithDType>(start: D, end: D, device: &Device) -> Result<Self> {
        Self::arange_step(start, end, D::from_f64(1.0), device)
    }

    /// The numbers from `start` up (or down) to `end`, which is left out, `step` apart: element `i`
    /// is `start + i·step`, computed in f64; there are ⌈(end − start) / step⌉, the quotient in f32
    /// for f32 and narrower. Errors if the step is 0 or a bound is not finite.
    pub fn arange_step<D: WithDType>(start: D, end: D, step: D, device: &Device) -> Result<Self> {
        let (from, to, by) = (start.to_f64(), end.to_f64(), step.to_f64());
        if by == 0.0 || !from.is_finite() || !to.is_finite() || !by.is_finite() {
            bail!(
                "arange: start {start}, end {end}, step {step}; wants finite numbers, step not 0"
            );
        }
        // The quotient in the precision that the type computes in: a step of 0.01f32 is a little
        // less than 0.01, and yet makes 100 numbers from 0 up to 1.
        let count = match D::DTYPE {
            DType::F32 | DType::F16 | DType::BF16 | DType::F8E4M3 => {
                f64::from(((to - from) as f32 / by as f32).ceil())
            }
            _ => ((to - from) / by).ceil(),
        };
        let count = count.max(0.0);
        if count > (isize::MAX as usize / 16) as f64 {
            bail!("arange: {count} elements from {start} to {end} pass what memory can address");
        }
        let values = (0..count as usize).map(|at| D::from_f64(from + at as f64 * by));
        Self::from_iter(values, device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arange_leaves_its_end_out() -> Result<()> {
        let cpu = &Device::Cpu;
        assert_eq!(Tensor::arange(2u8, 5, cpu)?.to_vec1::<u8>()?, [2, 3, 4]);
        assert_eq!(
            Tensor::arange_step(1f32, -1., -0.5, cpu)?.to_vec1::<f32>()?,
            [1., 0.5, 0., -0.5]
        );
        assert_eq!(Tensor::arange(5i64, 2, cpu)?.dims(), [0]);
        assert_eq!(Tensor::arange_step(0f32, 100., 0.01, cpu)?.dims(), [10_000]);
        assert_eq!(Tensor::arange_step(0f64, 1., 0.1, cpu)?.dims(), [10]);
        assert!(Tensor::arange_step(0i32, 3, 0, cpu).is_err());
        assert!(Tensor::arange(0f32, f32::INFINITY, cpu).is_err());
        Ok(())
    }

    #[test]
    fn a_buffer_of_another_count_is_an_error() {
        assert!(Tensor::from_vec(vec![1f32; 5], (2, 3), &Device::Cpu).is_err());
        assert!(Tensor::from_slice(&[1f32; 5], (2, ()), &Device::Cpu).is_err());
        assert!(Tensor::new(vec![vec![1f32], vec![]], &Device::Cpu).is_err());
    }
}
