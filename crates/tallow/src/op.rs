//! Operations as values, and the one way to run them.
//!
//! An operation says what its result looks like ([`Op::infer`]) and how to compute it on each
//! device ([`Op::cpu`]). [`apply`] does the rest, in one order: check devices, infer, allocate,
//! lock the operands, run. [`apply_in_place`] changes its target under a write lock instead; an
//! operand that shares the target's buffer is copied under that lock. Locks are taken once per
//! buffer and in the order of their addresses, so that no two operations can wait for each other.
//! What comes from a variable remembers its operation, for gradients
//! ([`backprop`](crate::backprop)).

pub use crate::backprop::Gradients;
pub use crate::ops::compare::CmpOp;

use crate::backprop::{Node, Rule};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView, no_kernel};
use crate::storage::{CpuStorage, Storage, StorageCell, check_count};
use crate::{DType, Device, Error, Layout, Result, Shape, Tensor};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::sync::{Arc, OnceLock, RwLockReadGuard};

/// An operation that makes a new tensor.
pub trait Op: Send + Sync {
    /// The name, for errors and traces.
    fn name(&self) -> &'static str;
    /// Checks the operands' shapes and dtypes, and gives the result's.
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)>;
    /// Computes every element of the result; `out` has the inferred dtype and count, and holds
    /// values that mean nothing. Not called for an empty result.
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()>;
    /// Records the kernels that compute every element of the result, which has the inferred dtype
    /// and count and is row-major. Not called for an empty result.
    fn gpu(&self, _inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        Err(no_kernel(self.name(), out.device()))
    }
    /// The gradients of a scalar with respect to the inputs, given that with respect to the output,
    /// in the inputs' shapes and dtypes. A rule may leave out (`None`) those of inputs that
    /// [`track_op`](Tensor::track_op) says no of. Results of integers are never asked.
    fn gradient(
        &self,
        _inputs: &[&Tensor],
        _output: &Tensor,
        _upstream: &Tensor,
    ) -> Result<Gradients> {
        Err(Error::BackwardNotSupported { op: self.name() })
    }
}

/// What made a tensor, for [`Tensor::from_storage`]: nothing that is known. Operations of a user's
/// own are recorded through [`CustomOp1`](crate::CustomOp1) and its like.
#[derive(Clone, Debug, Default)]
pub struct BackpropOp(());

impl BackpropOp {
    /// Nothing.
    pub fn none() -> Self {
        Self(())
    }
}

/// Runs an operation.
pub fn apply(op: impl Op + 'static, inputs: &[&Tensor]) -> Result<Tensor> {
    let device = common_device(op.name(), inputs)?;
    let (shape, dtype) = op.infer(inputs)?;
    let count = shape.checked_elem_count()?;
    // Made before the operation runs: what was just written is waited for when it is moved.
    let layout = Layout::contiguous(shape);
    let mut out = match device.gpu() {
        None => Storage::Cpu(CpuStorage::for_output(dtype, count, op.name())?),
        Some(gpu) => Storage::from_gpu(GpuStorage::new(gpu, count, dtype)?),
    };
    if count > 0 {
        match &mut out {
            Storage::Cpu(out) => run_cpu(&op, inputs, out)?,
            Storage::Cuda(out) | Storage::Metal(out) | Storage::OpenCl(out) => {
                run_gpu(&op, inputs, out)?;
            }
        }
    }
    let node = Node::new(dtype, inputs, || Box::new(op));
    Ok(Tensor::recorded(out, layout, node))
}

/// Records a result's kernels on a GPU.
fn run_gpu(op: &impl Op, inputs: &[&Tensor], out: &GpuStorage) -> Result<()> {
    let guards = lock_all(inputs);
    let views: Result<SmallVec<[GpuView<'_>; 4]>> = inputs
        .iter()
        .map(|input| gpu_view(input, &guards))
        .collect();
    op.gpu(&views?, out)
}

/// Computes a result on the processor. One and two operands, which most operations have, are locked
/// and viewed without a list, since making one takes as long as adding 64 numbers.
#[inline]
fn run_cpu(op: &impl Op, inputs: &[&Tensor], out: &mut CpuStorage) -> Result<()> {
    ready()?;
    match *inputs {
        [one] => {
            let storage = one.storage_cell().read();
            op.cpu(&[CpuView::new(storage.as_cpu()?, one.layout())?], out)
        }
        [lhs, rhs] => {
            let (left, right) = read_both(lhs.storage_cell(), rhs.storage_cell());
            let right = right.as_deref().unwrap_or(&left).as_cpu()?;
            let lhs = CpuView::new(left.as_cpu()?, lhs.layout())?;
            op.cpu(&[lhs, CpuView::new(right, rhs.layout())?], out)
        }
        _ => {
            let guards = lock_all(inputs);
            op.cpu(&views(inputs, &guards)?, out)
        }
    }
}

/// Runs an operation that makes its own storage, and records it by the rule, if there is one.
pub(crate) fn apply_custom(
    name: &'static str,
    inputs: &[&Tensor],
    compute: impl FnOnce(&[(&CpuStorage, &Layout)]) -> Result<(CpuStorage, Shape)>,
    rule: Option<&dyn Fn() -> Box<dyn Rule>>,
) -> Result<Tensor> {
    if let Some(gpu) = common_device(name, inputs)?.gpu() {
        return Err(no_kernel(name, gpu));
    }
    ready()?;
    let guards = lock_all(inputs);
    let views = views(inputs, &guards)?;
    let operands: SmallVec<[_; 3]> = views.iter().map(|x| (x.storage(), x.layout())).collect();
    let (storage, shape) = compute(&operands)?;
    check_count(&shape, storage.len())?;
    let node = rule.and_then(|rule| Node::new(storage.dtype(), inputs, rule));
    let layout = Layout::contiguous(shape);
    Ok(Tensor::recorded(Storage::Cpu(storage), layout, node))
}

/// An operation that changes its target.
pub trait InPlaceOp {
    /// The name, for errors and traces.
    fn name(&self) -> &'static str;
    /// Checks the target's and the operands' shapes and dtypes.
    fn check(&self, target: &Tensor, inputs: &[&Tensor]) -> Result<()>;
    /// Writes into the storage, at the places that the layout names.
    fn cpu(&self, target: &mut CpuStorage, layout: &Layout, inputs: &[CpuView<'_>]) -> Result<()>;
    /// Records the kernels that do so on a GPU.
    fn gpu(&self, target: GpuView<'_>, _inputs: &[GpuView<'_>]) -> Result<()> {
        Err(no_kernel(self.name(), target.storage().device()))
    }
}

/// Runs an operation that changes `target`; every tensor over the same buffer sees the change.
pub fn apply_in_place(op: &impl InPlaceOp, target: &Tensor, inputs: &[&Tensor]) -> Result<()> {
    let name = op.name();
    common_device(name, &[&[target], inputs].concat())?;
    op.check(target, inputs)?;
    if target.elem_count() == 0 {
        return Ok(());
    }
    // Elements of the target that share a place have no single value to write.
    if !target.is_contiguous() && target.layout().has_internal_overlap() {
        crate::bail!(
            "{name}: elements of the target share places: {}; call contiguous first",
            target.layout().describe()
        );
    }
    let aliased = |input: &&Tensor| Arc::ptr_eq(input.storage_cell(), target.storage_cell());
    match target.device() {
        Device::Cpu => {
            ready()?;
            let others: SmallVec<[&Tensor; 4]> = inputs
                .iter()
                .copied()
                .filter(|input| !aliased(input))
                .collect();
            // Readers first, in the order of addresses; another in-place operation that wants one
            // of them as its target waits for us, and we wait for it only if its target is below
            // ours, which it then already holds.
            let (guards, mut target_guard) = lock_with_target(&others, target);
            // What shares the target's buffer is copied under its lock, so that nothing comes
            // between reading it and writing.
            let copies = inputs.iter().filter(|input| aliased(input));
            let copies = copies.map(|input| {
                let view = CpuView::new(target_guard.as_cpu()?, input.layout())?;
                let layout = Layout::contiguous(input.shape().clone());
                Ok((crate::ops::copy::copied(view)?, layout))
            });
            let copies = copies.collect::<Result<SmallVec<[(CpuStorage, Layout); 2]>>>()?;
            let mut next = copies.iter().peekable();
            let mut views = SmallVec::<[CpuView<'_>; 4]>::new();
            for input in inputs {
                views.push(match next.next_if(|_| aliased(input)) {
                    Some((storage, layout)) => CpuView::new(storage, layout)?,
                    None => view(input, &guards)?,
                });
            }
            op.cpu(target_guard.as_cpu_mut()?, target.layout(), &views)
        }
        Device::Cuda(_) | Device::Metal(_) | Device::OpenCl(_) => {
            // Recording is in order, so that what shares the target's buffer is copied in time.
            let copies: Result<SmallVec<[Tensor; 4]>> = inputs
                .iter()
                .map(|input| match aliased(input) {
                    true => input.copy(),
                    false => Ok((*input).clone()),
                })
                .collect();
            let copies = copies?;
            let others: SmallVec<[&Tensor; 4]> = copies.iter().collect();
            let (guards, target_guard) = lock_with_target(&others, target);
            let views: Result<SmallVec<[GpuView<'_>; 4]>> = others
                .iter()
                .map(|input| gpu_view(input, &guards))
                .collect();
            op.gpu(
                GpuView::new(target_guard.as_gpu()?, target.layout())?,
                &views?,
            )
        }
    }
}

/// The processor's configuration (threads, instruction set) is checked once, where it is needed, so
/// that a wrong environment variable is an error and not a panic in a worker.
fn ready() -> Result<()> {
    static READY: OnceLock<()> = OnceLock::new();
    if READY.get().is_none() {
        tallow_threads::configured_threads()?;
        tallow_simd::configured_level()?;
        READY.get_or_init(|| ());
    }
    Ok(())
}

#[inline]
fn common_device<'a>(op: &'static str, inputs: &[&'a Tensor]) -> Result<&'a Device> {
    let Some(first) = inputs.first() else {
        crate::bail!("{op}: no operands");
    };
    let device = first.device();
    match inputs[1..]
        .iter()
        .find(|input| !input.device().same_device(device))
    {
        None => Ok(device),
        Some(other) => Err(Error::DeviceMismatchBinaryOp {
            lhs: device.location(),
            rhs: other.device().location(),
            op,
        }),
    }
}

/// Read locks on the distinct buffers of the operands, with each buffer's address.
pub(crate) type Guards<'a> = SmallVec<[(*const StorageCell, RwLockReadGuard<'a, Storage>); 4]>;

/// Read locks on two buffers, the lower address first; one lock if they are the same.
#[inline]
fn read_both<'a>(
    lhs: &'a Arc<StorageCell>,
    rhs: &'a Arc<StorageCell>,
) -> (
    RwLockReadGuard<'a, Storage>,
    Option<RwLockReadGuard<'a, Storage>>,
) {
    match Arc::as_ptr(lhs).cmp(&Arc::as_ptr(rhs)) {
        Ordering::Equal => (lhs.read(), None),
        Ordering::Less => {
            let left = lhs.read();
            (left, Some(rhs.read()))
        }
        Ordering::Greater => {
            let right = rhs.read();
            (lhs.read(), Some(right))
        }
    }
}

fn distinct_cells<'a>(inputs: &[&'a Tensor]) -> SmallVec<[&'a Arc<StorageCell>; 4]> {
    let mut cells: SmallVec<[&Arc<StorageCell>; 4]> =
        inputs.iter().map(|input| input.storage_cell()).collect();
    cells.sort_unstable_by_key(|cell| Arc::as_ptr(cell));
    cells.dedup_by_key(|cell| Arc::as_ptr(cell));
    cells
}

/// Locks the operands' buffers for reading, each once.
pub(crate) fn lock_all<'a>(inputs: &[&'a Tensor]) -> Guards<'a> {
    let guard = |cell: &'a Arc<StorageCell>| (Arc::as_ptr(cell), cell.read());
    match *inputs {
        // Most operations have one or two operands, and many are small: no list is sorted for them.
        [one] => Guards::from_iter([guard(one.storage_cell())]),
        [one, other] => {
            let (one, other) = (one.storage_cell(), other.storage_cell());
            let (first, last) = read_both(one, other);
            let last = last.map(|last| (Arc::as_ptr(other), last));
            [(Arc::as_ptr(one), first)]
                .into_iter()
                .chain(last)
                .collect()
        }
        _ => distinct_cells(inputs).into_iter().map(guard).collect(),
    }
}

fn lock_with_target<'a>(
    inputs: &[&'a Tensor],
    target: &'a Tensor,
) -> (Guards<'a>, std::sync::RwLockWriteGuard<'a, Storage>) {
    let target_cell = target.storage_cell();
    let cells = distinct_cells(inputs);
    let below = cells
        .iter()
        .filter(|cell| Arc::as_ptr(cell) < Arc::as_ptr(target_cell));
    let mut guards: Guards<'a> = below.map(|cell| (Arc::as_ptr(cell), cell.read())).collect();
    let target_guard = target_cell.write();
    let above = cells
        .iter()
        .filter(|cell| Arc::as_ptr(cell) > Arc::as_ptr(target_cell));
    guards.extend(above.map(|cell| (Arc::as_ptr(cell), cell.read())));
    (guards, target_guard)
}

fn views<'a>(inputs: &[&'a Tensor], guards: &'a Guards<'_>) -> Result<SmallVec<[CpuView<'a>; 4]>> {
    let mut views = SmallVec::new();
    for input in inputs {
        views.push(view(input, guards)?);
    }
    Ok(views)
}

fn view<'a>(input: &'a Tensor, guards: &'a Guards<'_>) -> Result<CpuView<'a>> {
    CpuView::new(locked(input, guards).as_cpu()?, input.layout())
}

fn gpu_view<'a>(input: &'a Tensor, guards: &'a Guards<'_>) -> Result<GpuView<'a>> {
    GpuView::new(locked(input, guards).as_gpu()?, input.layout())
}

/// An operand's storage among those that [`lock_all`] locked.
pub(crate) fn locked<'a>(input: &Tensor, guards: &'a Guards<'_>) -> &'a Storage {
    let address = Arc::as_ptr(input.storage_cell());
    let (_, guard) = guards
        .iter()
        .find(|(cell, _)| *cell == address)
        .expect("every operand's buffer was locked");
    guard
}
