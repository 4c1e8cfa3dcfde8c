//! Casts: the same numbers in another dtype.
//!
//! To a float: the nearest value, ties to even, rounded once from whatever type; beyond the range
//! infinity, or what the type has instead of it. From a float to an integer: towards 0, NaN becomes
//! 0, and beyond the range its end. From integer to integer: the low bits, as Rust's `as` and
//! PyTorch.

mod cases;
mod convert;
mod cpu;
pub(super) mod gpu;

use super::{Family, OpInfo};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor};
use smallvec::smallvec;

const NAME: &str = "to_dtype";

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "cast",
    ops: &[OpInfo {
        name: NAME,
        dtypes: &DType::COMPUTE,
    }],
    cases: cases::cases,
    draw: cases::draw,
};

struct Cast(DType);

impl Op for Cast {
    fn name(&self) -> &'static str {
        NAME
    }
    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        for dtype in [inputs[0].dtype(), self.0] {
            if !DType::COMPUTE.contains(&dtype) {
                return Err(Error::UnsupportedDTypeForOp(dtype, NAME));
            }
        }
        Ok((inputs[0].shape().clone(), self.0))
    }
    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        cpu::run(inputs[0], out)
    }
    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::run(inputs[0], out)
    }
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        Ok(smallvec![Some(upstream.to_dtype(inputs[0].dtype())?)])
    }
}

impl Tensor {
    /// The same numbers in another dtype; the same tensor if it has the dtype already. Floats round
    /// to nearest, ties to even. A float becomes an integer by rounding towards 0; NaN gives 0, and
    /// what lies beyond the range gives its end. Integers keep their low bits.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::new(&[-1.5f32, 2.9, 300., f32::NAN], &Device::Cpu)?;
    /// assert_eq!(x.to_dtype(DType::U8)?.to_vec1::<u8>()?, [0, 2, 255, 0]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn to_dtype(&self, dtype: DType) -> Result<Self> {
        if self.dtype() == dtype {
            return Ok(self.clone());
        }
        apply(Cast(dtype), &[self])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn dtypes_that_only_store_are_refused() -> Result<()> {
        let x = Tensor::new(&[1f32], &Device::Cpu)?;
        let error = x
            .to_dtype(DType::F4)
            .map(|_| ())
            .map_err(|error| error.to_string());
        assert_eq!(
            error,
            Err("to_dtype: dtype f4 is not supported; cast with to_dtype".to_string())
        );
        Ok(())
    }

    #[test]
    fn integers_keep_their_low_bits() -> Result<()> {
        let x = Tensor::new(&[-1i64, 256 + 7, i64::MIN], &Device::Cpu)?;
        assert_eq!(x.to_dtype(DType::U8)?.to_vec1::<u8>()?, [255, 7, 0]);
        assert_eq!(
            x.to_dtype(DType::U32)?.to_vec1::<u32>()?,
            [u32::MAX, 263, 0]
        );
        Ok(())
    }

    #[test]
    fn floats_saturate_in_integers() -> Result<()> {
        let x = Tensor::new(&[f64::NEG_INFINITY, -0.9, 1e300, f64::NAN], &Device::Cpu)?;
        assert_eq!(
            x.to_dtype(DType::I16)?.to_vec1::<i16>()?,
            [i16::MIN, 0, i16::MAX, 0]
        );
        assert_eq!(
            x.to_dtype(DType::I64)?.to_vec1::<i64>()?,
            [i64::MIN, 0, i64::MAX, 0]
        );
        Ok(())
    }
}
