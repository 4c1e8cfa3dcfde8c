//! Devices: where a tensor lives and where its operations run.

use crate::{CpuStorage, Result, Shape, WithDType};

/// A device. Opening it, and everything else about it, goes through [`Tensor`](crate::Tensor).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// The processor, with one pool of threads for all operations.
    Cpu,
}

/// Which device, without holding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceLocation {
    /// The processor.
    Cpu,
}

impl Device {
    /// Which device this is.
    pub fn location(&self) -> DeviceLocation {
        match self {
            Self::Cpu => DeviceLocation::Cpu,
        }
    }

    /// True if both are the same device.
    pub fn same_device(&self, rhs: &Self) -> bool {
        self.location() == rhs.location()
    }

    /// True for the processor.
    pub fn is_cpu(&self) -> bool {
        matches!(self, Self::Cpu)
    }

    /// Waits for all work that was submitted to the device.
    pub fn synchronize(&self) -> Result<()> {
        match self {
            Self::Cpu => Ok(()),
        }
    }
}

/// Nested data that a tensor can be made of: a scalar, an array, a slice, vectors of vectors.
pub trait NdArray {
    /// The shape; an error if rows differ in length.
    fn shape(&self) -> Result<Shape>;
    /// The elements in row-major order.
    fn to_cpu_storage(&self) -> CpuStorage;
}

impl<S: WithDType> NdArray for S {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from(()))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage(&[*self])
    }
}

impl<S: WithDType, const N: usize> NdArray for &[S; N] {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from(N))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage(self.as_slice())
    }
}

impl<S: WithDType> NdArray for &[S] {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from(self.len()))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage(self)
    }
}

impl<S: WithDType, const N: usize, const M: usize> NdArray for &[[S; N]; M] {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from((M, N)))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat())
    }
}

impl<S: WithDType, const N: usize> NdArray for &[[S; N]] {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from((self.len(), N)))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat())
    }
}

impl<S: WithDType, const N: usize, const M: usize, const P: usize> NdArray for &[[[S; N]; M]; P] {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from((P, M, N)))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat().concat())
    }
}

impl<S: WithDType> NdArray for Vec<S> {
    fn shape(&self) -> Result<Shape> {
        Ok(Shape::from(self.len()))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage(self)
    }
}

impl<S: WithDType> NdArray for Vec<Vec<S>> {
    fn shape(&self) -> Result<Shape> {
        let len = self.first().map_or(0, Vec::len);
        if let Some(at) = self.iter().position(|row| row.len() != len) {
            crate::bail!(
                "new: rows differ in length: row 0 has {len}, row {at} {}",
                self[at].len()
            );
        }
        Ok(Shape::from((self.len(), len)))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat())
    }
}

impl<S: WithDType> NdArray for Vec<&[S]> {
    fn shape(&self) -> Result<Shape> {
        let len = self.first().map_or(0, |row| row.len());
        if let Some(at) = self.iter().position(|row| row.len() != len) {
            crate::bail!(
                "new: rows differ in length: row 0 has {len}, row {at} {}",
                self[at].len()
            );
        }
        Ok(Shape::from((self.len(), len)))
    }
    fn to_cpu_storage(&self) -> CpuStorage {
        S::to_cpu_storage_owned(self.concat())
    }
}
