//! Encodings of class indexes.

use tallow::{DType, Result, Tensor, WithDType, bail};

/// Each index as a row of `depth` values: `on_value` at the index, `off_value` elsewhere. An index
/// of −1 gives a row of `off_value`. Indexes `[…]` of an integer dtype give `[…, depth]`; errors
/// for an index below −1, or of `depth` and more.
///
/// ```
/// use tallow::{Device, Tensor};
/// use tallow_nn::encoding::one_hot;
/// let indexes = Tensor::new(&[2i64, -1], &Device::Cpu)?;
/// assert_eq!(one_hot(indexes, 3, 1u8, 0)?.to_vec2::<u8>()?, [[0, 0, 1], [0, 0, 0]]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn one_hot<D: WithDType>(
    indices: Tensor,
    depth: usize,
    on_value: D,
    off_value: D,
) -> Result<Tensor> {
    if !indices.dtype().is_int() {
        bail!(
            "one_hot: indexes are {}; want an integer dtype",
            indices.dtype()
        );
    }
    let (device, indexes) = (indices.device().clone(), indices.to_dtype(DType::I64)?);
    if indexes.elem_count() > 0 {
        let least = indexes.min_all()?.to_scalar::<i64>()?;
        let most = indexes.max_all()?.to_scalar::<i64>()?;
        if least < -1 || usize::try_from(most).is_ok_and(|most| most >= depth) {
            let wrong = if least < -1 { least } else { most };
            bail!("one_hot: index {wrong}; wants -1 or more and less than the depth of {depth}");
        }
    }
    let Ok(end) = i64::try_from(depth) else {
        bail!("one_hot: depth {depth} passes what an index can be");
    };
    let places = Tensor::arange(0i64, end, &device)?;
    let hot = indexes
        .unsqueeze(tallow::D::Minus1)?
        .broadcast_eq(&places)?;
    let value = |value: D| Tensor::new(value, &device)?.broadcast_as(hot.shape());
    hot.where_cond(&value(on_value)?, &value(off_value)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallow::Device;

    #[test]
    fn rows_of_any_dtype() -> Result<()> {
        let cpu = &Device::Cpu;
        let indexes = Tensor::new(&[[0i64, 2], [1, -1]], cpu)?;
        let hot = one_hot(indexes.clone(), 4, 1f32, 0f32)?;
        let want = [
            [[1., 0., 0., 0.], [0., 0., 1., 0.]],
            [[0., 1., 0., 0.], [0.; 4]],
        ];
        assert_eq!(hot.to_vec3::<f32>()?, want);
        let turned = one_hot(indexes.t()?, 4, 1f32, 0f32)?.transpose(0, 1)?;
        assert_eq!(turned.to_vec3::<f32>()?, want);
        for dtype in [DType::U8, DType::U32, DType::I16, DType::I32] {
            let indexes = Tensor::new(&[0u8, 2], cpu)?.to_dtype(dtype)?;
            let cold = one_hot(indexes, 3, 0u8, 9u8)?;
            assert_eq!(cold.to_vec2::<u8>()?, [[0, 9, 9], [9, 9, 0]]);
        }
        assert_eq!(
            one_hot(Tensor::new(1u8, cpu)?, 2, 1i64, 0)?.to_vec1::<i64>()?,
            [0, 1]
        );
        Ok(())
    }

    #[test]
    fn indexes_out_of_range_are_errors() -> Result<()> {
        let cpu = &Device::Cpu;
        for index in [-2, 3, i64::MIN, i64::MAX] {
            assert!(one_hot(Tensor::new(&[0, index], cpu)?, 3, 1u8, 0).is_err());
        }
        assert!(one_hot(Tensor::new(&[u32::MAX], cpu)?, 3, 1u8, 0).is_err());
        assert!(one_hot(Tensor::new(&[1f32], cpu)?, 3, 1u8, 0).is_err());
        assert!(one_hot(Tensor::new(&[-1i64], cpu)?, usize::MAX, 1u8, 0).is_err());
        let none = Tensor::zeros((0, 2), DType::U8, cpu)?;
        assert_eq!(one_hot(none, 3, 1u8, 0)?.dims(), [0, 2, 3]);
        assert_eq!(
            one_hot(Tensor::new(&[-1i64], cpu)?, 0, 1u8, 0)?.dims(),
            [1, 0]
        );
        Ok(())
    }
}
