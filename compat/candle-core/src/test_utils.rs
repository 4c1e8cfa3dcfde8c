//! What tests of tensors use: values rounded to some decimals, and comparisons.

use tallow::{DType, Result, Tensor, bail};

fn rounded(value: f32, digits: i32) -> f32 {
    let unit = 10f32.powi(digits);
    (value * unit).round() / unit
}

/// Errors unless both tensors have the same shape and the same elements.
pub fn assert_tensor_eq(t1: &Tensor, t2: &Tensor) -> Result<()> {
    if t1.shape() != t2.shape() {
        bail!("shapes differ: {:?}, {:?}", t1.shape(), t2.shape());
    }
    let same = t1.eq(t2)?.to_dtype(DType::U32)?.sum_all()?;
    let same = same.to_scalar::<u32>()? as usize;
    if same != t1.elem_count() {
        bail!(
            "{} of {} elements differ",
            t1.elem_count() - same,
            t1.elem_count()
        );
    }
    Ok(())
}

/// The scalar, rounded to so many decimals.
pub fn to_vec0_round(t: &Tensor, digits: i32) -> Result<f32> {
    Ok(rounded(t.to_vec0::<f32>()?, digits))
}

/// The vector, rounded to so many decimals.
pub fn to_vec1_round(t: &Tensor, digits: i32) -> Result<Vec<f32>> {
    let row = t.to_vec1::<f32>()?;
    Ok(row
        .into_iter()
        .map(|value| rounded(value, digits))
        .collect())
}

/// The matrix, rounded to so many decimals.
pub fn to_vec2_round(t: &Tensor, digits: i32) -> Result<Vec<Vec<f32>>> {
    let round = |row: Vec<f32>| {
        row.into_iter()
            .map(|value| rounded(value, digits))
            .collect()
    };
    Ok(t.to_vec2::<f32>()?.into_iter().map(round).collect())
}

/// The tensor of rank 3, rounded to so many decimals.
pub fn to_vec3_round(t: &Tensor, digits: i32) -> Result<Vec<Vec<Vec<f32>>>> {
    (0..t.dim(0)?)
        .map(|at| to_vec2_round(&t.get(at)?, digits))
        .collect()
}

/// Makes tests of a function of a device: one for the processor. The names for CUDA and Metal are
/// taken and not used: a GPU is found at run time. `Result` is the caller's.
#[macro_export]
macro_rules! test_device {
    ($function:ident, $cpu:ident, $cuda:ident, $metal:ident) => {
        #[test]
        fn $cpu() -> Result<()> {
            $function(&$crate::Device::Cpu)
        }
    };
}
