//! The gradients of pooling: each result's share goes back into its window.

use super::cpu::Pooled;
use super::{Kind, Windows, gpu};
use crate::cpu::map::Cost;
use crate::cpu::{CpuView, View, copy, recycle};
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::{CpuStorage, DType, Result, Shape, Tensor, WithDType};
use smallvec::smallvec;

/// The gradient of a maximum: operands are the image and the gradient of the result.
struct MaxGradient(Windows);

/// The gradient of a mean: the operand is the gradient of the result.
struct MeanGradient {
    windows: Windows,
    image: Shape,
}

/// The gradient with respect to the image.
pub(super) fn of_image(windows: Windows, x: &Tensor, upstream: &Tensor) -> Result<Tensor> {
    let image = x.shape().clone();
    match windows.kind {
        Kind::Max => apply(MaxGradient(windows), &[x, upstream]),
        Kind::Mean => apply(MeanGradient { windows, image }, &[upstream]),
    }
}

impl Op for MaxGradient {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        Ok((inputs[0].shape().clone(), inputs[0].dtype()))
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        crate::with_dtype!(inputs[0].dtype(), self.name(), T in floats => {
            let x = inputs[0].typed::<T>()?;
            let straight = copy::straight_rows(x);
            let x = straight.view(x);
            let windows = self.0;
            let (upstream, out) = (inputs[1].typed::<T>()?, out.as_mut_slice()?);
            spread(windows, x.dims, upstream, out, |channel, shares| {
                let (batch, channel) = (channel / x.dims[1], channel % x.dims[1]);
                let start = batch * x.strides[0] + channel * x.strides[1];
                shares.for_each(|[row, column], share, image| {
                    let corner = start + row * x.strides[2] + column;
                    let at = first_max(&x.data[corner..], x.strides[2], windows.size);
                    image[(row + at[0]) * x.dims[3] + column + at[1]] += share;
                });
            })
        })
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        let image = inputs[0].dims();
        gpu::gradient(self.0, image, inputs[1], Some(inputs[0]), out)
    }
}

impl Op for MeanGradient {
    fn name(&self) -> &'static str {
        self.windows.name()
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        Ok((self.image.clone(), inputs[0].dtype()))
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        crate::with_dtype!(inputs[0].dtype(), self.name(), T in floats => {
            let [height, width] = self.windows.size;
            let image_width = self.image.dims()[3];
            let count = <T as Pooled>::Acc::from_f64(height as f64 * width as f64);
            let upstream = inputs[0].typed::<T>()?;
            let dims = self.image.dims();
            spread(self.windows, dims, upstream, out.as_mut_slice()?, |_, shares| {
                shares.for_each(|[row, column], share, image| {
                    for row in row..row + height {
                        let window = &mut image[row * image_width + column..][..width];
                        window.iter_mut().for_each(|to| *to += share / count);
                    }
                });
            })
        })
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        gpu::gradient(self.windows, self.image.dims(), inputs[0], None, out)
    }

    fn gradient(&self, _: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        // It is linear, and pooling is what it is the transpose of.
        Ok(smallvec![Some(apply(
            super::Pool(self.windows),
            &[upstream]
        )?)])
    }
}

/// The results of one channel, and the channel of the image that takes their shares.
struct Shares<'a, T: Pooled> {
    windows: Windows,
    columns: usize,
    upstream: &'a [T],
    image: &'a mut [T::Acc],
}

impl<T: Pooled> Shares<'_, T> {
    /// Calls `f` with the first row and column of each window, its gradient, and the image.
    #[inline(always)]
    fn for_each(&mut self, mut f: impl FnMut([usize; 2], T::Acc, &mut [T::Acc])) {
        let stride = self.windows.stride;
        for (row, shares) in self.upstream.chunks_exact(self.columns).enumerate() {
            for (column, share) in shares.iter().enumerate() {
                f(
                    [row * stride[0], column * stride[1]],
                    share.widen(),
                    self.image,
                );
            }
        }
    }
}

/// Runs `f` for each channel, over sums that start at 0 and are rounded at the end.
fn spread<T: Pooled>(
    windows: Windows,
    dims: &[usize],
    upstream: View<'_, T>,
    out: &mut [T],
    f: impl Fn(usize, &mut Shares<'_, T>) + Sync,
) -> Result<()> {
    let [_, _, rows, columns] = windows.out_dims(&Shape::from(dims))?;
    let straight = copy::straighten_unless(upstream.contiguous().is_some(), upstream);
    let upstream = straight.view(upstream).data;
    let image_len = dims[2] * dims[3];
    let channels_min = Cost::Heavy.min_chunk().div_ceil(image_len);
    let channels = tallow_threads::chunk_len(out.len() / image_len, channels_min);
    tallow_threads::parallel_chunks_mut(out, channels * image_len, |chunk, out| {
        let mut image = recycle::take::<T::Acc>(image_len);
        for (channel, out) in (chunk * channels..).zip(out.chunks_exact_mut(image_len)) {
            image.fill(T::Acc::default());
            let mut shares = Shares {
                windows,
                columns,
                upstream: &upstream[channel * rows * columns..][..rows * columns],
                image: &mut image,
            };
            f(channel, &mut shares);
            for (to, from) in out.iter_mut().zip(&image) {
                *to = T::narrow(*from);
            }
        }
        recycle::give(image);
    });
    Ok(())
}

/// Row and column, in the window, of its first largest element; of its first NaN if it has one.
#[inline(always)]
#[allow(clippy::eq_op)] // only NaN differs from itself
fn first_max<T: Pooled>(window: &[T], row_stride: usize, size: [usize; 2]) -> [usize; 2] {
    let (mut found, mut best) = ([0, 0], window[0].widen());
    for row in 0..size[0] {
        for (column, value) in window[row * row_stride..][..size[1]].iter().enumerate() {
            let value = value.widen();
            if value > best || (value != value && best == best) {
                (found, best) = ([row, column], value);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::testing::{Array, Input, Values};

    fn sum_of_products(a: &Tensor, b: &Tensor) -> Result<f64> {
        Ok(Array::from_tensor(&a.mul(b)?)?.data.iter().sum())
    }

    /// Where nothing is tied, both kinds are linear around a point, and S = Σ upstream · pool(x) is
    /// Σ gradient · x.
    #[test]
    fn shares_go_where_the_values_came_from() -> Result<()> {
        let rows = [
            ([2, 3, 4, 6], [2, 2], [2, 2]),
            ([1, 2, 5, 7], [3, 2], [1, 1]),
            ([1, 1, 7, 9], [2, 3], [4, 5]),
            ([2, 0, 3, 3], [2, 2], [1, 1]),
        ];
        for kind in [Kind::Max, Kind::Mean] {
            for (dims, size, stride) in rows {
                let windows = Windows { kind, size, stride };
                let tensor = |dims: &[usize], salt| {
                    let values = Input::new(dims, Values::Range(-1.0, 1.0)).array(salt);
                    values.to_tensor(DType::F64)
                };
                let x = tensor(&dims, 1)?
                    .transpose(2, 3)?
                    .contiguous()?
                    .transpose(2, 3)?;
                let pooled = apply(super::super::Pool(windows), &[&x])?;
                let upstream = tensor(pooled.dims(), 2)?;
                let gradient = of_image(windows, &x, &upstream)?;
                let (got, want) = (
                    sum_of_products(&gradient, &x)?,
                    sum_of_products(&upstream, &pooled)?,
                );
                assert!((got - want).abs() < 1e-12, "{windows:?}: {got} {want}");
            }
        }
        Ok(())
    }

    #[test]
    fn the_first_of_equal_maxima_takes_all() -> Result<()> {
        let x = Tensor::ones((1, 1, 2, 4), DType::F16, &Device::Cpu)?;
        let windows = |kind| Windows {
            kind,
            size: [2, 2],
            stride: [2, 1],
        };
        let ones = Tensor::ones((1, 1, 1, 1), DType::F16, &Device::Cpu)?;
        let upstream = ones.broadcast_as((1, 1, 1, 3))?;
        let gradient = of_image(windows(Kind::Max), &x, &upstream)?.to_dtype(DType::F32)?;
        let want = [1., 1., 1., 0., 0., 0., 0., 0.];
        assert_eq!(gradient.flatten_all()?.to_vec1::<f32>()?, want);
        // A mean's windows overlap: shares add up.
        let gradient = of_image(windows(Kind::Mean), &x, &upstream)?.to_dtype(DType::F32)?;
        let want = [0.25, 0.5, 0.5, 0.25, 0.25, 0.5, 0.5, 0.25];
        assert_eq!(gradient.flatten_all()?.to_vec1::<f32>()?, want);
        Ok(())
    }
}
