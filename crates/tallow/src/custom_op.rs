//! Operations of a user's own, over whole storages: candle's `CustomOp` and `InplaceOp` traits.
//!
//! They are adapters on the machinery of [`op`](crate::op): locks, gradients and aliasing are dealt
//! with there. An operation that works on views, allocates nothing and names its rules is an
//! [`Op`](crate::op::Op) instead.

use crate::backprop::{Gradients, Rule};
use crate::op::apply_custom;
use crate::storage::{CpuStorage, CudaStorage, MetalStorage};
use crate::{Error, Layout, Result, Shape, Tensor};
use smallvec::smallvec;
use std::sync::Arc;

fn no_kernel<T>(op: &'static str, device: &str) -> Result<T> {
    crate::bail!("{op}: no kernel for {device}; implement {device}_fwd or move the tensor")
}

/// An operation of one operand.
pub trait CustomOp1 {
    /// The name, for errors and traces.
    fn name(&self) -> &'static str;
    /// Computes the result, row-major, with its shape. The layout says which elements of the
    /// storage are the operand's.
    fn cpu_fwd(&self, s: &CpuStorage, l: &Layout) -> Result<(CpuStorage, Shape)>;
    /// The same on CUDA.
    fn cuda_fwd(&self, _: &CudaStorage, _: &Layout) -> Result<(CudaStorage, Shape)> {
        no_kernel(self.name(), "cuda")
    }
    /// The same on Metal.
    fn metal_fwd(&self, _: &MetalStorage, _: &Layout) -> Result<(MetalStorage, Shape)> {
        no_kernel(self.name(), "metal")
    }
    /// The gradient with respect to the operand, from operand, result and the gradient with respect
    /// to the result.
    fn bwd(&self, _arg: &Tensor, _res: &Tensor, _grad_res: &Tensor) -> Result<Option<Tensor>> {
        Err(Error::BackwardNotSupported { op: self.name() })
    }
}

/// An operation of two operands.
pub trait CustomOp2 {
    /// The name, for errors and traces.
    fn name(&self) -> &'static str;
    /// Computes the result, row-major, with its shape.
    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
    ) -> Result<(CpuStorage, Shape)>;
    /// The same on CUDA.
    fn cuda_fwd(
        &self,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        no_kernel(self.name(), "cuda")
    }
    /// The same on Metal.
    fn metal_fwd(
        &self,
        _: &MetalStorage,
        _: &Layout,
        _: &MetalStorage,
        _: &Layout,
    ) -> Result<(MetalStorage, Shape)> {
        no_kernel(self.name(), "metal")
    }
    /// The gradients with respect to the operands.
    fn bwd(
        &self,
        _arg1: &Tensor,
        _arg2: &Tensor,
        _res: &Tensor,
        _grad_res: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        Err(Error::BackwardNotSupported { op: self.name() })
    }
}

/// An operation of three operands.
pub trait CustomOp3 {
    /// The name, for errors and traces.
    fn name(&self) -> &'static str;
    /// Computes the result, row-major, with its shape.
    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)>;
    /// The same on CUDA.
    fn cuda_fwd(
        &self,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        no_kernel(self.name(), "cuda")
    }
    /// The same on Metal.
    fn metal_fwd(
        &self,
        _: &MetalStorage,
        _: &Layout,
        _: &MetalStorage,
        _: &Layout,
        _: &MetalStorage,
        _: &Layout,
    ) -> Result<(MetalStorage, Shape)> {
        no_kernel(self.name(), "metal")
    }
    /// The gradients with respect to the operands.
    fn bwd(
        &self,
        _arg1: &Tensor,
        _arg2: &Tensor,
        _arg3: &Tensor,
        _res: &Tensor,
        _grad_res: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        Err(Error::BackwardNotSupported { op: self.name() })
    }
}

type Shared<T> = Arc<Box<T>>;

struct Rule1(Shared<dyn CustomOp1 + Send + Sync>);

impl Rule for Rule1 {
    fn gradient(&self, x: &[&Tensor], y: &Tensor, u: &Tensor) -> Result<Gradients> {
        Ok(smallvec![self.0.bwd(x[0], y, u)?])
    }
}

struct Rule2(Shared<dyn CustomOp2 + Send + Sync>);

impl Rule for Rule2 {
    fn gradient(&self, x: &[&Tensor], y: &Tensor, u: &Tensor) -> Result<Gradients> {
        let (first, second) = self.0.bwd(x[0], x[1], y, u)?;
        Ok(smallvec![first, second])
    }
}

struct Rule3(Shared<dyn CustomOp3 + Send + Sync>);

impl Rule for Rule3 {
    fn gradient(&self, x: &[&Tensor], y: &Tensor, u: &Tensor) -> Result<Gradients> {
        let (first, second, third) = self.0.bwd(x[0], x[1], x[2], y, u)?;
        Ok(smallvec![first, second, third])
    }
}

fn run1(op: &(impl CustomOp1 + ?Sized), x: &[(&CpuStorage, &Layout)]) -> Result<Computed> {
    op.cpu_fwd(x[0].0, x[0].1)
}

fn run2(op: &(impl CustomOp2 + ?Sized), x: &[(&CpuStorage, &Layout)]) -> Result<Computed> {
    op.cpu_fwd(x[0].0, x[0].1, x[1].0, x[1].1)
}

fn run3(op: &(impl CustomOp3 + ?Sized), x: &[(&CpuStorage, &Layout)]) -> Result<Computed> {
    op.cpu_fwd(x[0].0, x[0].1, x[1].0, x[1].1, x[2].0, x[2].1)
}

type Computed = (CpuStorage, Shape);

/// Operations of a user's own.
impl Tensor {
    /// Runs an operation, and records it for gradients.
    pub fn apply_op1<C: 'static + CustomOp1 + Send + Sync>(&self, c: C) -> Result<Self> {
        self.apply_op1_arc(Arc::new(Box::new(c)))
    }

    /// [`apply_op1`](Self::apply_op1) of a shared operation.
    pub fn apply_op1_arc(&self, c: Arc<Box<dyn CustomOp1 + Send + Sync>>) -> Result<Self> {
        let rule = || Box::new(Rule1(Arc::clone(&c))) as Box<dyn Rule>;
        apply_custom(c.name(), &[self], |x| run1(&**c, x), Some(&rule))
    }

    /// Runs an operation that no gradient flows through.
    pub fn apply_op1_no_bwd<C: CustomOp1>(&self, c: &C) -> Result<Self> {
        apply_custom(c.name(), &[self], |x| run1(c, x), None)
    }

    /// Runs an operation of two operands, and records it for gradients.
    pub fn apply_op2<C: 'static + CustomOp2 + Send + Sync>(&self, r: &Self, c: C) -> Result<Self> {
        self.apply_op2_arc(r, Arc::new(Box::new(c)))
    }

    /// [`apply_op2`](Self::apply_op2) of a shared operation.
    pub fn apply_op2_arc(
        &self,
        rhs: &Self,
        c: Arc<Box<dyn CustomOp2 + Send + Sync>>,
    ) -> Result<Self> {
        let rule = || Box::new(Rule2(Arc::clone(&c))) as Box<dyn Rule>;
        apply_custom(c.name(), &[self, rhs], |x| run2(&**c, x), Some(&rule))
    }

    /// Runs an operation of two operands that no gradient flows through.
    pub fn apply_op2_no_bwd<C: CustomOp2>(&self, rhs: &Self, c: &C) -> Result<Self> {
        apply_custom(c.name(), &[self, rhs], |x| run2(c, x), None)
    }

    /// Runs an operation of three operands, and records it for gradients.
    pub fn apply_op3<C: 'static + CustomOp3 + Send + Sync>(
        &self,
        t2: &Self,
        t3: &Self,
        c: C,
    ) -> Result<Self> {
        self.apply_op3_arc(t2, t3, Arc::new(Box::new(c)))
    }

    /// [`apply_op3`](Self::apply_op3) of a shared operation.
    pub fn apply_op3_arc(
        &self,
        t2: &Self,
        t3: &Self,
        c: Arc<Box<dyn CustomOp3 + Send + Sync>>,
    ) -> Result<Self> {
        let rule = || Box::new(Rule3(Arc::clone(&c))) as Box<dyn Rule>;
        apply_custom(c.name(), &[self, t2, t3], |x| run3(&**c, x), Some(&rule))
    }

    /// Runs an operation of three operands that no gradient flows through.
    pub fn apply_op3_no_bwd<C: CustomOp3>(&self, t2: &Self, t3: &Self, c: &C) -> Result<Self> {
        apply_custom(c.name(), &[self, t2, t3], |x| run3(c, x), None)
    }
}
