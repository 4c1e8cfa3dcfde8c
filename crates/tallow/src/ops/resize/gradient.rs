//! The gradient of resizing: each result's goes back to the elements that it was made of.

use super::{Resize, cpu, gpu, size};
use crate::cpu::CpuView;
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Result, Shape, Tensor};
use smallvec::smallvec;

struct ResizeGradient {
    resize: Resize,
    image: Shape,
}

/// The gradient with respect to the image.
pub(super) fn of_image(resize: &Resize, x: &Tensor, upstream: &Tensor) -> Result<Tensor> {
    let (resize, image) = (resize.clone(), x.shape().clone());
    apply(ResizeGradient { resize, image }, &[upstream])
}

impl Op for ResizeGradient {
    fn name(&self) -> &'static str {
        self.resize.op
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        Ok((self.image.clone(), inputs[0].dtype()))
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let dims = self.image.dims();
        let taps = self.resize.taps(dims);
        crate::with_dtype!(inputs[0].dtype(), self.name(), T in floats => {
            cpu::spread::<T>(inputs[0].typed()?, &taps, size(dims), out.as_mut_slice()?)
        })
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        let (dims, way) = (self.image.dims(), gpu::Way::Gradient);
        gpu::run(way, &self.resize.taps(dims), size(dims), inputs[0], out)
    }

    fn gradient(&self, _: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        // It is linear, and resizing is what it is the transpose of.
        Ok(smallvec![Some(apply(self.resize.clone(), &[upstream])?)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::ops::resize::Method;
    use crate::testing::{Array, Input, Values};

    fn resize(rank: usize, target: [usize; 2], method: Method) -> Resize {
        Resize {
            op: "resize",
            rank,
            target,
            methods: [method; 2],
        }
    }

    /// Resizing is linear: S = Σ upstream · resize(x) is Σ gradient · x.
    #[test]
    fn shares_go_where_the_values_came_from() -> Result<()> {
        let methods = [
            Method::Nearest,
            Method::AlignedCorners,
            Method::Areas(None),
            Method::Areas(Some(1.7)),
        ];
        let sizes = [
            (vec![2, 3, 4, 5], [7, 12]),
            (vec![1, 2, 7, 9], [3, 4]),
            (vec![1, 1, 1, 1], [3, 2]),
            (vec![2, 1, 6], [1, 15]),
            (vec![1, 2, 3, 4], [0, 4]),
        ];
        for method in methods {
            for (dims, target) in &sizes {
                let tensor = |dims: &[usize], salt| {
                    let values = Input::new(dims, Values::Range(-1.0, 1.0)).array(salt);
                    values.to_tensor(DType::F64)
                };
                let resize = resize(dims.len(), *target, method);
                let x = tensor(dims, 1)?;
                let resized = apply(resize.clone(), &[&x])?;
                let upstream = tensor(resized.dims(), 2)?;
                let gradient = of_image(&resize, &x, &upstream)?;
                let sum = |a: &Tensor, b: &Tensor| -> Result<f64> {
                    Ok(Array::from_tensor(&a.mul(b)?)?.data.iter().sum())
                };
                let (got, want) = (sum(&gradient, &x)?, sum(&upstream, &resized)?);
                assert!((got - want).abs() < 1e-12, "{resize:?}: {got} {want}");
            }
        }
        Ok(())
    }

    #[test]
    fn every_copy_of_an_element_adds_to_its_gradient() -> Result<()> {
        let x = Tensor::ones((1, 1, 1, 2), DType::BF16, &Device::Cpu)?;
        let ones = Tensor::ones((1, 1, 1, 1), DType::BF16, &Device::Cpu)?;
        let upstream = ones.broadcast_as((1, 1, 3, 5))?;
        let gradient = of_image(&resize(4, [3, 5], Method::Nearest), &x, &upstream)?;
        let gradient = gradient.to_dtype(DType::F32)?.flatten_all()?;
        assert_eq!(gradient.to_vec1::<f32>()?, [9., 6.]);
        Ok(())
    }
}
