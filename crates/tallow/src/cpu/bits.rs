//! Elements as integers of their size, for kernels that move values and never look at them: four
//! sizes serve every dtype.

use super::{CpuView, View};
use crate::{CpuStorage, Result, WithDType};
use bytemuck::{Pod, cast_slice, cast_slice_mut};

/// Runs a block with `$B` bound to the integer type of a dtype's size.
macro_rules! with_bits {
    ($dtype:expr, $B:ident => $body:expr) => {
        match $dtype.size_in_bytes() {
            1 => {
                type $B = u8;
                $body
            }
            2 => {
                type $B = i16;
                $body
            }
            4 => {
                type $B = u32;
                $body
            }
            _ => {
                type $B = i64;
                $body
            }
        }
    };
}
pub(crate) use with_bits;

/// The elements as integers of their size.
pub(crate) fn bits<'a, B: WithDType + Pod>(
    view: CpuView<'a>,
    op: &'static str,
) -> Result<View<'a, B>> {
    crate::with_dtype!(view.dtype(), op, T in all => {
        let View { data, dims, strides } = view.typed::<T>()?;
        Ok(View { data: cast_slice(data), dims, strides })
    })
}

/// A storage's elements as integers of their size, to write.
pub(crate) fn bits_mut<'a, B: Pod>(
    storage: &'a mut CpuStorage,
    op: &'static str,
) -> Result<&'a mut [B]> {
    crate::with_dtype!(storage.dtype(), op, T in all => {
        Ok(cast_slice_mut(storage.as_mut_slice::<T>()?))
    })
}
