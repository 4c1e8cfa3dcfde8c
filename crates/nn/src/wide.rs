//! The dtype in which a formula of several steps is computed, so that narrow floats are rounded
//! once, at its end.

use tallow::{DType, Result, Tensor};

/// f32 for the floats narrower than it; every other dtype itself.
pub(crate) fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 | DType::F8E4M3 => DType::F32,
        other => other,
    }
}

/// What `f` makes of a tensor, computed in the wide dtype; the result has the tensor's own.
pub(crate) fn in_wide(x: &Tensor, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    f(&x.to_dtype(wide(x.dtype()))?)?.to_dtype(x.dtype())
}
