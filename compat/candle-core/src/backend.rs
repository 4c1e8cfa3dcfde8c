//! What storages of every device have in common.

use tallow::{CpuStorage, DType, Layout, Result};

/// A storage. candle's trait has every operation too; here operations are values
/// (`tallow::op::Op`).
pub trait BackendStorage: Sized {
    /// The dtype of the elements.
    fn dtype(&self) -> DType;
    /// The elements in main memory.
    fn to_cpu_storage(&self) -> Result<CpuStorage>;
    /// A copy of the whole storage.
    fn try_clone(&self, layout: &Layout) -> Result<Self>;
}

impl BackendStorage for CpuStorage {
    fn dtype(&self) -> DType {
        CpuStorage::dtype(self)
    }
    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        Ok(self.clone())
    }
    fn try_clone(&self, _: &Layout) -> Result<Self> {
        Ok(self.clone())
    }
}
