//! Gradients of the three operations: each is the other two.

use super::geometry::Geometry;
use super::operation::{Conv, ConvKernel, ConvTransposed, Image};
use crate::op::apply;
use crate::{Result, Tensor};

/// y of x and w.
pub(super) fn result(
    geometry: Geometry,
    x: &Tensor,
    kernel: &Tensor,
    like: &Tensor,
) -> Result<Tensor> {
    let out = Some(like.shape().clone());
    apply(Conv { geometry, out }, &[x, kernel])
}

/// x of y and w.
pub(super) fn image(
    geometry: Geometry,
    y: &Tensor,
    kernel: &Tensor,
    like: &Tensor,
) -> Result<Tensor> {
    let image = Image::Shape(like.shape().clone());
    apply(ConvTransposed { geometry, image }, &[y, kernel])
}

/// w of x and y.
pub(super) fn kernel(geometry: Geometry, x: &Tensor, y: &Tensor, like: &Tensor) -> Result<Tensor> {
    let kernel = like.shape().clone();
    apply(ConvKernel { geometry, kernel }, &[x, y])
}

#[cfg(test)]
mod tests {
    use super::super::geometry::Window;
    use super::*;
    use crate::DType;
    use crate::testing::{Array, Input, Values};

    /// With S = Σ y · conv(x, w), S is also Σ x · image(y, w) and Σ w · kernel(x, y), for any
    /// shapes: that is what makes these the gradients.
    #[test]
    fn the_three_are_derivatives_of_one_sum() -> Result<()> {
        // Image, kernel, padding, stride, dilation, groups.
        type Row = (Vec<usize>, Vec<usize>, usize, usize, usize, usize);
        let rows: Vec<Row> = vec![
            (vec![2, 3, 7], vec![4, 3, 3], 1, 2, 1, 1),
            (vec![1, 1, 9], vec![1, 1, 2], 0, 4, 3, 1),
            (vec![2, 4, 8, 9], vec![6, 2, 3, 2], 1, 3, 2, 2),
            (vec![2, 6, 5, 5], vec![6, 1, 3, 3], 1, 1, 1, 6),
            (vec![1, 4, 6, 6], vec![8, 4, 1, 1], 0, 2, 1, 1),
            (vec![1, 2, 4, 5, 6], vec![2, 2, 2, 3, 2], 1, 2, 1, 1),
            (vec![3, 20, 10, 11], vec![30, 20, 3, 3], 1, 1, 1, 1),
        ];
        for (image_dims, kernel_dims, padding, stride, dilation, groups) in rows {
            let window = Window {
                stride,
                padding,
                dilation,
            };
            let geometry = Geometry::new("conv", image_dims.len(), window, groups)?;
            let tensor = |dims: &[usize], salt| -> Result<Tensor> {
                let values = Input::new(dims, Values::Range(-1.0, 1.0)).array(salt);
                values.to_tensor(DType::F64)
            };
            let (x, w) = (tensor(&image_dims, 1)?, tensor(&kernel_dims, 2)?);
            let like = super::super::conv(geometry, &x, &w)?;
            let y = tensor(like.dims(), 3)?;
            let sum = |a: &Tensor, b: &Tensor| -> Result<f64> {
                Ok(Array::from_tensor(&a.mul(b)?)?.data.iter().sum())
            };
            let want = sum(&y, &like)?;
            let from_image = sum(&x, &image(geometry, &y, &w, &x)?)?;
            let from_kernel = sum(&w, &kernel(geometry, &x, &y, &w)?)?;
            let from_result = sum(&y, &result(geometry, &x, &w, &y)?)?;
            for got in [from_image, from_kernel, from_result] {
                let close = (got - want).abs() <= 1e-9 * want.abs().max(1.0);
                assert!(close, "{image_dims:?} {kernel_dims:?}: {got} {want}");
            }
        }
        Ok(())
    }
}
