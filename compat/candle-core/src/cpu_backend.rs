//! Helpers for operations that run over whole storages on the processor.

pub use tallow::{CpuStorage, CpuStorageRef};
use tallow::{Error, Layout, Result, WithDType};

/// The device of tensors in main memory.
#[derive(Clone, Debug)]
pub struct CpuDevice;

/// Matches a storage of any type that computes.
macro_rules! each {
    ($storage:expr, $op:expr, $data:ident => $body:expr) => {
        match $storage {
            CpuStorage::U8($data) => $body,
            CpuStorage::U32($data) => $body,
            CpuStorage::I16($data) => $body,
            CpuStorage::I32($data) => $body,
            CpuStorage::I64($data) => $body,
            CpuStorage::BF16($data) => $body,
            CpuStorage::F16($data) => $body,
            CpuStorage::F32($data) => $body,
            CpuStorage::F64($data) => $body,
            CpuStorage::F8E4M3($data) => $body,
            other => Err(Error::UnsupportedDTypeForOp(other.dtype(), $op).bt()),
        }
    };
}

/// A function of one storage that gives the same type.
pub trait Map1 {
    /// The result, row-major.
    fn f<T: WithDType>(&self, vs: &[T], layout: &Layout) -> Result<Vec<T>>;

    /// The result for a storage of any type that computes.
    fn map(&self, vs: &CpuStorage, layout: &Layout) -> Result<CpuStorage> {
        each!(vs, "map1", data => Ok(WithDType::to_cpu_storage_owned(self.f(data, layout)?)))
    }
}

/// A function of one storage that gives any type.
pub trait Map1Any {
    /// The result; `wrap` makes a storage of the operand's type.
    fn f<T: WithDType, W: Fn(Vec<T>) -> CpuStorage>(
        &self,
        vs: &[T],
        layout: &Layout,
        wrap: W,
    ) -> Result<CpuStorage>;

    /// The result for a storage of any type that computes.
    fn map(&self, vs: &CpuStorage, layout: &Layout) -> Result<CpuStorage> {
        each!(vs, "map1_any", data => self.f(data, layout, WithDType::to_cpu_storage_owned))
    }
}

/// A function of two storages of one type that gives the same type.
pub trait Map2 {
    /// The name, for errors.
    const OP: &'static str;

    /// The result, row-major.
    fn f<T: WithDType>(&self, v1: &[T], l1: &Layout, v2: &[T], l2: &Layout) -> Result<Vec<T>>;

    /// The result for storages of any type that computes. Errors if the types differ.
    fn map(
        &self,
        v1: &CpuStorage,
        l1: &Layout,
        v2: &CpuStorage,
        l2: &Layout,
    ) -> Result<CpuStorage> {
        same(v1, v2, Self::OP)?;
        each!(v1, Self::OP, data => {
            let out = self.f(data, l1, v2.as_slice()?, l2)?;
            Ok(WithDType::to_cpu_storage_owned(out))
        })
    }
}

/// A function of two storages of one type that writes into the first.
pub trait Map2InPlace {
    /// The name, for errors.
    const OP: &'static str;

    /// Writes into `v1`.
    fn f<T: WithDType>(&self, v1: &mut [T], l1: &Layout, v2: &[T], l2: &Layout) -> Result<()>;

    /// Writes into a storage of any type that computes. Errors if the types differ.
    fn map(&self, v1: &mut CpuStorage, l1: &Layout, v2: &CpuStorage, l2: &Layout) -> Result<()> {
        same(v1, v2, Self::OP)?;
        each!(v1, Self::OP, data => self.f(data, l1, v2.as_slice()?, l2))
    }
}

/// A function of two storages of one type that gives u8, such as a comparison.
pub trait Map2U8 {
    /// The name, for errors.
    const OP: &'static str;

    /// The result, row-major.
    fn f<T: WithDType>(&self, v1: &[T], l1: &Layout, v2: &[T], l2: &Layout) -> Result<Vec<u8>>;

    /// The result for storages of any type that computes. Errors if the types differ.
    fn map(
        &self,
        v1: &CpuStorage,
        l1: &Layout,
        v2: &CpuStorage,
        l2: &Layout,
    ) -> Result<CpuStorage> {
        same(v1, v2, Self::OP)?;
        each!(v1, Self::OP, data => {
            Ok(CpuStorage::U8(self.f(data, l1, v2.as_slice()?, l2)?))
        })
    }
}

fn same(v1: &CpuStorage, v2: &CpuStorage, op: &'static str) -> Result<()> {
    let (lhs, rhs) = (v1.dtype(), v2.dtype());
    match lhs == rhs {
        true => Ok(()),
        false => Err(Error::DTypeMismatchBinaryOp { lhs, rhs, op }.bt()),
    }
}

/// `f` of each element of a view, row-major.
pub fn unary_map<T: Copy, U: Copy, F: FnMut(T) -> U>(vs: &[T], layout: &Layout, f: F) -> Vec<U> {
    match layout.contiguous_offsets() {
        Some((start, end)) => vs[start..end].iter().copied().map(f).collect(),
        None => layout.strided_index().map(|at| vs[at]).map(f).collect(),
    }
}

/// [`unary_map`] with a function of whole slices for what is contiguous.
pub fn unary_map_vec<T: Copy, U: Copy, F: FnMut(T) -> U, FV: FnMut(&[T], &mut [U])>(
    vs: &[T],
    layout: &Layout,
    mut f: F,
    mut f_vec: FV,
) -> Vec<U> {
    match layout.contiguous_offsets() {
        Some((start, end)) if start < end => {
            let mut out = vec![f(vs[start]); end - start];
            f_vec(&vs[start..end], &mut out);
            out
        }
        _ => unary_map(vs, layout, f),
    }
}

/// `f` of each pair of elements of two views of one shape, row-major.
pub fn binary_map<T: Copy, U: Copy, F: FnMut(T, T) -> U>(
    lhs_layout: &Layout,
    rhs_layout: &Layout,
    lhs: &[T],
    rhs: &[T],
    mut f: F,
) -> Vec<U> {
    let pairs = lhs_layout.strided_index().zip(rhs_layout.strided_index());
    pairs.map(|(at, other)| f(lhs[at], rhs[other])).collect()
}
